/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef GLOO_DLCP_ADDRESS_H
#define GLOO_DLCP_ADDRESS_H

#include <netinet/in.h>

#include <string>
#include <vector>

#include <gloo/transport/address.h>

#include "gloo_dlcp.h"

namespace gloo::transport::dlcp {

/* Where a device listens, and which of its pairs is meant */
class Address : public ::gloo::transport::Address {
public:
	Address() = default;
	/* What bytes() gave, at another rank. Throws if it is something else. */
	explicit Address(const std::vector<char> &bytes);

	std::string str() const override;
	std::vector<char> bytes() const override;

	/* Numerical address without the port */
	std::string host() const;
	const struct sockaddr *sockaddr() const;
	socklen_t length() const;
	uint16_t port() const;
	void set_port(uint16_t port);

	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} where = {};
	uint64_t pair = 0;
};

/* The address that @attr means. Throws gloo::IoException if there is none. */
Address find_address(const attr &attr);

} // namespace gloo::transport::dlcp

#endif

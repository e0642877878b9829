/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A Gloo device over DLCP: what gloo/transport/tcp/device.h is for TCP. Only
 * programs that use Gloo themselves need this; PyTorch finds the device by its
 * name, see README.md.
 */
#ifndef GLOO_DLCP_H
#define GLOO_DLCP_H

#include <memory>
#include <string>

#include <gloo/transport/device.h>

namespace gloo::transport::dlcp {

/**
 * struct attr - where a device listens
 * @iface: network interface, the first address of which is used; "": see
 *	@hostname
 * @hostname: name or address of this host; "": what hostname(1) says, or
 *	loopback if that has no address here
 */
struct attr {
	std::string iface;
	std::string hostname;
};

/**
 * CreateDevice() - make a device
 * @attr: where it listens
 *
 * Throws gloo::IoException if that is impossible; without the kernel module
 * the exception says what to do.
 */
__attribute__((visibility("default")))
std::shared_ptr<::gloo::transport::Device> CreateDevice(const attr &attr);

} // namespace gloo::transport::dlcp

#endif

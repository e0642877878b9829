// SPDX-License-Identifier: LGPL-2.1-or-later
/* PyTorch looks devices up by name; this library need only be loaded. */
#define USE_C10D_GLOO
#include <torch/csrc/distributed/c10d/GlooDeviceFactory.hpp>

#include "gloo_dlcp.h"

namespace c10d {

/* Later versions of PyTorch have more arguments, which say nothing to us */
static const auto make_dlcp = [](const std::string &iface,
				 const std::string &hostname, auto...) {
	return ::gloo::transport::dlcp::CreateDevice({ iface, hostname });
};

C10_REGISTER_CREATOR(GlooDeviceRegistry, DLCP, make_dlcp);

} // namespace c10d

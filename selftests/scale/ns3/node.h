/* SPDX-License-Identifier: GPL-2.0 */
/* Nodes and addresses, between the files in C++. */
#ifndef _SCALE_NS3_NODE_H
#define _SCALE_NS3_NODE_H

#include <ns3/ipv4-address.h>
#include <ns3/node.h>

#include "net.h"

ns3::Ipv4Address net_addr_of(uint32_t nr);
uint32_t net_host_of(ns3::Ipv4Address a);
ns3::Ptr<ns3::Node> net_node(uint32_t nr);
const struct net_config &net_config();

#endif

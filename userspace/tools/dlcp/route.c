// SPDX-License-Identifier: GPL-2.0
/*
 * The device that a route leads to. The address that packets leave from may be another one's: lo's,
 * where hosts speak BGP.
 */
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tool.h"

struct route_ask {
	struct nlmsghdr	h;
	struct rtmsg	rt;
	char		attrs[64];
};

static void add(struct route_ask *ask, unsigned short type, const void *data, size_t len)
{
	struct rtattr *a = (void *)((char *)ask + NLMSG_ALIGN(ask->h.nlmsg_len));

	a->rta_type = type;
	a->rta_len = (unsigned short)RTA_LENGTH(len);
	memcpy(RTA_DATA(a), data, len);
	ask->h.nlmsg_len = NLMSG_ALIGN(ask->h.nlmsg_len) + RTA_ALIGN(a->rta_len);
}

static void ask_for(struct route_ask *ask, const struct sockaddr_storage *to)
{
	const struct sockaddr_in6 *in6 = (const void *)to;
	const struct sockaddr_in *in = (const void *)to;
	int v6 = to->ss_family == AF_INET6;

	memset(ask, 0, sizeof(*ask));
	ask->h.nlmsg_len = NLMSG_LENGTH(sizeof(ask->rt));
	ask->h.nlmsg_type = RTM_GETROUTE;
	ask->h.nlmsg_flags = NLM_F_REQUEST;
	ask->rt.rtm_family = (unsigned char)to->ss_family;
	ask->rt.rtm_dst_len = v6 ? 128 : 32;
	if (v6)
		add(ask, RTA_DST, &in6->sin6_addr, 16);
	else
		add(ask, RTA_DST, &in->sin_addr, 4);
	if (v6 && in6->sin6_scope_id)
		add(ask, RTA_OIF, &in6->sin6_scope_id, 4);
}

void route_device(const struct sockaddr_storage *to, char *dev)
{
	char name[IF_NAMESIZE], buf[4096] __attribute__((aligned(8)));
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	struct nlmsghdr *h = (void *)buf;
	struct route_ask ask;
	struct rtattr *a;
	ssize_t len = 0;

	*dev = '\0';
	if (fd < 0)
		return;
	ask_for(&ask, to);
	if (send(fd, &ask, ask.h.nlmsg_len, 0) >= 0)
		len = recv(fd, buf, sizeof(buf), 0);
	close(fd);
	if (len <= 0 || !NLMSG_OK(h, len) || h->nlmsg_type != RTM_NEWROUTE)
		return;
	len = RTM_PAYLOAD(h);
	for (a = RTM_RTA(NLMSG_DATA(h)); RTA_OK(a, len); a = RTA_NEXT(a, len))
		if (a->rta_type == RTA_OIF && if_indextoname(*(unsigned int *)RTA_DATA(a), name))
			strcpy(dev, name);
}

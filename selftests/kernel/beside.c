// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "beside.h"

int of_family(int v4, int v6)
{
	return family == AF_INET6 ? v6 : v4;
}

int socket_of(int net, int type)
{
	int fd;

	if (type == DLCP)
		return dlcp_socket_in(net);
	net_enter(net);
	fd = ASSERT_OK(socket(family, type | SOCK_CLOEXEC, 0));
	net_leave();
	return fd;
}

void must_listen(int fd, union addr a)
{
	int on = 1;

	ASSERT_OK(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)));
	ASSERT_OK(do_bind(fd, a));
	ASSERT_OK(listen(fd, 8));
}

int try_connect(int fd, union addr a)
{
	int err;

	ASSERT_OK(fcntl(fd, F_SETFL, O_NONBLOCK));
	if (!do_connect(fd, a))
		return 0;
	if (errno != EINPROGRESS)
		return errno;
	if (!(poll_for(fd, POLLOUT, 1000 * slowness) & POLLOUT))
		return ETIMEDOUT;
	err = sock_error(fd);
	return err;
}

void check_client(int net, int type, union addr a, int err)
{
	int fd = socket_of(net, type), got = try_connect(fd, a);

	if (got != err)
		test_failed(false, "%s: %s, expected %s",
			    type == TCP ? "TCP" : "DLCP", err_name(got),
			    err_name(err));
	close(fd);
}

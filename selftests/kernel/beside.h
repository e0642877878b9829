/* SPDX-License-Identifier: GPL-2.0 */
/* The same asked of TCP and of DLCP, which have to give the same answer. */
#ifndef BESIDE_H
#define BESIDE_H

#include "lib.h"

enum { TCP = SOCK_STREAM, DLCP = SOCK_DLCP };

static const int types[] = { TCP, DLCP };

int of_family(int v4, int v6);
int socket_of(int net, int type);
void must_listen(int fd, union addr a);
/* Tries for a second. Return: 0 or errno */
int try_connect(int fd, union addr a);
/* A client of @net can, or not, connect to @a. @err: 0 or errno. */
void check_client(int net, int type, union addr a, int err);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Findings of dlcp check.
 */
#ifndef TOOLS_DLCP_FINDINGS_H
#define TOOLS_DLCP_FINDINGS_H

#include <sys/socket.h>

#include "tool.h"

/**
 * enum level - of a finding
 * @FINE: as it should be
 * @UNKNOWN: could not be looked at
 * @BAD: it works, and not well
 * @WRONG: it cannot work
 */
enum level {
	FINE,
	UNKNOWN,
	BAD,
	WRONG,
};

/**
 * struct check - a run
 * @json: as JSON
 * @port: net.dlcp.udp_port
 * @programs: BPF programs of its cgroups that may drop what leaves
 * @nr: findings of each level
 */
struct check {
	int	json;
	long	port;
	int	programs;
	int	nr[WRONG + 1];
};

/* A finding: its name, what to type (NULL: nothing), and words */
void found(struct check *c, enum level level, const char *name, const char *type,
	   const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Return: 0, or -1 if nothing else can be looked at */
int check_module(struct check *c);
void check_port(struct check *c);
void check_clock(struct check *c);
/* Limits and programs of this process's cgroups */
void check_cgroup(struct check *c);
void check_settings(struct check *c);
void check_firewall(struct check *c);
/* Of one device */
void check_device(struct check *c, const char *dev);
/* Its queueing disciplines; @txqueuelen: of the device */
void check_queue(struct check *c, const char *dev, int txqueuelen);
/* Its link; @flags: of the device */
void check_link(struct check *c, const char *dev, int flags);
/* Whether many processors share what arrives there */
void check_irq(struct check *c, const char *dev);
/* Of all that are up and have an address */
void check_devices(struct check *c);
/* Return: the address that programs come to */
const struct sockaddr_storage *check_addresses(struct check *c, const char *host,
					       const struct peer *peer, int timeout_ms);
void check_peer(struct check *c, const char *host, const struct sockaddr_storage *to,
		int timeout_ms);
/* Clock, versions and settings of both hosts, if `dlcp ping -l` tells of them there */
void check_both(struct check *c, const char *host, const struct sockaddr_storage *to,
		int timeout_ms);

#endif

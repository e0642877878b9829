// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * How ranks find each other.
 *
 * With a list of addresses, rank r listens at the r-th and connects to all
 * lower ranks. With a master, each listens at a port of the kernel's choice,
 * connects to rank 0 and says it; rank 0, when all have come, sends everyone
 * the list, with the addresses from which it saw them come. One that came from
 * rank 0's own host, over loopback or an address of that host, is where rank 0
 * is, by whichever address one reaches that. The first message on a connection
 * says who one is.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "coll.h"

#define MAGIC		0x444c4d33	/* "DLM3" */
#define KEY_HELLO	1
#define KEY_LIST	2
#define LIST_MS		5000	/* for rank 0 to say what it waited for */
#define MAX_CALLERS	COLL_MAX_WORLD
#define AGAIN_MS	10	/* to look for a hello that was overtaken */
#define FIRST_TRY_MS	1000	/* to connect */

/* What all ranks must have alike, or the same call would be two operations */
struct alike {
	uint32_t	servers;
	uint32_t	dedicated;
	uint32_t	chunk;
	uint32_t	small;
};

struct hello {
	uint32_t	magic;
	uint32_t	rank;
	uint32_t	world;
	uint32_t	port;
	struct alike	alike;
};

struct place {
	char		host[NI_MAXHOST];
	char		port[NI_MAXSERV];
};

/* One that rank 0 tells the others: an address, no name; none: its own host's */
struct told {
	char		host[64];
	char		port[8];
};

/* Of the whole list; @error is not 0 if rank 0 gave up, and why */
struct list_head {
	uint32_t	magic;
	uint32_t	error;
	char		text[200];
};

/**
 * struct meeting - what is needed until all have met
 * @c: the group
 * @listener: socket
 * @port: at which it listens
 * @places: where the ranks are
 * @from: addresses to leave from, if @chosen
 * @chosen: DLCP_SOCKET_IFNAME is set
 * @until: time (coll_now_ms()) to give up
 */
struct meeting {
	struct dlcp_coll	*c;
	int			listener;
	int			port;
	struct place		*places;
	struct dlcp__from	from;
	int			chosen;
	uint64_t		until;
};

static int left_ms(const struct meeting *m)
{
	uint64_t now = coll_now_ms();

	return m->until > now ? (int)(m->until - now) : 0;
}

/* Set the text of this thread, without an errno's name behind it */
static int refuse(int err, const char *text)
{
	return dlcp__fail(err, "%s", text);
}

static int connect_once(struct meeting *m, const char *host, const char *port, int ms)
{
	struct dlcp__until until = dlcp__until(ms);

	return dlcp__connect(host, port, &until, m->chosen ? &m->from : NULL);
}

/* Our host may not know its own name, and rank 0 is here if that is where it is */
static int connect_by_name(struct meeting *m, const struct place *p, int ms)
{
	int fd = connect_once(m, p->host, p->port, ms);
	char own[256] = "";

	if (fd >= 0 || errno != EADDRNOTAVAIL ||
	    gethostname(own, sizeof(own) - 1) || strcmp(own, p->host))
		return fd;
	return connect_once(m, "127.0.0.1", p->port, ms);
}

static int send_key(int fd, uint64_t key, const void *buf, size_t len)
{
	struct dlcp_send msg = {
		.buf = buf, .len = len,
		.attr = { .mask = DLCP_ATTR_KEY | DLCP_ATTR_PRIO, .key = key },
	};

	return dlcp_send(fd, &msg) < 0 ? -1 : 0;
}

/* @ms: milliseconds to wait, 0 for what is here */
static int recv_key(int fd, uint64_t key, void *buf, size_t len, int ms)
{
	struct dlcp_receipt r = { .eof = 0 };
	ssize_t n;

	if (ms && dlcp_set_timeouts(fd, -1, ms))
		return -1;
	n = dlcp_recv(fd, DLCP_KEY(key), buf, len, ms ? 0 : MSG_DONTWAIT, &r);
	if (n < 0 && errno == EAGAIN)
		errno = ETIMEDOUT;
	if (n >= 0 && (r.eof || (size_t)n != len))
		n = dlcp__fail(r.eof ? ECONNRESET : EBADMSG,
			       "a message of %zd bytes where %zu were expected: is the port a rank's, and libdlcp the same?",
			       n, len);
	dlcp_receipt_free(&r);
	if (n < 0)
		return -1;
	return ms ? dlcp_set_timeouts(fd, -1, -1) : 0;
}

static int set_place(struct place *p, const char *host, size_t host_len,
		     const char *port, size_t port_len)
{
	if (host_len >= sizeof(p->host) || port_len >= sizeof(p->port))
		return dlcp__fail(EINVAL, "a host of %zu characters with a port of %zu; %zu and %zu are possible",
				  host_len, port_len, sizeof(p->host) - 1,
				  sizeof(p->port) - 1);
	snprintf(p->host, sizeof(p->host), "%.*s", (int)host_len, host);
	snprintf(p->port, sizeof(p->port), "%.*s", (int)port_len, port);
	return 0;
}

/* "host:port" or "[v6]:port", entry @i of a list */
static int parse_place(const char *list, int i, struct place *p)
{
	const char *end, *colon, *at = list;
	size_t host;

	while (i-- && at) {
		at = strchr(at, ',');
		at = at ? at + 1 : NULL;
	}
	if (!at)
		return refuse(EINVAL, "fewer addresses than ranks");
	end = strchrnul(at, ',');
	for (colon = end; colon > at && *colon != ':';)
		colon--;
	host = (size_t)(colon - at);
	if (*at == '[' && host > 1 && at[host - 1] == ']') {
		at++;
		host -= 2;
	}
	if (colon == at || !host || end == colon + 1)
		return dlcp__fail(EINVAL, "not a list of host:port: %s", list);
	if (set_place(p, at, host, colon + 1, (size_t)(end - colon - 1)))
		return -1;
	return dlcp__check_port(p->port);
}

static int parse_list(struct meeting *m, const char *list)
{
	int i;

	for (i = 0; i < m->c->world; i++)
		if (parse_place(list, i, &m->places[i]))
			return -1;
	return 0;
}

static int listen_at(struct meeting *m, const char *port)
{
	struct sockaddr_in6 addr = { 0 };
	socklen_t len = sizeof(addr);

	m->listener = dlcp_listen(NULL, port, COLL_MAX_WORLD);
	if (m->listener < 0)
		return -1;
	if (getsockname(m->listener, (struct sockaddr *)&addr, &len))
		return refuse(errno, "getsockname");
	/* it lies at the same place in both families */
	m->port = ntohs(addr.sin6_port);
	return 0;
}

/* May it be that a host, its name (EADDRNOTAVAIL) or a network, there or
 * here, is not up yet?
 */
static int may_come(int err)
{
	return err == ECONNREFUSED || err == ETIMEDOUT || err == ECONNRESET ||
	       err == EHOSTUNREACH || err == ENETUNREACH || err == ENETDOWN ||
	       err == EADDRNOTAVAIL;
}

static int fail_connect(const struct meeting *m, int rank, const char *why)
{
	const struct place *p = &m->places[rank];

	if (!rank && !m->c->options.addrs)
		return dlcp__fail_text(ETIMEDOUT, "rank 0 did not come within %d ms to %s port %s: %s (MASTER_ADDR must be an address or a name of rank 0's host that this host reaches)",
				       m->c->options.timeout_ms, p->host,
				       p->port, why);
	return dlcp__fail_text(ETIMEDOUT, "rank %d did not come within %d ms to %s port %s: %s (should its host be reached at another address, DLCP_SOCKET_IFNAME there chooses the interface)",
			       rank, m->c->options.timeout_ms, p->host, p->port,
			       why);
}

/* The other may not be there yet, so failures mean nothing until the end */
static int connect_to(struct meeting *m, int rank)
{
	const struct timespec nap = { .tv_nsec = 20000000 };
	int fd, left, ms = FIRST_TRY_MS;
	char why[240];

	/* One of its addresses may be silent for ever, and another one refuses until it is
	 * there: so try anew, and longer each time
	 */
	for (;; ms = ms < left ? 2 * ms : ms) {
		left = left_ms(m);
		fd = connect_by_name(m, &m->places[rank], ms < left ? ms : left);
		if (fd >= 0)
			break;
		if (!may_come(errno))
			return -1;
		snprintf(why, sizeof(why), "%s", dlcp_last_error());
		if (!left_ms(m))
			return fail_connect(m, rank, why);
		nanosleep(&nap, NULL);
	}
	m->c->links[rank].fd = fd;
	return 0;
}

static struct alike alike_of(const struct dlcp_coll *c)
{
	const struct dlcp_coll_options *o = &c->options;

	return (struct alike){
		.servers = htole32((uint32_t)o->nr_servers),
		.dedicated = htole32(o->dedicated != 0),
		.chunk = htole32((uint32_t)o->chunk_bytes),
		.small = htole32((uint32_t)o->small_bytes),
	};
}

static int say_hello(struct meeting *m, int rank)
{
	struct hello h = {
		.magic = htole32(MAGIC),
		.rank = htole32((uint32_t)m->c->rank),
		.world = htole32((uint32_t)m->c->world),
		.port = htole32((uint32_t)m->port),
		.alike = alike_of(m->c),
	};

	return send_key(m->c->links[rank].fd, KEY_HELLO, &h, sizeof(h));
}

typedef int name_fn(int fd, struct sockaddr *addr, socklen_t *len);

/* An end of a connection, as a numerical address */
static int end_of(int fd, name_fn *name, char *host, size_t len)
{
	struct sockaddr_storage addr;
	socklen_t size = sizeof(addr);
	char text[64];

	if (name(fd, (struct sockaddr *)&addr, &size) ||
	    getnameinfo((struct sockaddr *)&addr, size, text, sizeof(text),
			NULL, 0, NI_NUMERICHOST))
		return refuse(errno ? errno : EINVAL, "address of a rank");
	snprintf(host, len, "%s",
		 strncmp(text, "::ffff:", 7) ? text : text + 7);
	return 0;
}

/* From where a connection comes, as others can use it */
static int find_place(int fd, int port, struct place *p)
{
	char here[64];

	if (end_of(fd, getpeername, p->host, sizeof(p->host)) ||
	    end_of(fd, getsockname, here, sizeof(here)))
		return -1;
	if (coll_is_loopback(p->host) || !strcmp(p->host, here))
		*p->host = '\0';
	snprintf(p->port, sizeof(p->port), "%d", port);
	return 0;
}

static int check_alike(const struct dlcp_coll *c, uint32_t rank,
		       const struct alike *theirs)
{
	struct alike ours = alike_of(c);

	if (!memcmp(theirs, &ours, sizeof(ours)))
		return 0;
	if (theirs->servers != ours.servers ||
	    theirs->dedicated != ours.dedicated)
		return dlcp__fail(EBADMSG, "rank %u has options for %u %sservers, and rank %d for %u %sservers",
				  rank, le32toh(theirs->servers),
				  theirs->dedicated ? "dedicated " : "",
				  c->rank, le32toh(ours.servers),
				  ours.dedicated ? "dedicated " : "");
	return dlcp__fail(EBADMSG, "rank %u has chunk_bytes %u and small_bytes %u, and rank %d has %u and %u",
			  rank, le32toh(theirs->chunk), le32toh(theirs->small),
			  c->rank, le32toh(ours.chunk), le32toh(ours.small));
}

/* Is it who may come? */
static int check_hello(const struct dlcp_coll *c, const struct hello *h)
{
	uint32_t rank = le32toh(h->rank), world = le32toh(h->world);

	if (world != (uint32_t)c->world)
		return dlcp__fail(EBADMSG,
				  "rank %u says that there are %u ranks, and not %d",
				  rank, world, c->world);
	if (rank >= world || (int)rank == c->rank || c->links[rank].fd >= 0)
		return dlcp__fail(EBADMSG, "two processes say that they are rank %u",
				  rank);
	return 0;
}

/* It can be read. Return: 0 as well for a stranger, who is sent away; 1: its
 * hello is not here, though others of its messages are, as order is not kept
 */
static int take_hello(struct meeting *m, int fd)
{
	struct hello h;
	uint32_t rank;
	int ret;

	ret = recv_key(fd, KEY_HELLO, &h, sizeof(h), 0);
	if (ret && errno == ETIMEDOUT)
		return 1;
	if (ret || le32toh(h.magic) != MAGIC) {
		close(fd);
		return 0;
	}
	if (check_hello(m->c, &h)) {
		close(fd);
		return -1;
	}
	rank = le32toh(h.rank);
	m->c->links[rank].fd = fd;	/* it is told, too: send_list() */
	if (check_alike(m->c, rank, &h.alike))
		return -1;
	return m->places ? find_place(fd, (int)le32toh(h.port),
				      &m->places[rank]) : 0;
}

/* The ranks above @from that have not come, as words */
static int fail_missing(struct meeting *m, int from)
{
	char who[120] = "";
	size_t at = 0;
	int i;

	for (i = from; i < m->c->world; i++)
		if (m->c->links[i].fd < 0 && at < sizeof(who) - 20)
			at += (size_t)snprintf(who + at, sizeof(who) - at,
					       "%s%d", at ? ", " : "", i);
	return dlcp__fail(ETIMEDOUT, "rank %s did not come within %d ms: was it started, and what does it say itself?", who,
			  m->c->options.timeout_ms);
}

/**
 * struct callers - who has connected and has not said who he is
 *
 * A rank whose first packets are lost may need as long as the group has. So
 * all are waited for at once, and a stranger delays nobody.
 *
 * @fds: the listener, then they, the oldest first; without events those of
 *       whom anything but the hello has come
 * @nr: of them
 * @early: there is one without events
 */
struct callers {
	struct pollfd	fds[1 + MAX_CALLERS];
	int		nr;
	int		early;
};

static void forget_caller(struct callers *cs, int i)
{
	memmove(&cs->fds[i], &cs->fds[i + 1],
		(size_t)(cs->nr - i) * sizeof(cs->fds[0]));
	cs->nr--;
}

/* Return: 0 as well if there is none any more */
static int add_caller(struct meeting *m, struct callers *cs)
{
	int fd = dlcp_accept(m->listener, 0);

	if (fd < 0)
		return errno == ETIMEDOUT ? 0 : -1;
	if (cs->nr == MAX_CALLERS) {
		close(cs->fds[1].fd);
		forget_caller(cs, 1);
	}
	cs->fds[++cs->nr] = (struct pollfd){ .fd = fd, .events = POLLIN };
	return 0;
}

/* Those that have said something. Return: -1 if one may not come */
static int hear_said(struct meeting *m, struct callers *cs)
{
	int i, ret;

	cs->early = 0;
	for (i = cs->nr; i > 0; i--) {
		if (cs->fds[i].events && !cs->fds[i].revents)
			continue;
		ret = take_hello(m, cs->fds[i].fd);
		if (ret > 0) {
			cs->fds[i].events = 0;
			cs->early = 1;
			continue;
		}
		forget_caller(cs, i);
		if (ret)
			return -1;
	}
	return 0;
}

/* Until somebody calls or speaks */
static int hear_callers(struct meeting *m, struct callers *cs)
{
	int ms = left_ms(m), n;

	if (cs->early && ms > AGAIN_MS)
		ms = AGAIN_MS;
	n = poll(cs->fds, 1 + (nfds_t)cs->nr, ms);
	if (n < 0)
		return errno == EINTR ? 0 : refuse(errno, "poll");
	if (hear_said(m, cs))
		return -1;
	return cs->fds[0].revents ? add_caller(m, cs) : 0;
}

static int is_missing(const struct meeting *m, int rank)
{
	for (rank++; rank < m->c->world; rank++)
		if (m->c->links[rank].fd < 0)
			return 1;
	return 0;
}

/* All ranks above @rank come to us */
static int accept_above(struct meeting *m, int rank)
{
	struct callers cs = { .fds[0] = { m->listener, POLLIN, 0 } };
	int ret = 0;

	while (!ret && is_missing(m, rank)) {
		if (!left_ms(m))
			ret = fail_missing(m, rank + 1);
		else
			ret = hear_callers(m, &cs);
	}
	while (cs.nr)
		close(cs.fds[cs.nr--].fd);
	return ret;
}

static int rendezvous_by_list(struct meeting *m)
{
	int i;

	if (parse_list(m, m->c->options.addrs) ||
	    listen_at(m, m->places[m->c->rank].port))
		return -1;
	for (i = 0; i < m->c->rank; i++)
		if (connect_to(m, i) || say_hello(m, i))
			return -1;
	return accept_above(m, m->c->rank);
}

/* Rank 0: tell everyone who came where all are, or that it has failed */
static int send_list(struct meeting *m, int err)
{
	size_t places = (size_t)m->c->world * sizeof(struct told);
	struct list_head *l = calloc(1, sizeof(*l) + places);
	struct told *told = (struct told *)(l + 1);
	int i, ret = 0;

	if (!l)
		return refuse(ENOMEM, "no memory");
	l->magic = htole32(MAGIC);
	l->error = htole32((uint32_t)err);
	snprintf(l->text, sizeof(l->text), "rank 0: %s",
		 err ? dlcp_last_error() : "");
	for (i = 1; i < m->c->world; i++) {
		memcpy(told[i].host, m->places[i].host, sizeof(told->host) - 1);
		memcpy(told[i].port, m->places[i].port, sizeof(told->port) - 1);
	}
	for (i = 1; i < m->c->world; i++)
		if (m->c->links[i].fd >= 0 &&
		    send_key(m->c->links[i].fd, KEY_LIST, l,
			     sizeof(*l) + places))
			ret = -1;
	free(l);
	return ret;
}

static int recv_list(struct meeting *m)
{
	size_t places = (size_t)m->c->world * sizeof(struct told);
	struct list_head *l = calloc(1, sizeof(*l) + places);
	const struct told *told = (const struct told *)(l + 1);
	int i, ret;

	if (!l)
		return refuse(ENOMEM, "no memory");
	/* rank 0 waits as long as we do, and then says what it waited for */
	ret = recv_key(m->c->links[0].fd, KEY_LIST, l, sizeof(*l) + places,
		       left_ms(m) + LIST_MS);
	if (!ret && (le32toh(l->magic) != MAGIC || l->error)) {
		l->text[sizeof(l->text) - 1] = '\0';
		coll_plain(l->text);
		ret = refuse(l->error ? coll_errno_from(l->error) : EBADMSG,
			     l->text);
	}
	for (i = 1; !ret && i < m->c->world; i++)
		ret = set_place(&m->places[i], told[i].host,
				strnlen(told[i].host, sizeof(told->host)),
				told[i].port,
				strnlen(told[i].port, sizeof(told->port)));
	free(l);
	for (i = 1; !ret && i < m->c->world; i++)
		if (!*m->places[i].host)
			ret = end_of(m->c->links[0].fd, getpeername,
				     m->places[i].host,
				     sizeof(m->places[i].host));
	return ret;
}

static int be_master(struct meeting *m)
{
	int err;

	if (listen_at(m, m->c->options.master_port))
		return -1;
	if (accept_above(m, 0)) {
		err = errno;
		send_list(m, err);
		errno = err;
		return -1;
	}
	return send_list(m, 0);
}

static int rendezvous_by_master(struct meeting *m)
{
	const struct dlcp_coll_options *o = &m->c->options;
	int i;

	if (!o->master_addr || !o->master_port)
		return refuse(EINVAL, "neither a list of addresses nor MASTER_ADDR and MASTER_PORT");
	if (dlcp__check_port(o->master_port))
		return -1;
	if (!m->c->rank)
		return be_master(m);
	if (set_place(&m->places[0], o->master_addr, strlen(o->master_addr),
		      o->master_port, strlen(o->master_port)) ||
	    listen_at(m, "0") || connect_to(m, 0) || say_hello(m, 0) ||
	    recv_list(m))
		return -1;
	for (i = 1; i < m->c->rank; i++)
		if (connect_to(m, i) || say_hello(m, i))
			return -1;
	return accept_above(m, m->c->rank);
}

/*
 * What the longest message takes of SO_SNDBUF: the kernel keeps it in blocks of
 * 32 KiB, or of a segment if that is longer, and something about each segment
 * (kmod/sendmsg.c, dlcp_tx_cost()).
 */
static size_t cost_of(size_t len, size_t seg)
{
	size_t slot = seg + 24, per = slot < 32768 ? 32768 / slot : 1;
	size_t block = 4096, segs = len / seg + 1;

	while (block < per * slot)
		block *= 2;
	return (segs / per + 1) * block + segs * 8 + 4096;
}

/* What a send buffer has beyond a chunk is for what may not be read (eager.c);
 * half of it stays free, as headers and slots count, too
 */
static void share_room(struct dlcp_coll *c, struct coll_link *link, size_t room)
{
	size_t small = room / 8 / (c->options.small_bytes + 1024);

	link->most_eager = room * 3 / 8;
	small = small ? small : 1;
	if (small < (size_t)c->most_small)
		c->most_small = (int)small;
}

/* Messages are sent whole or not yet, so that one has to fit */
static int make_room(struct dlcp_coll *c, struct coll_link *link)
{
	size_t chunk = c->options.chunk_bytes + sizeof(struct coll_head);
	size_t cost = cost_of(chunk, link->seg_size);
	socklen_t len = sizeof(int);
	int room = 0, tried;

	for (tried = 0; tried < 2; tried++) {
		if (getsockopt(link->fd, SOL_SOCKET, SO_SNDBUF, &room, &len))
			return refuse(errno, "reading SO_SNDBUF");
		if ((size_t)room >= cost) {
			share_room(c, link, (size_t)room - cost);
			return 0;
		}
		if (!tried && dlcp_set_buffers(link->fd, cost, 0))
			return -1;
	}
	return dlcp__fail(EMSGSIZE, "chunks of %zu bytes need SO_SNDBUF %zu, and net.core.wmem_max allows %d: raise it, or lower chunk_bytes",
			  c->options.chunk_bytes, cost, room);
}

/* It is dead after half the timeout, and asked before that */
int coll_limit_silence(const struct dlcp_coll *c, const struct coll_link *link)
{
	uint32_t dead = (uint32_t)coll_timeout_ms(c) / 2, alive, on = 1;

	dead = dead < 100 ? 100 : dead > 3600000 ? 3600000 : dead;
	alive = dead / 2 < 100 ? 100 : dead / 2;
	if (setsockopt(link->fd, SOL_DLCP, DLCP_DEAD_MS, &dead, sizeof(dead)) ||
	    setsockopt(link->fd, SOL_DLCP, DLCP_KEEPALIVE_MS, &alive,
		       sizeof(alive)) ||
	    setsockopt(link->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)))
		return refuse(errno, "setting options of a connection");
	return 0;
}

static int prepare_link(struct dlcp_coll *c, struct coll_link *link)
{
	struct dlcp_info info;

	if (coll_limit_silence(c, link))
		return -1;
	if (dlcp_get_info(link->fd, &info))
		return -1;
	link->seg_size = info.seg_size;
	return make_room(c, link);
}

int coll_rendezvous(struct dlcp_coll *c)
{
	struct meeting m = { .c = c, .listener = -1 };
	int i, ret, err;

	m.until = coll_now_ms() + (uint64_t)c->options.timeout_ms;
	m.places = calloc((size_t)c->world, sizeof(*m.places));
	if (!m.places)
		return refuse(ENOMEM, "no memory");
	m.chosen = coll_ifname(&m.from);
	ret = m.chosen < 0 ? -1 : 0;
	if (!ret)
		ret = c->options.addrs ? rendezvous_by_list(&m) :
					 rendezvous_by_master(&m);
	for (i = 0; !ret && i < c->world; i++)
		if (i != c->rank)
			ret = prepare_link(c, &c->links[i]);
	err = errno;
	if (m.listener >= 0)
		close(m.listener);
	free(m.places);
	errno = err;
	return ret;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef GLOO_DLCP_LINK_H
#define GLOO_DLCP_LINK_H

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <dlcp.h>

#include "group.h"
#include "wire.h"

namespace gloo::transport::dlcp {

class Device;

/*
 * The connection with one rank, and the operations on it. wire.h says how they
 * meet. With the group's lock held, unless said otherwise.
 *
 * Closing, also after a failure: what is promised to the peer is still sent,
 * then our end of the connection; what the peer says is thrown away until its
 * end has come.
 */
class Link : public std::enable_shared_from_this<Link> {
public:
	Link(Device *device, const std::shared_ptr<Group> &group, int rank);
	~Link();

	/* Operations throw if the link is broken */
	void send(Completion *owner, uint64_t slot, const char *from, size_t n);
	void recv(Completion *owner, uint64_t slot, char *to, size_t n);
	/* A send waits for us in @slot */
	bool offers(uint64_t slot) const;
	bool broken() const;
	bool connected() const { return state_ == kOpen; }
	/* Bound buffers: to @offset of the peer's buffer */
	void write(Completion *owner, uint64_t slot, const char *from, size_t n,
		   size_t offset);
	void open_buffer(Completion *owner, uint64_t slot, char *to, size_t n);
	void close_buffer(uint64_t slot);

	/* No operation has anything to do with @owner any more */
	void cancel(Completion *owner);

	/* All operations fail, and the peer is told */
	void fail(const std::string &why);
	/* Likewise if some are left */
	void close();

	/* These five take the lock */
	void attach(int fd);
	void wait_attached();	/* throws */
	void handle();		/* there may be something to read or room to send */
	bool arrived();		/* everything sent, or no more can be */
	void abandon();		/* nobody calls handle() any more */

private:
	/* A receive, or a write into a bound buffer */
	struct Recv {
		Completion *owner;
		uint64_t slot;
		char *to;
		size_t want;
		size_t got;
		size_t pieces;
		uint64_t ready;		/* number of its READY */
		bool met;		/* its send is known */
		bool over;		/* all is here */
		bool write;
	};
	struct Send {
		Completion *owner;
		const char *from;
		size_t n;
	};
	/* An announced send, with its bytes if they are here */
	struct Offer {
		Envelope head;
		std::vector<char> bytes;
	};
	struct Ready {
		uint32_t id;
		size_t n;
	};
	struct Slot {
		std::deque<uint32_t> recvs;	/* they end in this order */
		std::deque<Offer> offers;
		std::deque<Send> sends;
		std::deque<size_t> eager;	/* sent; their cost */
		std::deque<Ready> readies;
	};
	struct Bound {
		Completion *owner;
		char *to;
		size_t size;
	};
	struct Transfer {
		Completion *owner;
		const char *from;
		size_t n;
		size_t done;
		uint32_t id;
	};
	struct Out {
		uint64_t nr;
		std::vector<char> bytes;
	};
	enum State { kConnecting, kOpen, kClosing, kClosed };

	void check() const;
	uint64_t post(const Envelope &head, const void *bytes, size_t n);
	void announce(Envelope head, Slot *slot, const Send &send);
	void start(const Send &send, const Ready &ready);
	uint32_t expect(Type type, uint64_t slot, Completion *owner, char *to, size_t n);
	void meet(uint32_t id, const Offer &offer);
	void finish(uint32_t id);
	bool wanted_by_any(const Envelope &e, uint32_t *id);
	void take_write(const Offer &offer);
	void tidy(uint64_t slot);

	void drain();
	ssize_t take(const struct dlcp_want &want, void *to, size_t n);
	bool take_envelope(uint64_t nr, size_t n);
	bool take_data(uint64_t key, size_t n);
	void process(const std::vector<char> &bytes);
	void on_send(Offer &&offer);
	void on_ready(const Envelope &e, Slot *slot);
	void on_short(const Envelope &e);

	void flush();
	bool put(uint64_t key, const void *bytes, size_t n, uint8_t prio);
	bool put_piece(Transfer *t);
	void fail_operations(const std::string &why);
	static void keep_eager(Slot *slot);
	void fail_any(const std::string &why);
	void set_options();
	void start_closing(const std::string &why);
	void lost(const std::string &why);
	void end();
	std::string name() const;

	Device *const device_;
	const std::shared_ptr<Group> group_;
	const int rank_;	/* the peer's */
	State state_ = kConnecting;
	std::condition_variable attached_;
	std::string why_;	/* not open any more */
	int fd_ = -1;
	uint64_t watch_ = 0;
	bool shut_ = false;

	std::unordered_map<uint64_t, Slot> slots_;
	std::unordered_map<uint64_t, Slot> writes_;	/* of bound buffers */
	std::unordered_map<uint64_t, Bound> bound_;
	std::unordered_map<uint32_t, Recv> recvs_;
	uint32_t next_recv_ = 0;
	size_t eager_ = 0;	/* of kEagerCredit */

	std::deque<Out> out_;
	std::deque<Transfer> transfers_;
	uint64_t next_out_ = 0;
	uint64_t next_in_ = 0;
	std::map<uint64_t, std::vector<char>> early_;
	std::vector<char> scratch_;
	struct dlcp_receipt receipt_ = {};
};

} // namespace gloo::transport::dlcp

#endif

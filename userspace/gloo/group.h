/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef GLOO_DLCP_GROUP_H
#define GLOO_DLCP_GROUP_H

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace gloo::transport::dlcp {

class Link;
class Completion;

/* How often fork() made the process that this is, and those it comes from (device.cc) */
extern std::atomic<unsigned> forks;

/*
 * Something of this process, or inherited. In a child that fork() made none of the threads runs, and
 * locks that they held stay locked: it may use nothing that it inherited, and must destroy it in silence.
 */
class Origin {
public:
	bool inherited() const { return at_ != forks; }

private:
	const unsigned at_ = forks;
};

/* A receive from whichever of some ranks sends first */
struct AnyRecv {
	Completion *owner;
	uint64_t slot;
	char *to;
	size_t nbytes;
	std::vector<int> from;
};

/*
 * What the pairs of a context share. One lock covers all of it: pairs, links
 * and buffers.
 */
struct Group {
	explicit Group(int rank, int size) : rank(rank), links(size) {}

	/* For operations: the lock. Throws in a forked child */
	std::unique_lock<std::mutex> enter();
	/* All pairs are broken from now on, and their peers are told why */
	void fail(const std::string &why);

	const Origin origin;
	const int rank;
	std::mutex lock;
	/* For every operation; 0: none */
	std::chrono::milliseconds timeout{0};
	std::vector<std::shared_ptr<Link>> links;
	std::deque<AnyRecv> any;
};

/*
 * What a buffer waits for. Links hold pointers to it until they have said how
 * an operation ended, or it is destroyed. With the group's lock held, unless
 * said otherwise.
 */
class Completion {
public:
	explicit Completion(const std::shared_ptr<Group> &group) : group(group) {}
	~Completion();		/* takes the lock */

	void begun() { pending_++; }
	void moved() { pending_--; }	/* begun anew elsewhere */
	void received(int from);
	void sent(int to);
	void failed(const std::string &why);

	/* Take the lock. Return: false if aborted. Throw if it failed, or was
	 * not over in time.
	 */
	bool wait_recv(int *from, std::chrono::milliseconds timeout);
	bool wait_send(int *to, std::chrono::milliseconds timeout);
	void abort_recv();
	void abort_send();

	const std::shared_ptr<Group> group;

private:
	struct Side {
		const char *name;
		std::deque<int> over;	/* ranks */
		bool abort = false;
	};

	bool wait(Side *side, int *rank, std::chrono::milliseconds timeout);
	void abort(Side *side);

	std::condition_variable changed_;
	Side recv_{"receive", {}}, send_{"send", {}};
	std::string error_;
	size_t pending_ = 0;
};

} // namespace gloo::transport::dlcp

#endif

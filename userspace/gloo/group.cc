// SPDX-License-Identifier: LGPL-2.1-or-later
#include "group.h"

#include <algorithm>

#include <gloo/common/error.h>
#include <gloo/transport/unbound_buffer.h>

#include "link.h"

namespace gloo::transport::dlcp {

using std::chrono::milliseconds;

std::unique_lock<std::mutex> Group::enter()
{
	if (origin.inherited())
		GLOO_THROW_IO_EXCEPTION("Gloo over DLCP: this process was forked by one that is in a group, and is in none itself: make one after fork()");
	return std::unique_lock<std::mutex>(lock);
}

void Group::fail(const std::string &why)
{
	auto all = links;	/* a link that fails removes itself */
	auto waiting = std::move(any);

	any.clear();
	for (AnyRecv &i : waiting)
		i.owner->failed(why);
	for (auto &link : all)
		if (link)
			link->fail(why);
}

Completion::~Completion()
{
	if (group->origin.inherited())
		return;
	std::lock_guard<std::mutex> guard(group->lock);

	if (!pending_)
		return;
	group->any.erase(std::remove_if(group->any.begin(), group->any.end(),
					[this](const AnyRecv &i) {
						return i.owner == this;
					}), group->any.end());
	auto all = group->links;
	for (auto &link : all)
		if (link)
			link->cancel(this);
}

void Completion::received(int from)
{
	pending_--;
	recv_.over.push_back(from);
	changed_.notify_all();
}

void Completion::sent(int to)
{
	pending_--;
	send_.over.push_back(to);
	changed_.notify_all();
}

void Completion::failed(const std::string &why)
{
	pending_--;
	if (error_.empty())
		error_ = why;
	changed_.notify_all();
}

bool Completion::wait(Side *side, int *rank, milliseconds timeout)
{
	auto guard = group->enter();
	auto over = [&] {
		return !side->over.empty() || side->abort || !error_.empty();
	};
	std::string why;

	if (timeout == kUnsetTimeout)
		timeout = group->timeout;
	if (timeout == kNoTimeout)
		changed_.wait(guard, over);
	else
		changed_.wait_for(guard, timeout, over);
	if (!side->over.empty()) {
		if (rank)
			*rank = side->over.front();
		side->over.pop_front();
		return true;
	}
	if (!error_.empty())
		GLOO_THROW_IO_EXCEPTION("Gloo over DLCP: ", error_);
	if (side->abort) {
		side->abort = false;
		return false;
	}
	why = "rank " + std::to_string(group->rank) + ": a " + side->name +
	      " was not over within " + std::to_string(timeout.count()) + " ms";
	group->fail(why);
	GLOO_THROW_IO_EXCEPTION("Gloo over DLCP: ", why);
}

bool Completion::wait_recv(int *from, milliseconds timeout)
{
	return wait(&recv_, from, timeout);
}

bool Completion::wait_send(int *to, milliseconds timeout)
{
	return wait(&send_, to, timeout);
}

void Completion::abort(Side *side)
{
	auto guard = group->enter();

	side->abort = true;
	changed_.notify_all();
}

void Completion::abort_recv()
{
	abort(&recv_);
}

void Completion::abort_send()
{
	abort(&send_);
}

} // namespace gloo::transport::dlcp

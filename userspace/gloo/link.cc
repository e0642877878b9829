// SPDX-License-Identifier: LGPL-2.1-or-later
/* What happens to operations; link_io.cc has what happens to messages. */
#include "link.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include <gloo/common/error.h>

#include "device.h"

namespace gloo::transport::dlcp {

Link::Link(Device *device, const std::shared_ptr<Group> &group, int rank) :
	device_(device), group_(group), rank_(rank)
{
}

std::string Link::name() const
{
	return "the connection of rank " + std::to_string(group_->rank) +
	       " with rank " + std::to_string(rank_);
}

void Link::check() const
{
	if (state_ >= kClosing)
		GLOO_THROW_IO_EXCEPTION("Gloo over DLCP: ", why_);
}

/* A slot is forgotten when nothing is left of it: programs use new ones all
 * the time
 */
void Link::tidy(uint64_t slot)
{
	for (auto *slots : { &slots_, &writes_ }) {
		auto i = slots->find(slot);

		if (i == slots->end())
			continue;
		const Slot &s = i->second;
		if (s.recvs.empty() && s.offers.empty() && s.sends.empty() &&
		    s.eager.empty() && s.readies.empty())
			slots->erase(i);
	}
}

/* --- sending */

/* With the bytes if they are few, which are then off our hands at once */
void Link::announce(Envelope head, Slot *slot, const Send &send)
{
	size_t cost = send.n + kEagerCost;

	head.nbytes = send.n;
	head.eager = slot->sends.empty() && send.n <= kEager &&
		     eager_ + cost <= kEagerCredit;
	send.owner->begun();
	if (head.eager) {
		eager_ += cost;
		slot->eager.push_back(cost);
		post(head, send.from, send.n);
		send.owner->sent(rank_);
	} else {
		slot->sends.push_back(send);
		post(head, nullptr, 0);
	}
}

void Link::send(Completion *owner, uint64_t slot, const char *from, size_t n)
{
	Envelope head = {};
	Ready ready;

	check();
	Slot &s = slots_[slot];
	head.type = kSend;
	head.slot = slot;
	head.seen = next_in_;
	if (s.readies.empty()) {
		announce(head, &s, { owner, from, n });
	} else {
		ready = s.readies.front();
		s.readies.pop_front();
		owner->begun();
		start({ owner, from, n }, ready);
	}
	tidy(slot);
	flush();
}

void Link::write(Completion *owner, uint64_t slot, const char *from, size_t n,
		 size_t offset)
{
	Envelope head = {};

	check();
	head.type = kWrite;
	head.slot = slot;
	head.offset = offset;
	announce(head, &writes_[slot], { owner, from, n });
	flush();
}

void Link::start(const Send &send, const Ready &ready)
{
	Envelope head = {};

	transfers_.push_back({ send.owner, send.from, send.n, 0, ready.id });
	if (send.n > ready.n) {
		fail("rank " + std::to_string(group_->rank) + " sends " +
		     std::to_string(send.n) + " bytes where rank " +
		     std::to_string(rank_) + " expects " +
		     std::to_string(ready.n));
		return;
	}
	if (send.n == ready.n)
		return;
	head.type = kShort;
	head.id = ready.id;
	head.nbytes = send.n;
	post(head, nullptr, 0);
}

void Link::on_ready(const Envelope &e, Slot *slot)
{
	if (!slot->eager.empty()) {
		eager_ -= slot->eager.front();
		slot->eager.pop_front();
	} else if (!slot->sends.empty()) {
		Send send = slot->sends.front();

		slot->sends.pop_front();
		start(send, { e.id, e.nbytes });
	} else {
		slot->readies.push_back({ e.id, e.nbytes });
	}
}

/* --- receiving */

/* Return: the number of a new receive; the peer is told that we are ready */
uint32_t Link::expect(Type type, uint64_t slot, Completion *owner, char *to,
		      size_t n)
{
	uint32_t id = next_recv_++;
	Envelope head = {};
	Recv r = {};

	head.type = type;
	head.slot = slot;
	head.id = id;
	head.nbytes = n;
	owner->begun();
	r.owner = owner;
	r.slot = slot;
	r.to = to;
	r.want = n;
	r.write = type == kReadyWrite;
	r.ready = post(head, nullptr, 0);
	recvs_[id] = r;
	(r.write ? writes_ : slots_)[slot].recvs.push_back(id);
	return id;
}

void Link::recv(Completion *owner, uint64_t slot, char *to, size_t n)
{
	bool offered = offers(slot);
	Offer offer;
	uint32_t id;

	if (!offered)
		check();
	id = expect(kReady, slot, owner, to, n);
	if (offered) {
		offer = std::move(slots_[slot].offers.front());
		slots_[slot].offers.pop_front();
		meet(id, offer);
	}
	flush();
}

/* The peer may have gone, but what it had sent with an offer is here */
bool Link::offers(uint64_t slot) const
{
	auto i = slots_.find(slot);

	return i != slots_.end() && !i->second.offers.empty();
}

bool Link::broken() const
{
	return state_ >= kClosing;
}

/* Its send has been announced, and may be here */
void Link::meet(uint32_t id, const Offer &offer)
{
	Recv &r = recvs_[id];

	r.met = true;
	if (!offer.head.eager)
		return;
	if (offer.bytes.size() > r.want) {
		fail("rank " + std::to_string(rank_) + " sent " +
		     std::to_string(offer.bytes.size()) + " bytes where rank " +
		     std::to_string(group_->rank) + " expects " +
		     std::to_string(r.want));
		return;
	}
	if (r.owner && !offer.bytes.empty())
		memcpy(r.to, offer.bytes.data(), offer.bytes.size());
	finish(id);
}

/* Gloo has several receives into parts of one buffer, and takes the first that
 * is over for the first that was posted. So in a slot they end in that order.
 */
void Link::finish(uint32_t id)
{
	uint64_t slot = recvs_[id].slot;
	auto &queue = (recvs_[id].write ? writes_ : slots_)[slot].recvs;

	recvs_[id].met = recvs_[id].over = true;
	while (!queue.empty() && recvs_[queue.front()].over) {
		Completion *owner = recvs_[queue.front()].owner;

		recvs_.erase(queue.front());
		queue.pop_front();
		if (owner)
			owner->received(rank_);
	}
	tidy(slot);
}

/* The first receive in the slot for which this can be, see wire.h */
void Link::on_send(Offer &&offer)
{
	const Envelope &e = offer.head;
	std::deque<uint32_t> queue = slots_[e.slot].recvs;
	uint32_t id;

	for (uint32_t i : queue) {
		const Recv &r = recvs_[i];

		if (!r.met && r.ready >= e.seen) {
			meet(i, offer);
			return;
		}
	}
	if (wanted_by_any(e, &id))
		meet(id, offer);
	else
		slots_[e.slot].offers.push_back(std::move(offer));
}

/* A receive from any of some ranks becomes one from this rank */
bool Link::wanted_by_any(const Envelope &e, uint32_t *id)
{
	auto &any = group_->any;
	auto i = std::find_if(any.begin(), any.end(), [&](const AnyRecv &a) {
		return a.slot == e.slot &&
		       std::count(a.from.begin(), a.from.end(), rank_);
	});

	if (i == any.end())
		return false;
	AnyRecv a = *i;
	any.erase(i);
	*id = expect(kReady, e.slot, a.owner, a.to, a.nbytes);
	a.owner->moved();
	return true;
}

void Link::on_short(const Envelope &e)
{
	auto i = recvs_.find(e.id);

	if (i == recvs_.end() || e.nbytes > i->second.want)
		return;
	i->second.want = e.nbytes;
	if (i->second.pieces && i->second.got == e.nbytes)
		finish(e.id);
}

/* --- bound buffers */

void Link::open_buffer(Completion *owner, uint64_t slot, char *to, size_t n)
{
	if (writes_[slot].offers.empty())
		check();
	bound_[slot] = { owner, to, n };
	std::deque<Offer> offers = std::move(writes_[slot].offers);
	writes_[slot].offers.clear();
	for (const Offer &offer : offers)
		take_write(offer);
	tidy(slot);
	flush();
}

void Link::close_buffer(uint64_t slot)
{
	bound_.erase(slot);
}

void Link::take_write(const Offer &offer)
{
	const Envelope &e = offer.head;
	auto i = bound_.find(e.slot);
	uint32_t id;

	if (i == bound_.end()) {
		writes_[e.slot].offers.push_back(offer);
		return;
	}
	const Bound &b = i->second;
	if (e.offset > b.size || e.nbytes > b.size - e.offset) {
		fail("rank " + std::to_string(rank_) + " writes beyond a buffer of rank " +
		     std::to_string(group_->rank));
		return;
	}
	id = expect(kReadyWrite, e.slot, b.owner, b.to + e.offset, e.nbytes);
	meet(id, offer);
}

/* --- the end */

/* A receive that is given up still takes the message that was to be its own,
 * or a later one would get it. A send that has begun cannot be given up.
 */
void Link::cancel(Completion *owner)
{
	auto is_its = [owner](const auto &op) { return op.owner == owner; };
	bool begun = false;

	for (auto &i : recvs_)
		if (is_its(i.second))
			i.second.owner = nullptr;
	for (auto *slots : { &slots_, &writes_ }) {
		for (auto &i : *slots) {
			auto &sends = i.second.sends;

			sends.erase(std::remove_if(sends.begin(), sends.end(), is_its),
				    sends.end());
		}
	}
	for (Transfer &t : transfers_) {
		if (!is_its(t))
			continue;
		t.owner = nullptr;
		begun = true;
	}
	if (begun)
		fail("rank " + std::to_string(group_->rank) + " gave up a send");
}

/* Up to the first of which the bytes will not come any more */
void Link::keep_eager(Slot *slot)
{
	std::deque<Offer> kept;

	for (Offer &offer : slot->offers) {
		if (!offer.head.eager)
			break;
		kept.push_back(std::move(offer));
	}
	*slot = Slot();
	slot->offers = std::move(kept);
}

/* Sends of the peer that are here stay; whoever failed himself has no use for
 * them, but one that has gone had perhaps finished.
 */
void Link::fail_operations(const std::string &why)
{
	auto recvs = std::move(recvs_);
	auto transfers = std::move(transfers_);
	auto bound = std::move(bound_);
	std::vector<Completion *> owners;

	for (auto *slots : { &slots_, &writes_ }) {
		for (auto i = slots->begin(); i != slots->end();) {
			Slot &s = i->second;

			for (const Send &send : s.sends)
				owners.push_back(send.owner);
			keep_eager(&s);
			i = s.offers.empty() ? slots->erase(i) : std::next(i);
		}
	}
	recvs_.clear();
	transfers_.clear();
	bound_.clear();
	for (auto &i : recvs)
		owners.push_back(i.second.owner);
	for (const Transfer &t : transfers)
		owners.push_back(t.owner);
	for (auto &i : bound) {
		i.second.owner->begun();
		owners.push_back(i.second.owner);
	}
	for (Completion *owner : owners)
		if (owner)
			owner->failed(why);
}

/* Receives from any of some ranks, all of which are gone */
void Link::fail_any(const std::string &why)
{
	auto gone = [this](int rank) {
		return !group_->links[rank] || group_->links[rank]->broken();
	};
	auto &any = group_->any;

	for (auto i = any.begin(); i != any.end();) {
		if (std::all_of(i->from.begin(), i->from.end(), gone)) {
			i->owner->failed(why);
			i = any.erase(i);
		} else {
			++i;
		}
	}
}

void Link::fail(const std::string &why)
{
	Envelope head = {};

	if (state_ >= kClosing)
		return;
	head.type = kFailed;
	post(head, why.data(), std::min<size_t>(why.size(), 512));
	start_closing(why);
}

void Link::close()
{
	if (state_ < kClosing)
		start_closing(name() + " has been closed");
}

void Link::start_closing(const std::string &why)
{
	state_ = kClosing;
	why_ = why;
	fail_operations(why);
	fail_any(why);
	slots_.clear();
	writes_.clear();
	if (fd_ < 0)
		end();
	else
		flush();
}

} // namespace gloo::transport::dlcp

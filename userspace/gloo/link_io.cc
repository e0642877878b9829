// SPDX-License-Identifier: LGPL-2.1-or-later
/* A link's messages: from the kernel to whom they are for, and back. */
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <gloo/common/error.h>

#include "device.h"
#include "link.h"

namespace gloo::transport::dlcp {

Link::~Link()
{
	dlcp_receipt_free(&receipt_);
}

/* A silent peer is dead after half the timeout, and asked before that */
void Link::set_options()
{
	int64_t half = group_->timeout.count() / 2;
	uint32_t dead = std::clamp<int64_t>(half ? half : 3600000, 100, 3600000);
	uint32_t alive = std::max(dead / 2, 100U);
	int room = 0, on = 1;
	socklen_t len = sizeof(room);

	setsockopt(fd_, SOL_DLCP, DLCP_DEAD_MS, &dead, sizeof(dead));
	setsockopt(fd_, SOL_DLCP, DLCP_KEEPALIVE_MS, &alive, sizeof(alive));
	setsockopt(fd_, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	if (!getsockopt(fd_, SOL_SOCKET, SO_SNDBUF, &room, &len) &&
	    room < static_cast<int>(4 * kPiece))
		dlcp_set_buffers(fd_, 4 * kPiece, 0);
}

void Link::attach(int fd)
{
	std::lock_guard<std::mutex> guard(group_->lock);

	if (state_ != kConnecting) {
		::close(fd);
		return;
	}
	fd_ = fd;
	set_options();
	watch_ = device_->watch(fd, shared_from_this());
	if (watch_) {
		state_ = kOpen;
		flush();
	} else {
		lost(strerror(errno));
	}
	attached_.notify_all();
}

void Link::wait_attached()
{
	std::unique_lock<std::mutex> guard(group_->lock);
	auto over = [this] { return state_ != kConnecting; };

	if (group_->timeout == kNoTimeout)
		attached_.wait(guard, over);
	else if (!attached_.wait_for(guard, group_->timeout, over))
		GLOO_THROW_IO_EXCEPTION("Gloo over DLCP: rank ", rank_,
					" did not connect to rank ", group_->rank,
					" within ", group_->timeout.count(), " ms");
	check();
}

void Link::handle()
{
	std::lock_guard<std::mutex> guard(group_->lock);

	try {
		drain();
		flush();
	} catch (const std::exception &e) {	/* no memory */
		fail(e.what());
	}
}

bool Link::arrived()
{
	std::lock_guard<std::mutex> guard(group_->lock);
	int left = 0;

	if (fd_ < 0)
		return true;
	return out_.empty() && (ioctl(fd_, SIOCOUTQ, &left) || !left);
}

void Link::abandon()
{
	std::lock_guard<std::mutex> guard(group_->lock);

	if (fd_ >= 0)
		::close(fd_);
	fd_ = -1;
	state_ = kClosed;
}

/* The connection is no more */
void Link::lost(const std::string &why)
{
	if (state_ < kClosing) {
		state_ = kClosing;
		why_ = name() + ": " + why;
		fail_operations(why_);
		fail_any(why_);
	}
	end();
}

void Link::end()
{
	state_ = kClosed;
	out_.clear();
	early_.clear();
	if (fd_ < 0)
		return;
	device_->unwatch(fd_, watch_);
	::close(fd_);
	fd_ = -1;
}

/* --- out */

/* Return: the number of the envelope */
uint64_t Link::post(const Envelope &head, const void *bytes, size_t n)
{
	Out out = { next_out_++, std::vector<char>(sizeof(head) + n) };

	if (state_ == kClosed)
		return out.nr;
	memcpy(out.bytes.data(), &head, sizeof(head));
	if (n)
		memcpy(out.bytes.data() + sizeof(head), bytes, n);
	out_.push_back(std::move(out));
	return out_.back().nr;
}

/* Return: false if there is no room now, or the connection is lost */
bool Link::put(uint64_t key, const void *bytes, size_t n, uint8_t prio)
{
	struct dlcp_send msg = {};

	msg.buf = bytes;
	msg.len = n;
	msg.flags = MSG_DONTWAIT;
	msg.attr.mask = DLCP_ATTR_KEY | DLCP_ATTR_PRIO | DLCP_ATTR_LOSS;
	msg.attr.key = key;
	msg.attr.prio = prio;
	if (dlcp_send(fd_, &msg) >= 0)
		return true;
	if (errno == EAGAIN || errno == ENOBUFS)
		device_->blocked(watch_);
	else if (errno != EPIPE || state_ != kClosing)
		lost(dlcp_last_error());
	return false;
}

/* Return: as put() */
bool Link::put_piece(Transfer *t)
{
	size_t n = std::min(t->n - t->done, kPiece);

	if (!put(data_key(t->id, t->done / kPiece), t->from + t->done, n,
		 DLCP_PRIO_DEFAULT))
		return false;
	t->done += n;
	return true;
}

/* Envelopes go before pieces: they are short, and somebody waits for them */
void Link::flush()
{
	if (fd_ < 0)
		return;
	while (!out_.empty()) {
		const Out &out = out_.front();

		if (!put(kEnvelope | out.nr, out.bytes.data(), out.bytes.size(), 0))
			return;
		out_.pop_front();
	}
	while (!transfers_.empty()) {
		if (!put_piece(&transfers_.front()))
			return;
		Transfer t = transfers_.front();
		if (t.done < t.n)
			continue;
		transfers_.pop_front();
		t.owner->sent(rank_);
	}
	if (state_ == kClosing && !shut_) {
		shut_ = true;
		shutdown(fd_, SHUT_WR);
	}
}

/* --- in */

/* Return: bytes, or -1: no more now, or the connection is lost */
ssize_t Link::take(const struct dlcp_want &want, void *to, size_t n)
{
	ssize_t ret = dlcp_recv(fd_, &want, to, n, MSG_DONTWAIT, &receipt_);

	if (ret >= 0 && !receipt_.eof)
		return ret;
	/* EBUSY: a part of a message is in scratch_; it comes first */
	if (ret < 0 && (errno == EAGAIN || errno == EBUSY))
		return -1;
	lost(ret < 0 ? dlcp_last_error() : "closed by the other side");
	return -1;
}

void Link::drain()
{
	const struct dlcp_want drop = { 0, DLCP_WANT_DISCARD, 0 };
	bool more = true;
	uint64_t key;
	ssize_t n;

	while (more && fd_ >= 0 && state_ == kOpen) {
		n = dlcp_peek(fd_, DLCP_ANY, MSG_DONTWAIT, &receipt_);
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0 || receipt_.eof) {
			lost(n < 0 ? dlcp_last_error() : "closed by the other side");
			return;
		}
		key = receipt_.msg.key;
		if ((key & kKindMask) == kEnvelope)
			more = take_envelope(key & ~kKindMask, n);
		else if ((key & kKindMask) == kData)
			more = take_data(key, n);
		else
			fail("rank " + std::to_string(rank_) + " does not speak our language");
	}
	while (fd_ >= 0 && state_ == kClosing)
		if (take(drop, nullptr, 0) < 0)
			return;
}

/* Return: false if it could not be taken now */
bool Link::take_data(uint64_t key, size_t n)
{
	uint32_t id = key >> 24;
	size_t at = (key & 0xffffff) * kPiece;
	auto i = recvs_.find(id);
	struct dlcp_want want = dlcp_want_key(key);

	if (i != recvs_.end() && (i->second.over || at > i->second.want || n > i->second.want - at)) {
		fail("rank " + std::to_string(rank_) + " sent more than was wanted");
		return true;
	}
	if (i == recvs_.end() || !i->second.owner)
		want.flags |= DLCP_WANT_DISCARD;
	if (take(want, i == recvs_.end() ? nullptr : i->second.to + at, n) < 0)
		return false;
	if (i == recvs_.end())
		return true;
	i->second.got += n;
	i->second.pieces++;
	if (i->second.got == i->second.want)
		finish(id);
	return true;
}

/* Likewise. Always into the same place, as a part of one may be there. */
bool Link::take_envelope(uint64_t nr, size_t n)
{
	struct dlcp_want want = dlcp_want_key(kEnvelope | nr);

	scratch_.resize(sizeof(Envelope) + kEager);
	if (n < sizeof(Envelope) || n > scratch_.size()) {
		fail("rank " + std::to_string(rank_) + " sent an envelope of " +
		     std::to_string(n) + " bytes");
		return true;
	}
	if (take(want, scratch_.data(), scratch_.size()) < 0)
		return false;
	early_[nr].assign(scratch_.begin(), scratch_.begin() + n);
	for (auto i = early_.begin(); i != early_.end() && i->first == next_in_ &&
	     state_ == kOpen; i = early_.begin()) {
		std::vector<char> bytes = std::move(i->second);

		early_.erase(i);
		next_in_++;
		process(bytes);
	}
	return true;
}

void Link::process(const std::vector<char> &bytes)
{
	const char *rest = bytes.data() + sizeof(Envelope);
	size_t n = bytes.size() - sizeof(Envelope);
	Offer offer;
	Envelope &e = offer.head;

	memcpy(&e, bytes.data(), sizeof(e));
	offer.bytes.assign(rest, rest + n);
	switch (e.type) {
	case kSend:
		on_send(std::move(offer));
		break;
	case kWrite:
		take_write(offer);
		break;
	case kReady:
		on_ready(e, &slots_[e.slot]);
		break;
	case kReadyWrite:
		on_ready(e, &writes_[e.slot]);
		break;
	case kShort:
		on_short(e);
		break;
	case kFailed:
		fail(std::string(rest, n));
		break;
	default:
		fail("rank " + std::to_string(rank_) + " does not speak our language");
	}
	tidy(e.slot);
}

} // namespace gloo::transport::dlcp

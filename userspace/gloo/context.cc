// SPDX-License-Identifier: LGPL-2.1-or-later
#include "context.h"

#include <algorithm>

#include <gloo/common/error.h>

#include "device.h"
#include "link.h"

namespace gloo::transport::dlcp {

using std::chrono::milliseconds;

/* --- context */

Context::Context(const std::shared_ptr<Device> &device, int rank, int size) :
	::gloo::transport::Context(rank, size),
	group(std::make_shared<Group>(rank, size)), device_(device)
{
}

Context::~Context()
{
	pairs_.clear();		/* they need the device */
}

std::unique_ptr<::gloo::transport::Pair> &Context::createPair(int rank)
{
	{
		auto guard = group->enter();
		group->timeout = getTimeout();
	}
	pairs_[rank] = std::make_unique<Pair>(device_.get(), group, rank);
	return pairs_[rank];
}

std::unique_ptr<::gloo::transport::UnboundBuffer>
Context::createUnboundBuffer(void *ptr, size_t size)
{
	return std::make_unique<UnboundBuffer>(shared_from_this(), ptr, size);
}

/* --- pair */

Pair::Pair(Device *device, const std::shared_ptr<Group> &group, int rank) :
	device_(device), group_(group), rank_(rank),
	self_(device->new_address()),
	link_(std::make_shared<Link>(device, group, rank))
{
	auto guard = group->enter();

	group->links[rank] = link_;
	device->expect(self_.pair, link_);
}

Pair::~Pair()
{
	close();
}

const ::gloo::transport::Address &Pair::address() const
{
	return self_;
}

/* The one with the smaller address is connected to. It waits for that, or it
 * might be gone when others come to connect. Every rank does this in the order
 * of the ranks, so that nobody waits for ever.
 */
void Pair::connect(const std::vector<char> &bytes)
{
	Address peer(bytes);

	group_->enter();
	if (self_.bytes() < bytes) {
		link_->wait_attached();
		return;
	}
	device_->forget(self_.pair);
	link_->attach(device_->connect(peer, group_->timeout));
}

void Pair::close()
{
	if (group_->origin.inherited())
		return;
	device_->forget(self_.pair);
	std::lock_guard<std::mutex> guard(group_->lock);
	link_->close();
	if (group_->links[rank_] == link_)
		group_->links[rank_].reset();
}

bool Pair::isConnected()
{
	auto guard = group_->enter();

	return link_->connected();
}

/* There is no mode in which a thread is not needed */
void Pair::setSync(bool, bool)
{
}

std::unique_ptr<::gloo::transport::Buffer>
Pair::createSendBuffer(int slot, void *ptr, size_t size)
{
	return std::make_unique<Buffer>(group_, link_, slot, ptr, size, false);
}

std::unique_ptr<::gloo::transport::Buffer>
Pair::createRecvBuffer(int slot, void *ptr, size_t size)
{
	return std::make_unique<Buffer>(group_, link_, slot, ptr, size, true);
}

void Pair::send(::gloo::transport::UnboundBuffer *buf, uint64_t slot,
		size_t offset, size_t nbytes)
{
	buf->send(rank_, slot, offset, nbytes);
}

void Pair::recv(::gloo::transport::UnboundBuffer *buf, uint64_t slot,
		size_t offset, size_t nbytes)
{
	buf->recv(rank_, slot, offset, nbytes);
}

/* --- unbound buffer */

UnboundBuffer::UnboundBuffer(const std::shared_ptr<Context> &context, void *ptr,
			     size_t size) :
	::gloo::transport::UnboundBuffer(ptr, size), context_(context),
	completion_(context->group)
{
}

/* With the lock held */
Link *UnboundBuffer::link_of(int rank) const
{
	const auto &links = context_->group->links;

	if (rank < 0 || rank >= static_cast<int>(links.size()) || !links[rank])
		GLOO_THROW_INVALID_OPERATION_EXCEPTION(
			"Gloo over DLCP: rank ", context_->rank,
			" is not connected to rank ", rank);
	return links[rank].get();
}

size_t UnboundBuffer::bytes_at(size_t offset, size_t nbytes) const
{
	if (offset <= size && nbytes == kUnspecifiedByteCount)
		return size - offset;
	if (!nbytes)		/* Gloo has such at any offset */
		return 0;
	if (offset > size || nbytes > size - offset)
		GLOO_THROW_INVALID_OPERATION_EXCEPTION(
			"Gloo over DLCP: ", nbytes, " bytes at ", offset,
			" of a buffer of ", size);
	return nbytes;
}

void UnboundBuffer::send(int to, uint64_t slot, size_t offset, size_t nbytes)
{
	auto guard = context_->group->enter();

	link_of(to)->send(&completion_, slot, static_cast<char *>(ptr) + offset,
			  bytes_at(offset, nbytes));
}

void UnboundBuffer::recv(int from, uint64_t slot, size_t offset, size_t nbytes)
{
	auto guard = context_->group->enter();

	link_of(from)->recv(&completion_, slot, static_cast<char *>(ptr) + offset,
			    bytes_at(offset, nbytes));
}

/* From one whose send is waiting, or else from the first whose send comes.
 * PyTorch has ourselves among them, to no effect.
 */
void UnboundBuffer::recv(std::vector<int> from, uint64_t slot, size_t offset,
			 size_t nbytes)
{
	Group &group = *context_->group;
	auto guard = group.enter();
	char *to = static_cast<char *>(ptr) + offset;
	bool some = false;

	nbytes = bytes_at(offset, nbytes);
	from.erase(std::remove(from.begin(), from.end(), context_->rank), from.end());
	for (int rank : from) {
		if (link_of(rank)->offers(slot)) {
			link_of(rank)->recv(&completion_, slot, to, nbytes);
			return;
		}
		some |= !link_of(rank)->broken();
	}
	if (!some)
		GLOO_THROW_IO_EXCEPTION("Gloo over DLCP: rank ", context_->rank,
					" has lost all ranks from which it wants to receive");
	completion_.begun();
	group.any.push_back({ &completion_, slot, to, nbytes, std::move(from) });
}

milliseconds UnboundBuffer::time(milliseconds timeout) const
{
	return timeout == kUnsetTimeout ? context_->getTimeout() : timeout;
}

bool UnboundBuffer::waitRecv(int *rank, milliseconds timeout)
{
	return completion_.wait_recv(rank, time(timeout));
}

bool UnboundBuffer::waitSend(int *rank, milliseconds timeout)
{
	return completion_.wait_send(rank, time(timeout));
}

void UnboundBuffer::abortWaitRecv()
{
	completion_.abort_recv();
}

void UnboundBuffer::abortWaitSend()
{
	completion_.abort_send();
}

/* --- bound buffer */

Buffer::Buffer(const std::shared_ptr<Group> &group,
	       const std::shared_ptr<Link> &link, int slot, void *ptr,
	       size_t size, bool receives) :
	::gloo::transport::Buffer(slot, ptr, size), link_(link),
	receives_(receives), completion_(group)
{
	auto guard = group->enter();

	if (receives)
		link->open_buffer(&completion_, slot, static_cast<char *>(ptr), size);
}

Buffer::~Buffer()
{
	if (completion_.group->origin.inherited())
		return;
	std::lock_guard<std::mutex> guard(completion_.group->lock);

	if (receives_)
		link_->close_buffer(slot_);
}

void Buffer::send(size_t offset, size_t length, size_t roffset)
{
	auto guard = completion_.group->enter();

	if (offset > size_ || length > size_ - offset)
		GLOO_THROW_INVALID_OPERATION_EXCEPTION(
			"Gloo over DLCP: ", length, " bytes at ", offset,
			" of a buffer of ", size_);
	link_->write(&completion_, slot_, static_cast<char *>(ptr_) + offset,
		     length, roffset);
}

void Buffer::waitRecv()
{
	completion_.wait_recv(nullptr, completion_.group->timeout);
}

void Buffer::waitSend()
{
	completion_.wait_send(nullptr, completion_.group->timeout);
}

} // namespace gloo::transport::dlcp

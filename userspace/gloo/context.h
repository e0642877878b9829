/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What Gloo asks of a transport; the work is done by Link and Completion. */
#ifndef GLOO_DLCP_CONTEXT_H
#define GLOO_DLCP_CONTEXT_H

#include <memory>
#include <vector>

#include <gloo/transport/buffer.h>
#include <gloo/transport/context.h>
#include <gloo/transport/pair.h>
#include <gloo/transport/unbound_buffer.h>

#include "address.h"
#include "group.h"

namespace gloo::transport::dlcp {

class Device;

class Context : public ::gloo::transport::Context,
		public std::enable_shared_from_this<Context> {
public:
	Context(const std::shared_ptr<Device> &device, int rank, int size);
	~Context() override;

	std::unique_ptr<::gloo::transport::Pair> &createPair(int rank) override;
	std::unique_ptr<::gloo::transport::UnboundBuffer>
	createUnboundBuffer(void *ptr, size_t size) override;

	const std::shared_ptr<Group> group;

private:
	const std::shared_ptr<Device> device_;
};

class Pair : public ::gloo::transport::Pair {
public:
	Pair(Device *device, const std::shared_ptr<Group> &group, int rank);
	~Pair() override;

	const ::gloo::transport::Address &address() const override;
	void connect(const std::vector<char> &bytes) override;
	void close() override;
	/* Gloo has it since 2025, and needs it then */
	virtual bool isConnected();
	void setSync(bool enable, bool busy_poll) override;
	std::unique_ptr<::gloo::transport::Buffer>
	createSendBuffer(int slot, void *ptr, size_t size) override;
	std::unique_ptr<::gloo::transport::Buffer>
	createRecvBuffer(int slot, void *ptr, size_t size) override;
	void send(::gloo::transport::UnboundBuffer *buf, uint64_t slot,
		  size_t offset, size_t nbytes) override;
	void recv(::gloo::transport::UnboundBuffer *buf, uint64_t slot,
		  size_t offset, size_t nbytes) override;

private:
	Device *const device_;
	const std::shared_ptr<Group> group_;
	const int rank_;
	const Address self_;
	const std::shared_ptr<Link> link_;
};

class UnboundBuffer : public ::gloo::transport::UnboundBuffer {
public:
	UnboundBuffer(const std::shared_ptr<Context> &context, void *ptr, size_t size);
	~UnboundBuffer() override = default;

	bool waitRecv(int *rank, std::chrono::milliseconds timeout) override;
	bool waitSend(int *rank, std::chrono::milliseconds timeout) override;
	void abortWaitRecv() override;
	void abortWaitSend() override;
	void send(int to, uint64_t slot, size_t offset, size_t nbytes) override;
	void recv(int from, uint64_t slot, size_t offset, size_t nbytes) override;
	void recv(std::vector<int> from, uint64_t slot, size_t offset,
		  size_t nbytes) override;

private:
	Link *link_of(int rank) const;
	size_t bytes_at(size_t offset, size_t nbytes) const;
	std::chrono::milliseconds time(std::chrono::milliseconds timeout) const;

	const std::shared_ptr<Context> context_;
	Completion completion_;
};

/* Gloo's older buffers, bound to a pair: one side writes into the other's */
class Buffer : public ::gloo::transport::Buffer {
public:
	Buffer(const std::shared_ptr<Group> &group, const std::shared_ptr<Link> &link,
	       int slot, void *ptr, size_t size, bool receives);
	~Buffer() override;

	void send(size_t offset, size_t length, size_t roffset) override;
	void waitRecv() override;
	void waitSend() override;

private:
	const std::shared_ptr<Link> link_;
	const bool receives_;
	Completion completion_;
};

} // namespace gloo::transport::dlcp

#endif

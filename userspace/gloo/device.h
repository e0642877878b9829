/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef GLOO_DLCP_DEVICE_H
#define GLOO_DLCP_DEVICE_H

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include <gloo/transport/device.h>

#include "address.h"
#include "group.h"

namespace gloo::transport::dlcp {

class Link;

/*
 * A listening socket, and the thread that reads from and writes to all
 * connections. Its lock is taken after that of a Group, never before.
 */
class Device : public ::gloo::transport::Device,
	       public std::enable_shared_from_this<Device> {
public:
	explicit Device(const attr &attr);
	~Device() override;

	std::string str() const override;
	const std::string &getPCIBusID() const override;
	std::shared_ptr<::gloo::transport::Context>
	createContext(int rank, int size) override;

	/* An address that nobody else has, for a new pair */
	Address new_address() const;

	/* Who says hello for pair @pair is connected to @link */
	void expect(uint64_t pair, const std::shared_ptr<Link> &link);
	void forget(uint64_t pair);

	/* A socket connected to @peer, which knows whom it is for. Throws. */
	int connect(const Address &peer, std::chrono::milliseconds timeout);

	/* Tell @link, in our thread, when there is something to do with @fd.
	 * Return: a number by which to undo it, or 0 and errno.
	 */
	uint64_t watch(int fd, const std::shared_ptr<Link> &link);
	void unwatch(int fd, uint64_t id);

	/* It could not send: try again should the kernel not tell when */
	void blocked(uint64_t id);

	/* Wait until all that was sent has arrived, but not for ever */
	void flush();

	/* Around fork(): nobody changes what follows; the child has no part in it */
	void fork_begins() { lock_.lock(); }
	void fork_ends() { lock_.unlock(); }
	void in_child();

private:
	struct Watched {
		int fd;
		std::shared_ptr<Link> link;
	};
	struct Stranger {
		int fd;
		std::chrono::steady_clock::time_point until;
	};

	void run();
	void handle(uint64_t id, uint32_t events);
	void accept_all();
	void hear(uint64_t id, int fd);
	void send_away(uint64_t id);
	void check_times();
	uint64_t add(int fd);
	int wait_ms();
	bool listen();

	const Origin origin_;
	Address address_;
	int listener_ = -1, epoll_ = -1, wake_ = -1;
	std::unique_ptr<std::thread> thread_;
	bool deaf_ = false;	/* for the thread: no connection could be accepted */

	std::mutex lock_;	/* for what follows */
	bool stop_ = false;
	uint64_t next_id_;
	std::map<uint64_t, Watched> links_;
	std::map<uint64_t, Stranger> strangers_;
	std::map<uint64_t, std::weak_ptr<Link>> expected_;
	std::set<uint64_t> blocked_;
	std::chrono::steady_clock::time_point checked_;	/* the two above */
};

} // namespace gloo::transport::dlcp

#endif

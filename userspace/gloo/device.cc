// SPDX-License-Identifier: LGPL-2.1-or-later
#include "device.h"

#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <list>

#include <dlcp.h>
#include <gloo/common/error.h>

#include "context.h"
#include "link.h"
#include "wire.h"

namespace gloo::transport::dlcp {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/* epoll's numbers; those above are of connections */
enum : uint64_t { kWake, kListener, kFirst };

/* A stranger may take so long to say hello */
constexpr milliseconds kHelloTime{10000};
/* How often it is tried to send where the kernel may not tell us */
constexpr int kRetryMs = 100;
constexpr size_t kMaxStrangers = 1024;
/* In the end, for what was sent to arrive */
constexpr milliseconds kFlushTime{10000};

/* Never destroyed: devices may live longer than what is static */
static std::mutex &all_lock = *new std::mutex;
static std::list<Device *> &all = *new std::list<Device *>;

std::atomic<unsigned> forks;

static void fork_begins()
{
	all_lock.lock();
	for (Device *device : all)
		device->fork_begins();
}

static void fork_ends()
{
	for (Device *device : all)
		device->fork_ends();
	all_lock.unlock();
}

/* Whoever waits for the parent's connections to end shall not wait for its children */
static void in_child()
{
	forks++;
	for (Device *device : all) {
		device->in_child();
		device->fork_ends();
	}
	all.clear();
	all_lock.unlock();
}

static void watch_forks()
{
	static const int err = pthread_atfork(fork_begins, fork_ends, in_child);

	static_cast<void>(err);
}

/* A program may end with its devices alive; what it sent shall arrive */
static struct AtExit {
	~AtExit()
	{
		std::lock_guard<std::mutex> guard(all_lock);

		for (Device *device : all)
			device->flush();
	}
} at_exit;

std::shared_ptr<::gloo::transport::Device> CreateDevice(const attr &attr)
{
	return std::make_shared<Device>(attr);
}

static void give_up(const char *what)
{
	if (errno == ESOCKTNOSUPPORT || errno == EPROTONOSUPPORT)
		GLOO_THROW_IO_EXCEPTION("Gloo over DLCP: ", dlcp_last_error(),
					"; all hosts need it. To go without, choose another GLOO_DEVICE_TRANSPORT, as TCP");
	GLOO_THROW_IO_EXCEPTION("Gloo over DLCP: ", what, ": ", dlcp_last_error());
}

Device::Device(const attr &attr) : next_id_(kFirst)
{
	socklen_t len;
	sigset_t all_signals, old;

	address_ = find_address(attr);
	listener_ = dlcp_listen(address_.host().c_str(), "0", 0);
	if (listener_ < 0)
		give_up(("listening at " + address_.host()).c_str());
	len = sizeof(address_.where);
	epoll_ = epoll_create1(EPOLL_CLOEXEC);
	wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct epoll_event wake = {};
	wake.events = EPOLLIN;
	wake.data.u64 = kWake;
	if (getsockname(listener_, &address_.where.any, &len) || epoll_ < 0 ||
	    wake_ < 0 || !listen() ||
	    epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &wake)) {
		int err = errno;

		close(listener_);
		close(epoll_);
		close(wake_);
		GLOO_THROW_IO_EXCEPTION("Gloo over DLCP: ", strerror(err));
	}
	sigfillset(&all_signals);
	pthread_sigmask(SIG_SETMASK, &all_signals, &old);
	thread_ = std::make_unique<std::thread>(&Device::run, this);
	pthread_sigmask(SIG_SETMASK, &old, nullptr);
	watch_forks();
	std::lock_guard<std::mutex> guard(all_lock);
	all.push_back(this);
}

/* Contexts keep their device, so all pairs have been closed */
Device::~Device()
{
	if (origin_.inherited()) {
		/* It does not run here, and cannot be joined */
		static_cast<void>(thread_.release());
		return;
	}
	{
		std::lock_guard<std::mutex> guard(all_lock);
		all.remove(this);
	}
	flush();
	{
		std::lock_guard<std::mutex> guard(lock_);
		stop_ = true;
	}
	eventfd_write(wake_, 1);
	thread_->join();
	for (auto &i : strangers_)
		close(i.second.fd);
	for (auto &i : links_)
		i.second.link->abandon();
	close(listener_);
	close(epoll_);
	close(wake_);
}

void Device::in_child()
{
	for (auto &i : strangers_)
		close(i.second.fd);
	for (auto &i : links_)
		close(i.second.fd);
	close(listener_);
	close(epoll_);
	close(wake_);
}

std::string Device::str() const
{
	return "dlcp://" + address_.str();
}

const std::string &Device::getPCIBusID() const
{
	static const std::string unknown;

	return unknown;
}

std::shared_ptr<::gloo::transport::Context>
Device::createContext(int rank, int size)
{
	return std::make_shared<Context>(shared_from_this(), rank, size);
}

Address Device::new_address() const
{
	Address a = address_;

	if (getrandom(&a.pair, sizeof(a.pair), 0) != sizeof(a.pair))
		GLOO_THROW_IO_EXCEPTION("getrandom: ", strerror(errno));
	return a;
}

void Device::expect(uint64_t pair, const std::shared_ptr<Link> &link)
{
	std::lock_guard<std::mutex> guard(lock_);

	expected_[pair] = link;
}

void Device::forget(uint64_t pair)
{
	std::lock_guard<std::mutex> guard(lock_);

	expected_.erase(pair);
}

int Device::connect(const Address &peer, milliseconds timeout)
{
	int fd = dlcp_socket(peer.where.any.sa_family);
	int ms = timeout.count() > 0 ? static_cast<int>(timeout.count()) : -1;
	Hello hello = { kMagic, peer.pair };
	Address from = address_;
	struct dlcp_send msg = {};

	if (fd < 0)
		give_up("connecting");
	msg.buf = &hello;
	msg.len = sizeof(hello);
	msg.attr.mask = DLCP_ATTR_KEY | DLCP_ATTR_PRIO;
	msg.attr.key = kHello;
	from.set_port(0);
	/* through the network that was chosen; errno is bind()'s if it fails */
	if (from.where.any.sa_family == peer.where.any.sa_family &&
	    bind(fd, from.sockaddr(), from.length())) {
		int err = errno;

		close(fd);
		GLOO_THROW_IO_EXCEPTION("Gloo over DLCP: the address ", from.host(), " cannot be used any more (", strerror(err),
					"): 'ip -br address' lists those that this host has");
	}
	if (dlcp_connect_fd(fd, peer.sockaddr(), peer.length(), ms) ||
	    dlcp_send(fd, &msg) < 0) {
		close(fd);
		give_up(("connecting to " + peer.str()).c_str());
	}
	return fd;
}

/* Edges only: who is told takes all there is. Return: its number, 0 for none */
uint64_t Device::add(int fd)
{
	struct epoll_event event = {};

	event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
	event.data.u64 = next_id_++;
	return epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) ? 0 : event.data.u64;
}

uint64_t Device::watch(int fd, const std::shared_ptr<Link> &link)
{
	std::lock_guard<std::mutex> guard(lock_);
	uint64_t id = add(fd);

	if (id)
		links_[id] = { fd, link };
	return id;
}

void Device::unwatch(int fd, uint64_t id)
{
	std::lock_guard<std::mutex> guard(lock_);

	epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
	links_.erase(id);
	blocked_.erase(id);
}

void Device::blocked(uint64_t id)
{
	std::lock_guard<std::mutex> guard(lock_);

	if (blocked_.insert(id).second && blocked_.size() == 1)
		eventfd_write(wake_, 1);
}

void Device::flush()
{
	auto until = steady_clock::now() + kFlushTime;
	std::map<uint64_t, Watched> links;

	{
		std::lock_guard<std::mutex> guard(lock_);
		links = links_;
	}
	for (auto &i : links)
		while (!i.second.link->arrived() && steady_clock::now() < until)
			std::this_thread::sleep_for(milliseconds(1));
}

/* --- the thread */

int Device::wait_ms()
{
	std::lock_guard<std::mutex> guard(lock_);

	return blocked_.empty() && strangers_.empty() && !deaf_ ? -1 : kRetryMs;
}

void Device::run()
{
	struct epoll_event events[64];
	eventfd_t value;
	int i, n;

	for (;;) {
		n = epoll_wait(epoll_, events, 64, wait_ms());
		for (i = 0; i < n; i++) {
			if (events[i].data.u64 == kWake)
				eventfd_read(wake_, &value);
			else if (events[i].data.u64 == kListener)
				accept_all();
			else
				handle(events[i].data.u64, events[i].events);
		}
		check_times();
		std::lock_guard<std::mutex> guard(lock_);
		if (stop_)
			return;
	}
}

void Device::handle(uint64_t id, uint32_t events)
{
	std::shared_ptr<Link> link;
	int fd = -1;

	{
		std::lock_guard<std::mutex> guard(lock_);
		auto l = links_.find(id);
		auto s = strangers_.find(id);

		if (events & EPOLLOUT)
			blocked_.erase(id);
		if (l != links_.end())
			link = l->second.link;
		else if (s != strangers_.end())
			fd = s->second.fd;
	}
	if (link)
		link->handle();
	else if (fd >= 0)
		hear(id, fd);
}

bool Device::listen()
{
	struct epoll_event event = {};

	event.events = EPOLLIN;
	event.data.u64 = kListener;
	return !epoll_ctl(epoll_, EPOLL_CTL_ADD, listener_, &event);
}

void Device::accept_all()
{
	int fd;

	while ((fd = dlcp_accept(listener_, 0)) >= 0) {
		std::lock_guard<std::mutex> guard(lock_);
		uint64_t id = strangers_.size() < kMaxStrangers ? add(fd) : 0;

		if (id)
			strangers_[id] = { fd, steady_clock::now() + kHelloTime };
		else
			close(fd);
	}
	if (errno == ETIMEDOUT)
		return;
	/* Without a file or memory for it a connection stays ready, and epoll would not wait. A
	 * listener that was ended has none any more.
	 */
	deaf_ = errno != EINVAL;
	epoll_ctl(epoll_, EPOLL_CTL_DEL, listener_, nullptr);
}

/* What else it may have sent waits until it is known whose it is */
void Device::hear(uint64_t id, int fd)
{
	struct dlcp_receipt receipt = {};
	struct dlcp_want want = dlcp_want_key(kHello);
	std::shared_ptr<Link> link;
	Hello hello;
	ssize_t n;

	n = dlcp_recv(fd, &want, &hello, sizeof(hello), MSG_DONTWAIT, &receipt);
	dlcp_receipt_free(&receipt);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n == sizeof(hello) && hello.magic == kMagic) {
		std::lock_guard<std::mutex> guard(lock_);
		auto i = expected_.find(hello.pair);

		if (i != expected_.end())
			link = i->second.lock();
		if (link) {
			expected_.erase(i);
			strangers_.erase(id);
			epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
		}
	}
	if (link)
		link->attach(fd);
	else
		send_away(id);
}

void Device::send_away(uint64_t id)
{
	std::lock_guard<std::mutex> guard(lock_);
	auto i = strangers_.find(id);

	if (i == strangers_.end())
		return;
	close(i->second.fd);
	strangers_.erase(i);
}

void Device::check_times()
{
	std::list<uint64_t> late, again;

	{
		std::lock_guard<std::mutex> guard(lock_);
		steady_clock::time_point now;

		if (blocked_.empty() && strangers_.empty() && !deaf_)
			return;
		now = steady_clock::now();
		if (now - checked_ < milliseconds(kRetryMs))
			return;
		checked_ = now;
		if (deaf_)
			deaf_ = !listen();
		for (auto &i : strangers_)
			if (now > i.second.until)
				late.push_back(i.first);
		again.assign(blocked_.begin(), blocked_.end());
		blocked_.clear();
	}
	for (uint64_t id : late)
		send_away(id);
	for (uint64_t id : again)
		handle(id, 0);
}

} // namespace gloo::transport::dlcp

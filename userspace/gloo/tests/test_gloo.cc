// SPDX-License-Identifier: GPL-2.0
/*
 * Gloo over DLCP. Every rank is a process, over loopback. Without the kernel
 * module only the refusal is tested; all of it in the lab:
 * selftests/vm/lab -- userspace/gloo/tests/run
 */
#include <sched.h>
#include <sys/mman.h>

#include <cstring>
#include <numeric>
#include <thread>

#include <gloo/allgather.h>
#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/allreduce_ring.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/scatter.h>

#include "ranks.h"

/* --- collectives */

static float value(int rank, size_t i)
{
	return static_cast<float>(static_cast<int>(i % 61) - 30 + rank);
}

/* const: to assign it must not move the buffer */
static const std::vector<float> input(int rank, size_t n)
{
	std::vector<float> x(n);

	for (size_t i = 0; i < n; i++)
		x[i] = value(rank, i);
	return x;
}

static bool is_sum(const std::vector<float> &x, int world)
{
	float ranks = static_cast<float>(world * (world - 1) / 2);

	for (size_t i = 0; i < x.size(); i++)
		if (x[i] != static_cast<float>(world) * value(0, i) + ranks)
			return false;
	return true;
}

static void sum(void *c, const void *a, const void *b, size_t n)
{
	gloo::sum<float>(c, a, b, n);
}

static void barrier(const Ctx &ctx, uint32_t tag)
{
	gloo::BarrierOptions options(ctx);

	options.setTag(tag);
	gloo::barrier(options);
}

static void all_reduce(const Ctx &ctx, size_t n, uint32_t tag,
		       gloo::AllreduceOptions::Algorithm algorithm)
{
	auto x = input(ctx->rank, n);
	gloo::AllreduceOptions options(ctx);

	options.setOutput(x.data(), n);
	options.setReduceFunction(sum);
	options.setAlgorithm(algorithm);
	options.setTag(tag);
	gloo::allreduce(options);
	NEED(is_sum(x, ctx->size));
}

static void reduce(const Ctx &ctx, size_t n, uint32_t tag)
{
	auto x = input(ctx->rank, n);
	std::vector<float> out(n);
	gloo::ReduceOptions options(ctx);

	options.setInput(x.data(), n);
	options.setOutput(out.data(), n);
	options.setReduceFunction(sum);
	options.setRoot(1);
	options.setTag(tag);
	gloo::reduce(options);
	NEED(ctx->rank != 1 || is_sum(out, ctx->size));
}

static void broadcast(const Ctx &ctx, size_t n, uint32_t tag)
{
	auto x = input(ctx->rank, n);
	gloo::BroadcastOptions options(ctx);

	options.setOutput(x.data(), n);
	options.setRoot(2);
	options.setTag(tag);
	gloo::broadcast(options);
	NEED(x == input(2, n));
}

static void all_gather(const Ctx &ctx, size_t n, uint32_t tag)
{
	auto x = input(ctx->rank, n);
	std::vector<float> out(n * ctx->size);
	gloo::AllgatherOptions options(ctx);

	options.setInput(x.data(), n);
	options.setOutput(out.data(), out.size());
	options.setTag(tag);
	gloo::allgather(options);
	for (size_t i = 0; i < out.size(); i++)
		NEED(out[i] == value(static_cast<int>(i / n), i % n));
}

/* Rank r has n + r elements */
static void all_gatherv(const Ctx &ctx, size_t n, uint32_t tag)
{
	auto x = input(ctx->rank, n + ctx->rank);
	std::vector<size_t> counts(ctx->size);
	std::vector<float> out;
	gloo::AllgathervOptions options(ctx);

	std::iota(counts.begin(), counts.end(), n);
	out.resize(std::accumulate(counts.begin(), counts.end(), size_t(0)));
	options.setInput(x.data(), x.size());
	options.setOutput(out.data(), counts);
	options.setTag(tag);
	gloo::allgatherv(options);
	const float *at = out.data();
	for (int rank = 0; rank < ctx->size; at += n + rank++)
		NEED(std::equal(at, at + n + rank, input(rank, n + rank).begin()));
}

static void gather(const Ctx &ctx, size_t n, uint32_t tag)
{
	auto x = input(ctx->rank, n);
	std::vector<float> out(ctx->rank ? 0 : n * ctx->size);
	gloo::GatherOptions options(ctx);

	options.setInput(x.data(), n);
	if (!ctx->rank)
		options.setOutput(out.data(), out.size());
	options.setRoot(0);
	options.setTag(tag);
	gloo::gather(options);
	for (size_t i = 0; i < out.size(); i++)
		NEED(out[i] == value(static_cast<int>(i / n), i % n));
}

static void scatter(const Ctx &ctx, size_t n, uint32_t tag)
{
	std::vector<std::vector<float>> parts;
	std::vector<float *> from;
	std::vector<float> out(n);
	gloo::ScatterOptions options(ctx);

	for (int rank = 0; ctx->rank == 1 && rank < ctx->size; rank++)
		parts.push_back(input(rank, n));
	for (auto &part : parts)
		from.push_back(part.data());
	if (ctx->rank == 1)
		options.setInputs(from, n);
	options.setOutput(out.data(), n);
	options.setRoot(1);
	options.setTag(tag);
	gloo::scatter(options);
	NEED(out == input(ctx->rank, n));
}

static void all_to_all(const Ctx &ctx, size_t n, uint32_t tag)
{
	std::vector<float> in(n * ctx->size), out(n * ctx->size);
	gloo::AlltoallOptions options(ctx);

	for (size_t i = 0; i < in.size(); i++)
		in[i] = static_cast<float>(100 * ctx->rank + static_cast<int>(i / n));
	options.setInput(in.data(), in.size());
	options.setOutput(out.data(), out.size());
	options.setTag(tag);
	gloo::alltoall(options);
	for (size_t i = 0; i < out.size(); i++)
		NEED(out[i] == static_cast<float>(100 * (i / n) + ctx->rank));
}

static void collectives(const Ctx &ctx)
{
	uint32_t tag = 1;

	for (size_t n : { 1, 7, 5000, 300001 }) {
		all_reduce(ctx, n, tag++, gloo::AllreduceOptions::Algorithm::RING);
		all_reduce(ctx, n, tag++, gloo::AllreduceOptions::Algorithm::BCUBE);
		reduce(ctx, n, tag++);
		broadcast(ctx, n, tag++);
		all_gather(ctx, n, tag++);
		all_gatherv(ctx, n, tag++);
		gather(ctx, n, tag++);
		scatter(ctx, n, tag++);
		all_to_all(ctx, n, tag++);
		barrier(ctx, tag++);
	}
	for (int i = 0; i < 20; i++) {		/* one tag, again and again */
		all_reduce(ctx, 100, 0, gloo::AllreduceOptions::Algorithm::RING);
		barrier(ctx, 0);
	}
}

/* Gloo's older classes write into bound buffers */
static void bound_buffers(const Ctx &ctx)
{
	for (int count : { 5, 100000 }) {
		auto x = input(ctx->rank, count);
		gloo::AllreduceRing<float> algorithm(ctx, { x.data() }, count);

		for (int round = 0; round < 3; round++) {
			x = input(ctx->rank, count);
			algorithm.run();
			NEED(is_sum(x, ctx->size));
		}
	}
}

/* --- single messages */

/* const: to assign it must not move the buffer */
static const std::vector<int> numbers(size_t n, int first)
{
	std::vector<int> x(n);

	std::iota(x.begin(), x.end(), first);
	return x;
}

/* Many sends of all lengths in two slots, and receives that come early or
 * late: first come, first served
 */
static void order(const Ctx &ctx)
{
	const std::vector<size_t> lengths = { 10, 70000, 0, 3000, 5000, 1, 200000, 4 };
	std::vector<std::vector<int>> data;
	std::vector<std::unique_ptr<gloo::transport::UnboundBuffer>> bufs;
	const int total = 60;
	bool sends = ctx->rank == 0;

	for (int i = 0; i < total; i++) {
		size_t n = lengths[i % lengths.size()];

		data.push_back(sends ? numbers(n, i) : std::vector<int>(n, -1));
	}
	for (auto &x : data)
		bufs.push_back(ctx->createUnboundBuffer(x.data(), 4 * x.size()));
	for (int i = 0; i < total; i++) {
		if (sends)
			bufs[i]->send(1, 5 + i % 2);
		else
			bufs[i]->recv(0, 5 + i % 2);
		if (i % 7 != 3 || (i < 30) == sends)
			continue;
		/* the other side runs ahead now */
		sends ? bufs[i]->waitSend() : bufs[i]->waitRecv();
		bufs[i].reset();
	}
	for (int i = 0; i < total; i++) {
		if (bufs[i])
			sends ? bufs[i]->waitSend() : bufs[i]->waitRecv();
		NEED(data[i] == numbers(data[i].size(), i));
	}
}

/* Two receives into one buffer: the first that is over is the first that was
 * posted, though the second is much shorter
 */
static void same_buffer(const Ctx &ctx)
{
	const size_t n = 300000, few = 10;
	std::vector<int> x(n + few);
	auto buf = ctx->createUnboundBuffer(x.data(), 4 * x.size());

	for (int round = 0; round < 10; round++) {
		if (ctx->rank == 0)
			x = numbers(n + few, round);
		else
			std::fill(x.begin(), x.end(), -1);
		for (int i = 0; ctx->rank && i < 2; i++)
			buf->recv(0, 1, i ? 4 * n : 0, 4 * (i ? few : n));
		barrier(ctx, 0);
		for (int i = 0; !ctx->rank && i < 2; i++)
			buf->send(1, 1, i ? 4 * n : 0, 4 * (i ? few : n));
		for (int i = 0; i < 2; i++) {
			ctx->rank ? buf->waitRecv() : buf->waitSend();
			NEED(x[n - 1] == static_cast<int>(n) - 1 + round);
		}
		NEED(x == numbers(n + few, round));
	}
}

static void from_any(const Ctx &ctx)
{
	std::vector<int> x(100000), seen(ctx->size), from;
	auto buf = ctx->createUnboundBuffer(x.data(), 4 * x.size());
	int rank;

	for (rank = 1; rank < ctx->size; rank++)
		from.push_back(rank);
	for (size_t n : { 5, 100000 }) {
		if (ctx->rank) {
			x = numbers(100000, ctx->rank);
			buf->send(0, n, 0, 4 * n);
			buf->waitSend();
			continue;
		}
		for (int i = 1; i < ctx->size; i++) {
			buf->recv(from, n, 0, 4 * n);
			NEED(buf->waitRecv(&rank));
			seen[rank]++;
			NEED(std::equal(x.begin(), x.begin() + n, numbers(n, rank).begin()));
		}
	}
	for (rank = 1; !ctx->rank && rank < ctx->size; rank++)
		NEED(seen[rank] == 2);
}

/* A send may be shorter than its receive, early or late, but not longer */
static void lengths(const Ctx &ctx)
{
	std::vector<int> x(300000, -1);
	auto buf = ctx->createUnboundBuffer(x.data(), 4 * x.size());
	bool refused = false;

	for (size_t n : { 0, 9, 299999 }) {
		if (ctx->rank) {
			buf->recv(0, 1);
			barrier(ctx, 0);
			buf->waitRecv();
			NEED(std::equal(x.begin(), x.begin() + n, numbers(n, 3).begin()));
		} else {
			x = numbers(x.size(), 3);
			barrier(ctx, 0);
			buf->send(1, 1, 0, 4 * n);
			buf->waitSend();
		}
	}
	try {
		if (ctx->rank) {
			buf->recv(0, 2, 0, 8);
			buf->waitRecv();
		} else {
			buf->send(1, 2, 0, 400000);
			buf->waitSend();
		}
	} catch (const gloo::IoException &e) {
		refused = strstr(e.what(), "400000 bytes where rank 1 expects 8");
	}
	NEED(refused);
}

/* --- what goes wrong */

static void aborted(const Ctx &ctx)
{
	int x = 0;
	auto buf = ctx->createUnboundBuffer(&x, sizeof(x));

	if (!ctx->rank) {
		buf->recv(1, 1);
		std::thread other([&] { buf->abortWaitRecv(); });
		NEED(!buf->waitRecv());
		other.join();
	}
	buf.reset();
	barrier(ctx, 0);	/* the rest goes on */
}

/* Nobody sends: the time is over, and then the pairs are broken everywhere */
static void late(const Ctx &ctx)
{
	int x = 0, failed = 0;
	auto buf = ctx->createUnboundBuffer(&x, sizeof(x));
	auto start = steady_clock::now();

	try {
		if (ctx->rank == 0) {
			buf->recv(1, 1);
			buf->waitRecv(milliseconds(300));
		} else {
			buf->recv(0, 2);
			buf->waitRecv();
		}
	} catch (const gloo::IoException &e) {
		failed = strstr(e.what(), "rank 0: a receive was not over within 300 ms") ? 1 : -1;
	}
	NEED(failed == 1);
	NEED(seconds_since(start) < 20);
	try {
		buf->send(1 - ctx->rank, 3);
	} catch (const gloo::IoException &e) {
		failed++;
	}
	NEED(failed == 2);
}

/* Rank 1 is killed in the middle of many all-reduces */
static void killed(const Ctx &ctx)
{
	auto start = steady_clock::now();
	bool failed = false;

	barrier(ctx, 1);
	try {
		for (int round = 0; ; round++) {
			if (ctx->rank == 1 && round == 3)
				kill(getpid(), SIGKILL);
			all_reduce(ctx, 200000, 2, gloo::AllreduceOptions::Algorithm::RING);
		}
	} catch (const gloo::IoException &e) {
		failed = true;
	}
	NEED(failed);
	NEED(seconds_since(start) * 1000 < static_cast<double>(timeout.count()) + 1000);
}

/* Who has sent may end; what was sent arrives all the same */
static void gone(const Ctx &ctx)
{
	std::vector<int> x = numbers(3000000, ctx->rank);
	auto buf = ctx->createUnboundBuffer(x.data(), 4 * x.size());

	if (ctx->rank) {
		buf->send(0, ctx->rank);
		buf->waitSend();
		exit(0);
	}
	for (int rank = 1; rank < ctx->size; rank++) {
		buf->recv(rank, rank);
		buf->waitRecv();
		NEED(x == numbers(x.size(), rank));
	}
}

static void wrong_calls(const Ctx &ctx)
{
	int x[2] = {}, other = 1 - ctx->rank;
	auto buf = ctx->createUnboundBuffer(x, sizeof(x));
	auto bound = ctx->getPair(other)->createSendBuffer(9, x, sizeof(x));

	NEED(says("is not connected to rank 7", [&] { buf->send(7, 1); }));
	NEED(says("12 bytes at 4 of a buffer of 8", [&] { buf->send(other, 1, 4, 12); }));
	NEED(says("12 bytes at 0 of a buffer of 8", [&] { bound->send(0, 12, 0); }));
	barrier(ctx, 0);
}

/* Rank 1 has left: there is nobody to receive from */
static void all_lost(const Ctx &ctx)
{
	int x = 0;
	auto buf = ctx->createUnboundBuffer(&x, sizeof(x));

	barrier(ctx, 0);
	if (ctx->rank)
		return;
	NEED(says("the connection of rank 0 with rank 1", [&] {
		buf->recv(1, 1);
		buf->waitRecv();
	}));
	NEED(says("has lost all ranks from which it wants to receive", [&] {
		buf->recv(std::vector<int>{ 1 }, 2);
	}));
}

/* While its bytes are on the way, as the other side has been stopped: they are more than the kernel takes */
static void given_up(const Ctx &ctx)
{
	std::vector<char> x(64 << 20);
	pid_t pid = getpid();
	auto buf = ctx->createUnboundBuffer(x.data(), x.size());
	auto about = ctx->createUnboundBuffer(&pid, sizeof(pid));

	if (ctx->rank) {
		buf->recv(0, 1);
		about->send(0, 2);
		NEED(says("rank 0 gave up a send", [&] { buf->waitRecv(); }));
		return;
	}
	about->recv(1, 2);
	about->waitRecv();
	kill(pid, SIGSTOP);
	buf->send(1, 1);
	buf.reset();
	kill(pid, SIGCONT);
}

/* Does a device that cannot be made say so? */
static bool refused(const char *iface, const char *host, const char *words)
{
	return says(words, [&] { wire::CreateDevice({ iface, host }); });
}

/* The one with the smaller address is connected to */
static void gloo_nobody_connects(void)
{
	auto device = own_device();
	auto ctx = device->createContext(0, 2);
	std::vector<char> self, other;

	ctx->setTimeout(milliseconds(200));
	auto &pair = ctx->createPair(1);
	self = pair->address().bytes();
	do
		other = device->new_address().bytes();
	while (!(self < other));
	CHECK(says("rank 1 did not connect to rank 0 within 200 ms", [&] { pair->connect(other); }));
}

/* What rank 0 says when a stranger in the place of rank 1 sends this to it, while it has a receive of
 * 8 bytes, and a buffer 5 of as many
 */
static bool meets(const char *words, uint64_t key, const void *bytes, size_t n)
{
	auto device = own_device(), theirs = own_device();
	auto ctx = device->createContext(0, 2);
	int x[2], fd;
	bool said;

	ctx->setTimeout(milliseconds(20000));
	auto &pair = ctx->createPair(1);
	auto bound = pair->createRecvBuffer(5, x, sizeof(x));
	auto buf = ctx->createUnboundBuffer(x, sizeof(x));

	buf->recv(1, 1);
	fd = theirs->connect(wire::Address(pair->address().bytes()), milliseconds(5000));
	put(fd, key, bytes, n);
	said = says(words, [&] { buf->waitRecv(); });
	close(fd);
	return said;
}

static void gloo_strangers(void)
{
	wire::Envelope unknown = {}, far = {};
	char bytes[100] = "";

	unknown.type = 99;
	far.type = wire::kWrite;
	far.slot = 5;
	far.nbytes = 100;
	CHECK(meets("rank 1 does not speak our language", 5ULL << 60, bytes, 4));
	CHECK(meets("rank 1 does not speak our language", wire::kEnvelope, &unknown, sizeof(unknown)));
	CHECK(meets("rank 1 sent an envelope of 3 bytes", wire::kEnvelope, bytes, 3));
	CHECK(meets("rank 1 sent more than was wanted", wire::data_key(0, 0), bytes, sizeof(bytes)));
	CHECK(meets("rank 1 writes beyond a buffer of rank 0", wire::kEnvelope, &far, sizeof(far)));
}

/* @call in a network namespace of its own, where lo is down. Return: 1 if it fails, 2 if there is none */
static int in_namespace(const std::function<bool()> &call)
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		alarm(kHang);
		status = unshare(CLONE_NEWNET) ? 2 : !call();
		fflush(stdout);
		_exit(status);
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* A namespace that never had one binds to all */
static bool has_none(void)
{
	return !system("ip link set lo up && ip addr flush dev lo") &&
	       refused("", "", "this host has no address, not even 127.0.0.1");
}

static bool loses_its_own(void)
{
	if (system("ip link set lo up"))
		return false;
	auto device = own_device();
	auto peer = device->new_address();

	return !system("ip addr flush dev lo") && says("the address 127.0.0.1 cannot be used any more", [&] {
		device->connect(peer, milliseconds(1000));
	});
}

static void gloo_absent_module(void)
{
	CHECK(refused("", "127.0.0.1", "modprobe dlcp"));
	CHECK(refused("", "127.0.0.1", "; all hosts need it. To go without, choose another GLOO_DEVICE_TRANSPORT, as TCP"));
}

static void gloo_no_address(void)
{
	std::vector<char> tcps(20);

	CHECK(refused("nosuch", "", "interface nosuch does not exist or has no address: 'ip -br address' lists those that have"));
	CHECK(refused("", "192.0.2.1", "192.0.2.1 has no address on this host: set GLOO_SOCKET_IFNAME"));
	try {
		gloo::transport::dlcp::Address other(tcps);

		CHECK(false);
	} catch (const gloo::IoException &e) {
		CHECK(strstr(e.what(), "not the address of a DLCP device: do all ranks use DLCP?"));
	}
	CHECK(in_namespace(has_none) != 1);
}

static void gloo_address_is_lost(void)
{
	CHECK(in_namespace(loses_its_own) != 1);
}

static const struct {
	const char *name;
	int world;
	int bad;	/* ranks that must fail */
	int timeout_ms;
	void (*test)(const Ctx &ctx);
} tests[] = {
	{ "gloo_collectives", 5, 0, 30000, collectives },
	{ "gloo_bound_buffers", 4, 0, 30000, bound_buffers },
	{ "gloo_order", 2, 0, 30000, order },
	{ "gloo_same_buffer", 2, 0, 30000, same_buffer },
	{ "gloo_from_any", 4, 0, 30000, from_any },
	{ "gloo_lengths", 2, 0, 30000, lengths },
	{ "gloo_aborted", 2, 0, 30000, aborted },
	{ "gloo_late", 2, 0, 30000, late },
	{ "gloo_killed", 5, 1, 4000, killed },
	{ "gloo_gone", 4, 0, 30000, gone },
	{ "gloo_wrong_calls", 2, 0, 30000, wrong_calls },
	{ "gloo_all_lost", 2, 0, 30000, all_lost },
	{ "gloo_given_up", 2, 0, 30000, given_up },
};

/* Those that are named, or all */
static bool chosen(const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(name, argv[i]))
			return true;
	return argc == 1;
}

int main(int argc, char **argv)
{
	int failed = argc == 1 && RUN(gloo_no_address), fd = dlcp_socket(AF_INET);

	if (fd < 0) {
		failed |= RUN(gloo_absent_module);
		check_skip("gloo-live", "the running kernel has no DLCP");
		return failed;
	}
	close(fd);
	if (argc == 1)
		failed |= RUN(gloo_nobody_connects) | RUN(gloo_strangers) | RUN(gloo_address_is_lost);
	for (auto &t : tests) {
		auto start = steady_clock::now();
		int bad;

		if (!chosen(t.name, argc, argv))
			continue;
		timeout = milliseconds(t.timeout_ms);
		fflush(stdout);
		bad = ranks(t.world, t.test);
		printf("# %.1f s\n", seconds_since(start));
		printf("%s %s\n", bad == t.bad ? "ok" : "not ok", t.name);
		failed |= bad != t.bad;
	}
	return failed;
}

/* SPDX-License-Identifier: GPL-2.0 */
/* What the tests of the Gloo device share: ranks that are processes, and what they may say */
#ifndef GLOO_TESTS_RANKS_H
#define GLOO_TESTS_RANKS_H

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>

#include <dlcp.h>

#include "address.h"
#include "check.h"
#include "context.h"
#include "device.h"
#include "gloo_dlcp.h"
#include "wire.h"

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Ctx = std::shared_ptr<gloo::rendezvous::Context>;
namespace wire = gloo::transport::dlcp;

#define NEED(cond) do { \
	if (!(cond)) \
		throw std::runtime_error(std::string(#cond) + " in line " + \
					 std::to_string(__LINE__)); \
} while (0)

/* Seconds after which a group that hangs is killed */
constexpr unsigned kHang = 180;
static milliseconds timeout{30000};

static inline void one_rank(int rank, int world, const std::string &folder,
		     const std::function<void(const Ctx &)> &test)
{
	gloo::rendezvous::FileStore store(folder);
	auto device = gloo::transport::dlcp::CreateDevice({ "", "127.0.0.1" });
	auto ctx = std::make_shared<gloo::rendezvous::Context>(rank, world);

	ctx->setTimeout(timeout);
	ctx->connectFullMesh(store, device);
	test(ctx);
}

/* Return: how many of @world processes, each with its own context, failed */
static inline int ranks(int world, const std::function<void(const Ctx &)> &test)
{
	char folder[] = "/tmp/gloo-dlcp-XXXXXX";
	std::vector<pid_t> children;
	int rank, status, bad = 0;

	if (!mkdtemp(folder))
		return -1;
	for (rank = 0; rank < world; rank++) {
		pid_t pid = fork();

		if (pid) {
			children.push_back(pid);
			continue;
		}
		alarm(kHang);
		try {
			one_rank(rank, world, folder, test);
		} catch (const std::exception &e) {
			printf("# rank %d: %s\n", rank, e.what());
			exit(1);
		}
		exit(0);
	}
	for (pid_t pid : children) {
		if (waitpid(pid, &status, 0) != pid)
			status = -1;
		if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
			printf("# a rank: %s\n", strsignal(WTERMSIG(status)));
		bad += status != 0;
	}
	if (system(("rm -r " + std::string(folder)).c_str()))
		bad++;
	return bad;
}

static inline double seconds_since(steady_clock::time_point start)
{
	return std::chrono::duration<double>(steady_clock::now() - start).count();
}

/* Does @call fail with these words? */
static inline bool says(const char *words, const std::function<void()> &call)
{
	try {
		call();
	} catch (const std::exception &e) {
		if (strstr(e.what(), words))
			return true;
		printf("# %s\n", e.what());
	}
	return false;
}

static std::shared_ptr<wire::Device> own_device(void)
{
	return std::dynamic_pointer_cast<wire::Device>(wire::CreateDevice({ "", "127.0.0.1" }));
}

static inline void put(int fd, uint64_t key, const void *bytes, size_t n)
{
	struct dlcp_send msg = {};

	msg.buf = bytes;
	msg.len = n;
	msg.attr.mask = DLCP_ATTR_KEY;
	msg.attr.key = key;
	CHECK(dlcp_send(fd, &msg) == static_cast<ssize_t>(n));
}

#endif

// SPDX-License-Identifier: GPL-2.0
//
// gloo-perf: all-reduce with Gloo, as PyTorch does it, to compare `dlcp coll-perf`
// with. Usage: RANK=r WORLD_SIZE=n gloo-perf TRANSPORT ADDRESS FOLDER BYTES
// ROUNDS [WARMUP], where TRANSPORT is tcp or dlcp, and FOLDER a shared one for the
// rendezvous. In the lab's virtual time it wants libnap.so preloaded.

#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "gloo_dlcp.h"

static double now()
{
	using namespace std::chrono;
	return duration<double>(steady_clock::now().time_since_epoch()).count();
}

static std::shared_ptr<gloo::transport::Device> make_device(bool dlcp,
							    const char *address)
{
	gloo::transport::tcp::attr attr;

	if (dlcp)
		return gloo::transport::dlcp::CreateDevice({ "", address });
	attr.hostname = address;
	return gloo::transport::tcp::CreateDevice(attr);
}

static void barrier(const std::shared_ptr<gloo::rendezvous::Context> &context,
		    uint32_t tag)
{
	gloo::BarrierOptions options(context);
	options.setTag(tag);
	gloo::barrier(options);
}

int main(int argc, char **argv)
{
	if (argc != 6 && argc != 7) {
		fprintf(stderr, "gloo-perf tcp|dlcp ADDRESS FOLDER BYTES ROUNDS [WARMUP]\n");
		return 2;
	}
	const int rank = atoi(getenv("RANK")), world = atoi(getenv("WORLD_SIZE"));
	const size_t n = strtoul(argv[4], nullptr, 0) / 4;
	const int rounds = atoi(argv[5]), warmup = argc == 7 ? atoi(argv[6]) : 2;
	auto device = make_device(!strcmp(argv[1], "dlcp"), argv[2]);
	gloo::rendezvous::FileStore store(argv[3]);
	auto context = std::make_shared<gloo::rendezvous::Context>(rank, world);
	context->connectFullMesh(store, device);

	std::vector<float> x(n);
	double sum = 0, worst = 0;
	size_t wrong = 0;
	for (int round = -warmup; round < rounds; round++) {
		for (size_t i = 0; i < n; i++)
			x[i] = static_cast<float>(rank);
		barrier(context, 1);
		double start = now();
		gloo::AllreduceOptions options(context);
		options.setOutput(x.data(), n);
		options.setReduceFunction(
			static_cast<void (*)(void *, const void *, const void *, size_t)>(
				&gloo::sum<float>));
		options.setTag(2);
		gloo::allreduce(options);
		double t = now() - start;
		for (size_t i = 0; i < n; i++)
			wrong += x[i] != static_cast<float>(world * (world - 1) / 2);
		if (round < 0)
			continue;
		sum += t;
		worst = t > worst ? t : worst;
	}
	barrier(context, 3);
	printf("rank %d: %zu bytes, mean %.3f ms, worst %.3f ms, wrong %zu\n", rank,
	       n * 4, sum / rounds * 1e3, worst * 1e3, wrong);
	return wrong != 0;
}

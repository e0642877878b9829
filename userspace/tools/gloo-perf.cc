// SPDX-License-Identifier: GPL-2.0
//
// gloo-perf: all-reduce with Gloo over TCP, as PyTorch does it, to compare
// dlcp-coll-perf with. Usage: RANK=r WORLD_SIZE=n gloo-perf ADDRESS FOLDER
// BYTES ROUNDS, where FOLDER is a shared one for the rendezvous.

#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

static double now()
{
	using namespace std::chrono;
	return duration<double>(steady_clock::now().time_since_epoch()).count();
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
	if (argc != 5) {
		fprintf(stderr, "gloo-perf ADDRESS FOLDER BYTES ROUNDS\n");
		return 2;
	}
	const int rank = atoi(getenv("RANK")), world = atoi(getenv("WORLD_SIZE"));
	const size_t n = strtoul(argv[3], nullptr, 0) / 4;
	const int rounds = atoi(argv[4]), warmup = 2;
	gloo::transport::tcp::attr attr;
	attr.hostname = argv[1];
	auto device = gloo::transport::tcp::CreateDevice(attr);
	gloo::rendezvous::FileStore store(argv[2]);
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

// SPDX-License-Identifier: GPL-2.0
/*
 * What a socket may have in memory, within the limits of the protocol
 * (net.dlcp.mem) and of the memory cgroup, and beyond them.
 *
 * A sender gives memory back when its receiver has the data, a receiver when
 * the data is read, and either takes memory. Within fixed limits all could wait
 * for each other for ever. So, as in TCP:
 *
 * - From the second limit of net.dlcp.mem to the third memory is for what is
 *   received. A sender gets no more then than its share of the first limit.
 * - Whatever the limits, some memory is always to be had: DLCP_MEM_MIN for each
 *   message that a call is sending, for what a socket has received, for each
 *   message that has a reader, and for the engine of a connection.
 *
 * What is taken beyond the limits makes sk_forward_alloc negative: it is not in
 * the account, and what the socket is charged next pays for it, too.
 */
#include <linux/percpu.h>
#include <linux/swap.h>
#include <linux/workqueue.h>

#include "dlcp.h"

atomic_long_t dlcp_memory_allocated;
struct percpu_counter dlcp_sockets_allocated;
unsigned long dlcp_memory_pressure;
DEFINE_PER_CPU(int, dlcp_fw_alloc);
long dlcp_sysctl_mem[3];

static DEFINE_PER_CPU(struct work_struct, dlcp_mem_work);

/* Pages that a processor took, less those it gave back, into the account */
static void dlcp_mem_settle_cpu(int cpu)
{
	int pages = xchg(per_cpu_ptr(&dlcp_fw_alloc, cpu), 0);

	if (pages)
		atomic_long_add(pages, &dlcp_memory_allocated);
}

static void dlcp_mem_settle_here(struct work_struct *work)
{
	dlcp_mem_settle_cpu(get_cpu());
	put_cpu();
}

/*
 * Each processor keeps up to a MiB of what it took or gave back out of the account.
 * Beside small limits that is much, and an idle processor keeps it for ever. So
 * memory is refused only until all have told: this one now, others soon, for those
 * who try again.
 */
static void dlcp_mem_settle(void)
{
	static unsigned long last;
	unsigned long now = jiffies;
	int cpu;

	dlcp_mem_settle_here(NULL);
	if (READ_ONCE(last) == now)
		return;
	WRITE_ONCE(last, now);
	for_each_possible_cpu(cpu) {
		if (!READ_ONCE(*per_cpu_ptr(&dlcp_fw_alloc, cpu)))
			continue;
		if (cpu_online(cpu))
			schedule_work_on(cpu, per_cpu_ptr(&dlcp_mem_work, cpu));
		else
			dlcp_mem_settle_cpu(cpu);
	}
}

/* Pages of the first limit for each socket */
static long dlcp_mem_share(const struct sock *sk)
{
	long nr = percpu_counter_read_positive(&dlcp_sockets_allocated);

	return sk_prot_mem_limits(sk, 0) / max(nr, 1L);
}

/* The kernel looks at it only when memory is charged or given back, and not
 * when a charge is refused
 */
static void dlcp_mem_relax(struct sock *sk, long allocated)
{
	if (READ_ONCE(dlcp_memory_pressure) &&
	    allocated < sk_prot_mem_limits(sk, 0))
		WRITE_ONCE(dlcp_memory_pressure, 0);
}

static bool dlcp_mem_tx_try(struct sock *sk, int size, int held)
{
	long allocated = sk_memory_allocated(sk);

	dlcp_mem_relax(sk, allocated);
	/* One that has nothing asks the kernel, which knows shares as well */
	if (held && sk_mem_pages(held + size) > dlcp_mem_share(sk) &&
	    allocated + sk_mem_pages(size) > sk_prot_mem_limits(sk, 1))
		return false;
	return sk_wmem_schedule(sk, size);
}

/**
 * dlcp_mem_tx() - take memory for what is to be sent
 * @sk: the connection
 * @size: bytes, to be charged next
 * @held: bytes it has for that purpose already
 *
 * Context: socket lock held.
 * Return: false: not within the limits
 */
bool dlcp_mem_tx(struct sock *sk, int size, int held)
{
	if (dlcp_mem_tx_try(sk, size, held))
		return true;
	dlcp_mem_settle();
	return dlcp_mem_tx_try(sk, size, held);
}

/**
 * dlcp_mem_rx() - take memory for what was received
 * @sk: the connection
 * @skb: to be charged next
 *
 * Context: socket lock held.
 * Return: false: not within the limits
 */
bool dlcp_mem_rx(struct sock *sk, struct sk_buff *skb)
{
	if (sk_rmem_schedule(sk, skb, skb->truesize))
		return true;
	dlcp_mem_settle();
	return sk_rmem_schedule(sk, skb, skb->truesize);
}

/**
 * dlcp_mem_never() - are so many bytes to be sent more than there can ever be?
 * @sk: the connection
 * @size: bytes
 */
bool dlcp_mem_never(const struct sock *sk, u64 size)
{
	return size >> PAGE_SHIFT > (u64)sk_prot_mem_limits(sk, 1);
}

/* The engine's minimum. The map of a first message goes beyond it: or the
 * tables could leave no room for any.
 */
static bool dlcp_mem_engine(const struct sock *sk, size_t size)
{
	const struct dlcp_sock *ds = dlcp_sk(sk);

	return ds->engine_mem + size <= DLCP_MEM_MIN ||
	       (size <= DLCP_MEM_MIN && ds->conn_ready &&
		!dlcp_conn_rx_any(&ds->conn));
}

/**
 * dlcp_mem_alloc() - memory for the engine, or for a message received
 * @sk: the connection
 * @size: bytes
 *
 * Context: socket lock held; process or softirq.
 * Return: zeroed memory, charged to @sk, or NULL
 */
void *dlcp_mem_alloc(struct sock *sk, size_t size)
{
	void *p;

	if (size > INT_MAX)
		return NULL;
	if (!sk_wmem_schedule(sk, size)) {
		dlcp_mem_settle();
		if (!sk_wmem_schedule(sk, size) && !dlcp_mem_engine(sk, size))
			return NULL;
	}
	p = kzalloc(size, GFP_ATOMIC | __GFP_NOWARN);
	if (!p)
		return NULL;
	sk_mem_charge(sk, size);
	dlcp_sk(sk)->engine_mem += size;
	return p;
}

void dlcp_mem_free(struct sock *sk, void *p, size_t size)
{
	kfree(p);
	dlcp_sk(sk)->engine_mem -= size;
	sk_mem_uncharge(sk, size);
}

/* As TCP's: of the memory there is, limits in pages */
static void __init dlcp_mem_limits(void)
{
	unsigned long limit = max(nr_free_buffer_pages() / 16, 128UL);

	dlcp_sysctl_mem[0] = limit / 4 * 3;
	dlcp_sysctl_mem[1] = limit;
	dlcp_sysctl_mem[2] = dlcp_sysctl_mem[0] * 2;
}

int __init dlcp_mem_init(void)
{
	int cpu;

	dlcp_mem_limits();
	for_each_possible_cpu(cpu)
		INIT_WORK(per_cpu_ptr(&dlcp_mem_work, cpu),
			  dlcp_mem_settle_here);
	return percpu_counter_init(&dlcp_sockets_allocated, 0, GFP_KERNEL);
}

/* No socket is left */
void dlcp_mem_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		cancel_work_sync(per_cpu_ptr(&dlcp_mem_work, cpu));
	percpu_counter_destroy(&dlcp_sockets_allocated);
}

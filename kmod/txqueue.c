// SPDX-License-Identifier: GPL-2.0
/*
 * What is to be sent, in memory: chunks of messages, what they are charged,
 * when they are freed, and who is told of the space.
 */
#include <net/tcp_states.h>

#include "dlcp.h"
#include "trace.h"

/* Chunks freed of which pages are kept for the next ones */
#define DLCP_SPARES		256

/* What calls that returned have left in memory, bytes */
int dlcp_left_behind(const struct sock *sk)
{
	return READ_ONCE(sk->sk_wmem_queued) -
	       READ_ONCE(dlcp_sk(sk)->wmem_filling);
}

/* EPOLLOUT: a third is free. Then any message that fits SO_SNDBUF at all can
 * be sent without blocking, even if it takes more than what is free.
 */
bool dlcp_third_free(const struct sock *sk)
{
	int sndbuf = READ_ONCE(sk->sk_sndbuf);

	return dlcp_left_behind(sk) < sndbuf - sndbuf / 3;
}

static bool dlcp_roomy(const struct sock *sk)
{
	return dlcp_third_free(sk) && !READ_ONCE(dlcp_sk(sk)->mem_wanted);
}

bool dlcp_writable(const struct sock *sk)
{
	return dlcp_roomy(sk) && dlcp_conn_may_send(&dlcp_sk(sk)->conn);
}

/* Space, or a message number, became free. Also wakes those whom only a fatal
 * signal interrupts.
 */
void dlcp_write_space(struct sock *sk)
{
	struct socket_wq *wq;
	struct socket *sock;

	rcu_read_lock();
	sock = READ_ONCE(sk->sk_socket);
	if (!sock || !test_bit(SOCK_NOSPACE, &sock->flags) ||
	    !dlcp_roomy(sk))
		goto out;
	clear_bit(SOCK_NOSPACE, &sock->flags);
	wq = rcu_dereference(sk->sk_wq);
	if (skwq_has_sleeper(wq))
		wake_up_poll(&wq->wait, EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND);
	if (wq && wq->fasync_list && !(sk->sk_shutdown & SEND_SHUTDOWN))
		sock_wake_async(wq, SOCK_WAKE_SPACE, POLL_OUT);
out:
	rcu_read_unlock();
}

/**
 * dlcp_want_space() - have dlcp_write_space() tell of room
 * @sk: a socket that sent EAGAIN, or whose caller waits
 *
 * Both who polls or sleeps and who asked for SIGIO.
 */
void dlcp_want_space(struct sock *sk)
{
	sk_set_bit(SOCKWQ_ASYNC_NOSPACE, sk);
	set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
}

/* sk_write_space: a packet left the host, which makes no space, for that is
 * counted by messages; or setsockopt(SO_SNDBUF) did
 */
void dlcp_skb_freed(struct sock *sk)
{
	trace_dlcp_left(sk);
	if (!dlcp_egress_uncharged(sk))
		dlcp_write_space(sk);
}

void dlcp_tx_uncharge(struct sock *sk, u32 queued, u32 extra)
{
	sk_wmem_queued_add(sk, -(int)queued);
	sk_mem_uncharge(sk, queued + extra);
}

void dlcp_filling_add(struct sock *sk, int bytes)
{
	struct dlcp_sock *ds = dlcp_sk(sk);

	dlcp_assert_locked(sk);
	WRITE_ONCE(ds->wmem_filling, ds->wmem_filling + bytes);
}

/* Off SO_SNDBUF, but not yet off the protocol's account */
static void dlcp_unqueue_chunk(struct sock *sk, struct dlcp_tx *tx, u32 bytes)
{
	tx->in_mem -= bytes;
	if (tx->filling)
		dlcp_filling_add(sk, -(int)bytes);
	sk_wmem_queued_add(sk, -(int)bytes);
}

void dlcp_uncharge_chunk(struct sock *sk, struct dlcp_tx *tx, u32 bytes)
{
	dlcp_unqueue_chunk(sk, tx, bytes);
	sk_mem_uncharge(sk, bytes);
}

void dlcp_free_chunk(struct sock *sk, struct dlcp_tx *tx, u32 i)
{
	struct dlcp_chunk *chunk = &tx->chunks[i];

	if (!chunk->page)
		return;
	dlcp_unpin_chunk(chunk);
	put_page(chunk->page);
	chunk->page = NULL;
	dlcp_uncharge_chunk(sk, tx, chunk->size);
}

/*
 * Spare pages are charged to the protocol, not to SO_SNDBUF. They hold bytes of
 * this very message, and every byte that is sent is written anew.
 */
void dlcp_drop_spares(struct sock *sk, struct dlcp_tx *tx)
{
	struct dlcp_chunk *chunk;

	for (; tx->spare < tx->freed; tx->spare++) {
		chunk = &tx->chunks[tx->spare];
		if (!chunk->page)
			continue;
		put_page(chunk->page);
		chunk->page = NULL;
		sk_mem_uncharge(sk, chunk->size);
	}
}

/* The oldest spare, if everyone else has let go of it and the size is right */
struct page *dlcp_take_spare(struct sock *sk, struct dlcp_tx *tx, u32 size)
{
	struct dlcp_chunk *chunk;
	struct page *page;

	while (tx->spare < tx->freed && !tx->chunks[tx->spare].page)
		tx->spare++;
	chunk = &tx->chunks[tx->spare];
	page = chunk->page;
	if (tx->spare == tx->freed || chunk->size != size ||
	    page_count(page) != 1)
		return NULL;
	chunk->page = NULL;
	tx->spare++;
	sk_mem_uncharge(sk, size);
	return page;
}

/* Free the next chunk, or keep its page while there is use for it */
static void dlcp_release_chunk(struct sock *sk, struct dlcp_tx *tx)
{
	struct dlcp_chunk *chunk = &tx->chunks[tx->freed];
	bool more = tx->filling && !tx->pinned && tx->copied < tx->nr_chunks;

	if (!more || sk_under_memory_pressure(sk))
		dlcp_drop_spares(sk, tx);
	if (more && chunk->page && chunk->size > DLCP_SHARE_MAX &&
	    tx->freed - tx->spare < DLCP_SPARES && !sk_under_memory_pressure(sk))
		dlcp_unqueue_chunk(sk, tx, chunk->size);
	else
		dlcp_free_chunk(sk, tx, tx->freed);
	tx->freed++;
}

/**
 * dlcp_tx_release() - free the chunks whose every byte is through
 * @sk: the connection
 * @tx: message
 *
 * Context: socket lock held; process or softirq. What still lies in queues
 * below has references of its own.
 */
void dlcp_tx_release(struct sock *sk, struct dlcp_tx *tx)
{
	u32 released = dlcp_txmsg_released(&tx->core);
	u32 end = released == tx->core.nr_segs ? tx->nr_chunks :
						 released / tx->slots;

	dlcp_assert_locked(sk);
	while (tx->freed < end)
		dlcp_release_chunk(sk, tx);
	/* It may have one more, however little space there is */
	if (tx->filling && tx->freed >= tx->copied)
		sk->sk_state_change(sk);
}

void dlcp_tx_free(struct sock *sk, struct dlcp_tx *tx)
{
	u32 i;

	for (i = tx->freed; i < tx->nr_chunks; i++)
		dlcp_free_chunk(sk, tx, i);
	dlcp_zc_end(tx);
	dlcp_list_off(&tx->report);
	dlcp_list_off(&tx->large);
	if (tx->filling)
		dlcp_filling_add(sk, -(int)tx->charged);
	dlcp_tx_uncharge(sk, tx->charged, tx->extra);
	kvfree(tx);
}

/**
 * dlcp_tx_over() - the engine is done with a message
 * @sk: the connection
 * @tx: it is on none of the engine's lists
 *
 * Without a report it is freed; with one, it waits on the error queue and stays
 * charged to SO_SNDBUF until it is read.
 *
 * Context: socket lock held; process or softirq.
 */
void dlcp_tx_over(struct sock *sk, struct dlcp_tx *tx)
{
	struct dlcp_sock *ds = dlcp_sk(sk);

	dlcp_assert_locked(sk);
	if (tx->core.state != DLCP_TX_DONE)
		tx->error = ds->conn.error ?: ECONNABORTED;
	if (!tx->over)
		trace_dlcp_complete(sk, true, tx->core.id, &tx->core.open,
				    tx->core.missing_bytes, tx->core.why,
				    tx->error);
	tx->over = true;
	if (tx->filling) {	/* sendmsg() will be here again */
		sk->sk_state_change(sk);
		return;
	}
	if (!(tx->flags & DLCP_MSG_REPORT) || sock_flag(sk, SOCK_DEAD)) {
		dlcp_tx_free(sk, tx);
		return;
	}
	for (; tx->freed < tx->nr_chunks; tx->freed++)
		dlcp_free_chunk(sk, tx, tx->freed);
	dlcp_zc_end(tx);
	dlcp_list_off(&tx->large);
	list_add_tail(&tx->report, &ds->reports);
	sk_error_report(sk);
}

/* @force: even beyond the limits; what is charged next pays for it too */
bool dlcp_tx_charge(struct sock *sk, u32 queued, u32 extra, bool force)
{
	if (!dlcp_mem_tx(sk, queued + extra, sk->sk_wmem_queued) && !force)
		return false;
	sk_mem_charge(sk, queued + extra);
	sk_wmem_queued_add(sk, queued);
	dlcp_filling_add(sk, queued);
	return true;
}

bool dlcp_charge_chunk(struct sock *sk, struct dlcp_tx *tx, u32 bytes,
		       bool force)
{
	if (!dlcp_tx_charge(sk, bytes, 0,
			    force || tx->in_mem + bytes <= DLCP_MEM_MIN))
		return false;
	tx->in_mem += bytes;
	return true;
}

/* How often a sender that was refused memory looks for it: nobody tells when
 * another socket gives some back
 */
#define DLCP_MEM_RETRY	(HZ / 50 + 1)

/**
 * dlcp_mem_refused() - a call that does not wait was refused memory
 * @sk: the connection
 * @size: bytes
 *
 * Pollers are told when there may be so much: dlcp_mem_again().
 *
 * Context: process, socket lock owned.
 */
void dlcp_mem_refused(struct sock *sk, u32 size)
{
	WRITE_ONCE(dlcp_sk(sk)->mem_wanted, size);
	dlcp_want_space(sk);
	sk_reset_timer(sk, &sk->sk_timer, jiffies + DLCP_MEM_RETRY);
}

/**
 * dlcp_mem_again() - is there memory for what was refused?
 * @sk: the connection
 *
 * Context: softirq, timer of the socket, its spinlock held.
 */
void dlcp_mem_again(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);

	dlcp_assert_locked(sk);
	if (!ds->mem_wanted || sk->sk_state == TCP_CLOSE)
		return;
	if (sock_owned_by_user(sk) ||
	    !dlcp_mem_tx(sk, ds->mem_wanted, dlcp_left_behind(sk))) {
		sk_reset_timer(sk, &sk->sk_timer, jiffies + DLCP_MEM_RETRY);
		return;
	}
	/* Not kept: the call may never come */
	sk_mem_reclaim(sk);
	WRITE_ONCE(ds->mem_wanted, 0);
	dlcp_write_space(sk);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Buffers. An arena of good pages, then one where every other page is missing,
 * forbidden, read-only, or behind the end of a file; and pointers to nowhere.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

#define PAGE	4096UL

enum { GOOD_PAGES = 512, BAD_PAGES = 16 };

static u8 *arena;

static u8 *bad_page(int i)
{
	return arena + (GOOD_PAGES + i) * PAGE;
}

/* What an odd page of the bad part is */
static void hole_make(int i)
{
	u8 *page = bad_page(i);

	switch (rnd(4)) {
	case 0:
		munmap(page, PAGE);
		break;
	case 1:
		mmap(page, PAGE, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		break;
	case 2:
		mmap(page, PAGE, PROT_READ,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		break;
	default:
		mmap(page, PAGE, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_FIXED, file_fd, FILE_SIZE + PAGE);
	}
}

static void hole_fill(int i)
{
	if (chance(50))
		mmap(bad_page(i), PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	else
		mmap(bad_page(i), PAGE, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_FIXED, file_fd, i * PAGE);
}

void memory_open(void)
{
	int i;

	arena = mmap(NULL, (GOOD_PAGES + BAD_PAGES) * PAGE,
		     PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	if (arena == MAP_FAILED)
		abort();
	for (i = 1; i < BAD_PAGES; i += 2)
		hole_make(i);
}

void *memory(size_t len)
{
	static const u64 nowhere[] = {
		0, 1, ~0ULL, 0xffff888000000000ULL, 1ULL << 63, PAGE,
	};
	size_t room = GOOD_PAGES * PAGE;
	u32 where = rnd(100);

	if (faulty && is_uml)	/* see call_any() */
		return NULL;
	if (where < 2)
		return (void *)one_of(nowhere);
	if (where < 10 && len)
		return bad_page(2 * rnd(BAD_PAGES / 2)) + rnd(PAGE);
	if (where < 40)		/* its end is that of the good part */
		return len < room ? arena + room - len : arena;
	return len < room ? arena + rnd(room - len) : arena;
}

void memory_change(void)
{
	int i = 1 + 2 * rnd(BAD_PAGES / 2);

	if (chance(60))
		hole_make(i);
	else
		hole_fill(i);
	if (chance(10))
		done(madvise(arena, PAGE * rnd(GOOD_PAGES), MADV_DONTNEED),
		     "madvise");
}

/* @len bytes in up to @max pieces */
int iov_make(struct iovec *iov, int max, size_t len)
{
	int i, nr = chance(60) ? 1 : rnd(max + 1);

	for (i = 0; i < nr; i++) {
		iov[i].iov_len = i + 1 < nr ? rnd(len + 1) : len;
		iov[i].iov_base = memory(iov[i].iov_len);
		len -= iov[i].iov_len;
	}
	if (nr && chance(2))
		iov[rnd(nr)].iov_len = rnd64();
	return nr;
}

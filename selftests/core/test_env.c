// SPDX-License-Identifier: GPL-2.0
/* The stand-ins for the kernel's helpers do what the kernel's do. */
#include "test.h"

struct item {
	int n;
	struct list_head link;
};

static void env__big_endian_at_any_address(void)
{
	u8 b[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8 };
	int i;

	CHECK_EQ(dlcp_get_be16(b + 1), 0x0102);
	CHECK_EQ(dlcp_get_be32(b + 1), 0x01020304);
	CHECK_EQ(dlcp_get_be64(b + 1), 0x0102030405060708LL);
	for (i = 0; i < 8; i++) {
		dlcp_put_be64(b + i, 0xfedcba9876543210ULL);
		CHECK(dlcp_get_be64(b + i) == 0xfedcba9876543210ULL);
		dlcp_put_be32(b + i, 0xfedcba98);
		CHECK(dlcp_get_be32(b + i) == 0xfedcba98);
		dlcp_put_be16(b + i, 0xfedc);
		CHECK(dlcp_get_be16(b + i) == 0xfedc);
	}
}

static void env__lists(void)
{
	struct item it[4] = { { .n = 0 }, { .n = 1 }, { .n = 2 }, { .n = 3 } };
	struct item *p, *n;
	LIST_HEAD(other);
	LIST_HEAD(head);
	int i, sum = 0;

	CHECK(!list_first_entry_or_null(&head, struct item, link));
	for (i = 0; i < 4; i++)
		list_add_tail(&it[i].link, &head);
	i = 0;
	list_for_each_entry(p, &head, link)
		CHECK_EQ(p->n, i++);
	CHECK_EQ(i, 4);
	list_move_tail(&it[0].link, &head);
	CHECK_EQ(list_first_entry(&head, struct item, link)->n, 1);
	CHECK(list_is_last(&it[0].link, &head));
	list_splice_tail_init(&head, &other);
	CHECK(list_empty(&head));
	list_for_each_entry_safe(p, n, &other, link) {
		sum += p->n;
		list_del_init(&p->link);
	}
	CHECK_EQ(sum, 6);
	CHECK(list_empty(&other));
}

static void env__arithmetic(void)
{
	u32 rem;

	CHECK_EQ(div_u64_rem(1000000000007ULL, 10, &rem), 100000000000LL);
	CHECK_EQ(rem, 7);
	CHECK(mul_u64_u32_div(U64_MAX, 3, 3) == U64_MAX);
	CHECK(mul_u64_u64_div_u64(U64_MAX, 5, 7) == 13176245766935394010ULL);
	CHECK_EQ(fls64(0), 0);
	CHECK_EQ(fls64(U64_MAX), 64);
	CHECK_EQ(__ffs64(1ULL << 63), 63);
	CHECK_EQ(hweight64(0xff00ff), 16);
	CHECK_EQ(roundup_pow_of_two(65), 128);
	CHECK_EQ(clamp(5, 7, 9), 7);
	CHECK(GENMASK_ULL(63, 0) == U64_MAX);
	CHECK(GENMASK_ULL(7, 4) == 0xf0);
}

TESTS(T(env__big_endian_at_any_address),
      T(env__lists),
      T(env__arithmetic))

// SPDX-License-Identifier: GPL-2.0
/*
 * packets FILE: a capture with each packet and frame of DLCP, written by what the module itself
 * writes packets with (kmod/core/wire.c). tests/expected has what the dissector is to find.
 */
#include "wire.h"

#define CLIENT	0x1111111111111111ULL
#define SERVER	0x2222222222222222ULL

static FILE *out;
static u32 seconds;
static u8 pkt[2048];
static u32 len;

static void put32(u32 v)
{
	fwrite(&v, sizeof(v), 1, out);
}

/* Classic format; what follows are packets of IPv4 */
static void begin_file(void)
{
	put32(0xa1b2c3d4);
	put32(2 | 4 << 16);
	put32(0);
	put32(0);
	put32(65535);
	put32(228);
}

/* What is in pkt goes as one datagram, or behind the like of UDP's header in protocol 253 */
static void write_as(int from_client, int proto, u16 sport)
{
	u8 ip[28] = { 0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, (u8)proto, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2 };

	if (!from_client) {
		ip[15] = 2;
		ip[19] = 1;
	}
	ip[2] = (u8)((len + 28) >> 8);
	ip[3] = (u8)(len + 28);
	ip[20] = (u8)(sport >> 8);
	ip[21] = (u8)sport;
	ip[22] = proto == 17 ? 6253 >> 8 : 0;
	ip[23] = proto == 17 ? 6253 & 0xff : 0;
	ip[24] = (u8)((len + 8) >> 8);
	ip[25] = (u8)(len + 8);
	put32(++seconds);
	put32(0);
	put32(len + 28);
	put32(len + 28);
	fwrite(ip, 28, 1, out);
	fwrite(pkt, len, 1, out);
	len = 0;
}

static void write_out(int from_client)
{
	write_as(from_client, 17, from_client ? 50000 : 6253);
}

static void put_setup(u8 type, u64 to, u64 mine, u16 sport, u16 dport)
{
	struct dlcp_setup s = {
		.tag = mine, .sport = sport, .dport = dport, .version_min = 1, .version_max = 1,
		.options = 0x8001, .max_msg = 16384, .unsolicited = 262144, .here = true,
	};

	memset(s.cookie, 0xc0, sizeof(s.cookie));
	len = dlcp_put_setup(pkt, type, to, &s);
}

static void set_up(void)
{
	put_setup(DLCP_PT_INIT, 0, CLIENT, 1000, 7000);
	write_out(1);
	put_setup(DLCP_PT_INIT_ACK, CLIENT, SERVER, 7000, 1000);
	write_out(0);
	put_setup(DLCP_PT_ECHO, SERVER, CLIENT, 1000, 7000);
	write_out(1);
	put_setup(DLCP_PT_ECHO_ACK, CLIENT, SERVER, 7000, 1000);
	write_out(0);
}

static void put_data(u8 flags, u32 pn, u32 msg, u32 seg, u32 bytes)
{
	len += dlcp_put_data(pkt + len, SERVER, flags, 3, dlcp_cls(2, DLCP_TAG_DROPPABLE), pn, msg,
			     seg);
	memset(pkt + len, 0xda, bytes);
	len += bytes;
}

static const struct dlcp_open open_0 = {
	.key = 42, .length = 12, .loss_ppm = 500000, .deadline_us = 7777, .nr_critical = 1,
	.seg_size = 8, .elem_size = 4, .prio = 2, .flags = DLCP_MSG_REPORT | DLCP_MSG_EARLY_STOP,
	.group = 7001,
	.has_deadline = 1, .share = 3,
};

static const struct dlcp_open open_1 = {
	.key = 43, .length = 80, .loss_ppm = 500000, .seg_size = 8, .elem_size = 4, .prio = 2,
};

static void send_data(void)
{
	struct dlcp_open o = open_0;

	o.wait = dlcp_wait_code(10000);
	len = dlcp_put_data(pkt, SERVER, DLCP_F_OPEN | DLCP_F_ACK_NOW, 3, dlcp_cls(2, DLCP_TAG_CRITICAL),
			    100, 0, 0);
	len += dlcp_put_open(pkt + len, &o);
	memset(pkt + len, 0xda, 8);
	len += 8;
	write_out(1);
	put_data(DLCP_F_SENT | DLCP_F_QUEUED, 101, 0, 1, 4);
	write_out(1);
	/* Two packets before this one are missing */
	put_data(DLCP_F_RESENT, 104, 0, 1, 4);
	write_out(1);
	len = dlcp_put_data(pkt, SERVER, DLCP_F_PIECE, 3, 0, 105, 7, 9);
	len += dlcp_put_piece(pkt + len, 704);
	len += 5;
	write_out(1);
}

static void put_ctrl(u64 tag, u8 flags, u32 pn)
{
	len = dlcp_put_ctrl(pkt, tag, flags, 3, pn);
}

static void put_frame(const struct dlcp_frame *f)
{
	len += dlcp_put_frame(pkt + len, sizeof(pkt) - len, f);
}

static void send_frames(void)
{
	struct dlcp_frame open = { .type = DLCP_FT_OPEN, .open = { 1, open_1 } };
	struct dlcp_frame rails = { .type = DLCP_FT_RAILS, .rails.family = 4 };

	memcpy(rails.rails.addr[0], "\x0a\x00\x01\x01", 4);
	put_ctrl(SERVER, DLCP_F_ELICIT | DLCP_F_HERE, 106);
	put_frame(&open);
	put_frame(&(struct dlcp_frame){ .type = DLCP_FT_SENT, .sent = { 1, 8000 } });
	put_frame(&(struct dlcp_frame){ .type = DLCP_FT_OFFER, .offer = { 1, 5 } });
	put_frame(&(struct dlcp_frame){ .type = DLCP_FT_GETMAP, .msg = { 1, 2 } });
	put_frame(&(struct dlcp_frame){ .type = DLCP_FT_DONE_ACK, .msg = { 0, 0 } });
	put_frame(&(struct dlcp_frame){ .type = DLCP_FT_CLOSE, .close = { 2 } });
	put_frame(&rails);
	put_frame(&(struct dlcp_frame){ .type = DLCP_FT_ASK, .token = { 0xabcd } });
	len += dlcp_put_pad(pkt + len, 16);
	memset(pkt + len, 0, 12);
	len += 12;
	write_out(1);
}

static void answer_frames(void)
{
	struct dlcp_frame ack = {
		.type = DLCP_FT_ACK,
		.ack = { 3, 2, 107, 55, 6, 90, 12345, { 0xff01, 0xff02 } },
	};
	struct dlcp_frame rails = { .type = DLCP_FT_RAILS, .rails.family = 6 };

	rails.rails.addr[1][0] = 0xfd;
	rails.rails.addr[1][15] = 9;
	put_ctrl(CLIENT, DLCP_F_ELICIT, 1);
	put_frame(&ack);
	put_frame(&(struct dlcp_frame){ .type = DLCP_FT_MAP, .map = { 1, 4, 1, { 0x227 } } });
	put_frame(&(struct dlcp_frame){ .type = DLCP_FT_DONE,
		  .done = { 1, 5, 40, DLCP_WHY_FORGIVEN, 1, 1 } });
	put_frame(&(struct dlcp_frame){ .type = DLCP_FT_CREDIT, .credit = { 5, 1ULL << 40 } });
	put_frame(&(struct dlcp_frame){ .type = DLCP_FT_WINDOW, .window = { 20000, 300000 } });
	put_frame(&(struct dlcp_frame){ .type = DLCP_FT_RATE, .rate = { 1250000 } });
	put_frame(&rails);
	put_frame(&(struct dlcp_frame){ .type = DLCP_FT_ANSWER, .token = { 0xabcd } });
	/* Of a later version */
	put_frame(&(struct dlcp_frame){ .type = DLCP_FT_ASK, .token = { 0x99 } });
	pkt[len - 12] = 99;
	write_out(0);
}

/* Segments 0, 1, 2, 5, 9 of ten; after DONE 3, and a batch of two */
static void send_message(int late)
{
	static const u8 segs[] = { 0, 1, 2, 5, 9 };
	u32 i;

	for (i = 0; !late && i < ARRAY_SIZE(segs); i++) {
		put_data(0, 107 + i, 1, segs[i], 8);
		write_out(1);
	}
	if (!late)
		return;
	put_data(0, 112, 1, 3, 8);
	write_out(1);
	put_data(0, 113, 1, 4, 8);
	put_data(0, 114, 1, 6, 8);
	write_out(1);
}

static void the_end(void)
{
	len = dlcp_put_reset(pkt, CLIENT, &(struct dlcp_reset){ SERVER, DLCP_RST_UNKNOWN, 0, 0, true });
	write_out(0);
	len = dlcp_put_reset(pkt, CLIENT, &(struct dlcp_reset){ SERVER, DLCP_RST_VERSION, 1, 2, false });
	write_out(0);
	put_data(0, 115, 8, 0, 3);
	write_as(1, 253, 0xbeef);
	put_data(0, 116, 8, 0, 3);
	len = 20;
	write_out(1);
	put_ctrl(SERVER, 0, 0);
	len += dlcp_put_pad(pkt + len, 16);
	write_out(1);
	put_ctrl(SERVER, 0, 0);
	len += dlcp_put_front(pkt + len, 32);
	put_frame(&(struct dlcp_frame){ .type = DLCP_FT_RATE, .rate = { 1250000 } });
	put_data(0, 117, 9, 0, 3);
	write_out(1);
}

int main(int argc, char **argv)
{
	out = argc == 2 ? fopen(argv[1], "wb") : NULL;
	if (!out)
		return 2;
	begin_file();
	set_up();
	send_data();
	send_frames();
	send_message(0);
	answer_frames();
	send_message(1);
	the_end();
	return fclose(out) ? 1 : 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What two ranks say to each other. DLCP keeps no order between messages, so
 * the key of each says what it is; all are sent with loss bound 0.
 *
 *   hello     from the side that connects: for which pair
 *   envelope  numbered, and handled in the order of the numbers
 *   data      a piece of what a receive asked for; no order
 *
 * Gloo's sends and receives meet by slot, first come, first served. A receive
 * posts READY with a number of its own, and the pieces are sent under that
 * number straight to their places. A send for which no READY is here posts a
 * SEND, with the bytes in it if they are few; it counts against a credit that
 * the READY returns. WRITE is a SEND of Gloo's older, bound buffers.
 *
 * Both may cross. A SEND says how many envelopes its sender had seen: a receive
 * whose READY was among them went to an earlier send, or this would not be
 * a SEND. So it belongs to the first receive of its slot that comes later.
 */
#ifndef GLOO_DLCP_WIRE_H
#define GLOO_DLCP_WIRE_H

#include <cstddef>
#include <cstdint>

namespace gloo::transport::dlcp {

constexpr uint64_t kHello = 1ULL << 60;
constexpr uint64_t kEnvelope = 2ULL << 60;
constexpr uint64_t kData = 3ULL << 60;
constexpr uint64_t kKindMask = 15ULL << 60;

constexpr uint64_t kMagic = 0x676c6f6f44310001;	/* "glooD1", version 1 */

/* Bytes of a piece; the kernel takes it whole, so it must fit SO_SNDBUF */
constexpr size_t kPiece = 256 << 10;
/* Sends up to this length need not wait for the receiver ... */
constexpr size_t kEager = 16 << 10;
/* ... while no more than so many bytes of them, with so much for each, wait */
constexpr size_t kEagerCredit = 256 << 10;
constexpr size_t kEagerCost = 256;

inline uint64_t data_key(uint32_t id, size_t piece)
{
	return kData | static_cast<uint64_t>(id) << 24 | piece;
}

struct Hello {
	uint64_t magic;
	uint64_t pair;	/* as in the address that Gloo handed over */
};

enum Type : uint32_t {
	kSend = 1,	/* nbytes, seen; the bytes follow if eager */
	kWrite = 2,	/* likewise, to offset of a bound buffer */
	kReady = 3,	/* id, and nbytes there is room for */
	kReadyWrite = 4,
	kShort = 5,	/* only nbytes come for receive id */
	kFailed = 6,	/* a text follows */
};

struct Envelope {
	uint32_t type;
	uint32_t eager;
	uint32_t id;
	uint32_t pad;
	uint64_t slot;
	uint64_t nbytes;
	uint64_t offset;
	uint64_t seen;
};

} // namespace gloo::transport::dlcp

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters of a network namespace: /proc/net/dlcp/snmp. Every place that
 * drops something has one of its own. Documentation/counters.md says what
 * they mean to an operator.
 */
#ifndef _DLCP_MIB_H
#define _DLCP_MIB_H

#include <net/snmp.h>

#include "core/conn.h"

/* The engine's, in the order of enum dlcp_cnt */
#define DLCP_MIB_CORE(X)						\
	X(TX_PACKETS,		"TxPackets")				\
	X(TX_DATA,		"TxData")				\
	X(TX_CTRL,		"TxCtrl")				\
	X(TX_OFFERED,		"TxBytesOffered")			\
	X(TX_SENT,		"TxBytesSent")				\
	X(TX_DELIVERED,		"TxBytesDelivered")			\
	X(TX_FORGIVEN,		"TxBytesForgiven")			\
	X(TX_RESENT,		"TxBytesResent")			\
	X(TX_MSGS,		"TxMessages")				\
	X(TX_MSGS_DONE,		"TxMessagesDone")			\
	X(LOST,			"LostPackets")				\
	X(SPURIOUS,		"SpuriousLosses")			\
	X(CE,			"CeMarks")				\
	X(PROBES,		"ProbeTimeouts")			\
	X(OFFERS,		"Offers")				\
	X(RX_PACKETS,		"RxPackets")				\
	X(RX_DATA,		"RxData")				\
	X(RX_CTRL,		"RxCtrl")				\
	X(RX_OFFERED,		"RxBytesOffered")			\
	X(RX_DELIVERED,		"RxBytesDelivered")			\
	X(RX_FORGIVEN,		"RxBytesForgiven")			\
	X(RX_DUP,		"RxBytesDuplicate")			\
	X(RX_MSGS,		"RxMessages")				\
	X(RX_MSGS_DONE,		"RxMessagesDone")			\
	X(RX_STOPPED,		"RxMessagesStopped")			\
	X(RX_LATE,		"RxMessagesLate")			\
	X(ACKS_SENT,		"AcksSent")				\
	X(ACKS_RCVD,		"AcksReceived")				\
	X(KEEPALIVES,		"Keepalives")				\
	X(MTU_DOWN,		"MtuReductions")

/* One for each enum dlcp_verdict, in its order from DLCP_DUP on */
#define DLCP_MIB_VERDICTS(X)						\
	X(DUP,			"DropDuplicate")			\
	X(DROP_MALFORMED,	"DropMalformed")			\
	X(DROP_STATE,		"DropState")				\
	X(DROP_OLD,		"DropOld")				\
	X(DROP_UNOPENED,	"DropUnopened")				\
	X(DROP_WINDOW,		"DropWindow")				\
	X(DROP_NOMEM,		"DropNoMemory")				\
	X(DROP_LATE,		"DropLate")				\
	X(DROP_MISMATCH,	"DropMismatch")

/* The shell's */
#define DLCP_MIB_SHELL(X)						\
	X(DROP_SHORT,		"DropShort")				\
	X(DROP_NO_CSUM,		"DropNoChecksum")			\
	X(DROP_CSUM,		"DropBadChecksum")			\
	X(DROP_TYPE,		"DropUnknownType")			\
	X(DROP_TAG,		"DropUnknownTag")			\
	X(DROP_BACKLOG,		"DropBacklog")				\
	X(DROP_LISTENER,	"DropNoListener")			\
	X(DROP_COOKIE,		"DropBadCookie")			\
	X(DROP_COOKIE_OLD,	"DropStaleCookie")			\
	X(DROP_ACCEPT,		"DropAcceptQueue")			\
	X(DROP_VERSION,		"DropVersion")				\
	X(DROP_FILTER,		"DropFilter")				\
	X(DROP_RESET,		"DropForeignReset")			\
	X(DROP_ICMP,		"DropForeignIcmp")			\
	X(INIT_RCVD,		"SetupInitReceived")			\
	X(ECHO_RCVD,		"SetupEchoReceived")			\
	X(ACCEPTED,		"SetupAccepted")			\
	X(LISTEN_OVERFLOW,	"SetupListenOverflows")			\
	X(LISTEN_NOMEM,		"SetupListenNoMemory")			\
	X(RESET_SENT,		"ResetsSent")				\
	X(RESET_RCVD,		"ResetsReceived")			\
	X(REPLY_LIMITED,	"RepliesLimited")			\
	X(ICMP_RCVD,		"IcmpReceived")				\
	X(TX_SKBS,		"TxBatches")				\
	X(TX_QUEUE_DROP,	"TxLocalDrops")				\
	X(TX_NO_ROUTE,		"TxNoRoute")				\
	X(TX_NO_MEMORY,		"TxNoMemory")				\
	X(RX_SKBS,		"RxBatches")				\
	X(RX_BACKLOG,		"RxBacklog")

#define DLCP_MIB_LIST(X)						\
	DLCP_MIB_CORE(X) DLCP_MIB_VERDICTS(X) DLCP_MIB_SHELL(X)

enum {
#define X(field, name)	DLCP_MIB_##field,
	DLCP_MIB_LIST(X)
#undef X
	DLCP_MIB_MAX
};

struct dlcp_mib {
	unsigned long mibs[DLCP_MIB_MAX];
};

extern const char *const dlcp_mib_names[DLCP_MIB_MAX];

/* The counter of a verdict that is not DLCP_OK */
static inline int dlcp_mib_verdict(enum dlcp_verdict v)
{
	return DLCP_MIB_DUP + (int)v - DLCP_DUP;
}

#endif

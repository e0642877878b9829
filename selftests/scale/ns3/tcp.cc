// SPDX-License-Identifier: GPL-2.0
/* Streams of ns-3's own TCP: one for each pair of hosts. */
#include <algorithm>
#include <map>

#include <ns3/core-module.h>
#include <ns3/internet-module.h>

#include "node.h"

using namespace ns3;

namespace {

constexpr uint16_t PORT = 5000;
constexpr uint32_t BUFFER = 64 << 20;

struct stream {
	Ptr<Socket> socket;
	void *flow;
	uint64_t left;		/* not taken by the socket yet */
};

/* By source and destination: what accepted sockets read for */
std::map<std::pair<uint32_t, uint32_t>, stream *> streams;
std::map<uint32_t, Ptr<Socket>> listeners;

void push(stream *s)
{
	uint64_t n;

	while (s->left) {
		n = std::min<uint64_t>({s->left, s->socket->GetTxAvailable(), 1 << 20});
		if (!n || s->socket->Send(Create<Packet>(n)) < 0)
			return;
		s->left -= n;
	}
}

void read_from(stream *s, Ptr<Socket> socket)
{
	Ptr<Packet> p;

	while ((p = socket->Recv()) && p->GetSize())
		fab_tcp_got(s->flow, p->GetSize());
}

void accepted(uint32_t host, Ptr<Socket> socket, const Address &from)
{
	uint32_t src = net_host_of(InetSocketAddress::ConvertFrom(from).GetIpv4());
	stream *s = streams.at({src, host});

	socket->SetRecvCallback(
		Callback<void, Ptr<Socket>>([s](Ptr<Socket> at) { read_from(s, at); }));
}

/* Marks and their answers are the algorithm's; the way is ready for both */
Ptr<Socket> make_socket(uint32_t host, const char *kind)
{
	ObjectFactory make(kind);
	Ptr<TcpSocketBase> s = DynamicCast<TcpSocketBase>(
		Socket::CreateSocket(net_node(host), TcpSocketFactory::GetTypeId()));

	s->SetCongestionControlAlgorithm(make.Create<TcpCongestionOps>());
	s->SetAttribute("UseEcn", StringValue("On"));
	return s;
}

void listen_at(uint32_t host, const char *kind)
{
	Ptr<Socket> l;

	if (listeners.count(host))
		return;
	l = make_socket(host, kind);
	l->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
	l->Listen();
	l->SetAcceptCallback(
		MakeNullCallback<bool, Ptr<Socket>, const Address &>(),
		Callback<void, Ptr<Socket>, const Address &>(
			[host](Ptr<Socket> s, const Address &a) { accepted(host, s, a); }));
	listeners[host] = l;
}

} // namespace

void net_tcp_init(void)
{
	Config::SetDefault("ns3::TcpSocket::SegmentSize",
			   UintegerValue(net_config().payload));
	Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(BUFFER));
	Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(BUFFER));
	Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
	/* As Linux: RFC 9293 says 500 ms and more; delayed answers after 40 ms */
	Config::SetDefault("ns3::TcpSocket::DelAckTimeout",
			   TimeValue(MilliSeconds(40)));
	Config::SetDefault("ns3::TcpSocketBase::MinRto",
			   TimeValue(NanoSeconds(net_config().min_rto)));
}

void *net_tcp_open(uint32_t src, uint32_t dst, const char *kind, void *flow)
{
	stream *s = new stream{make_socket(src, kind), flow, 0};

	streams[{src, dst}] = s;
	listen_at(dst, kind);
	s->socket->SetConnectCallback(
		Callback<void, Ptr<Socket>>([s](Ptr<Socket>) {
			fab_tcp_ready(s->flow);
			push(s);
		}), MakeNullCallback<void, Ptr<Socket>>());
	s->socket->SetSendCallback(
		Callback<void, Ptr<Socket>, uint32_t>(
			[s](Ptr<Socket>, uint32_t) { push(s); }));
	s->socket->Bind();
	s->socket->Connect(InetSocketAddress(net_addr_of(dst), PORT));
	return s;
}

void net_tcp_send(void *tcp, uint64_t bytes)
{
	stream *s = static_cast<stream *>(tcp);

	s->left += bytes;
	push(s);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The network of a run, made of ns-3's own parts: nodes with IPv4, cables between
 * them, RED with ECN at the ports of switches. DLCP is a protocol over IP here.
 */
#include <algorithm>
#include <cstring>
#include <vector>

#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>

#include "net.h"
#include "node.h"

using namespace ns3;

namespace {

constexpr uint8_t PROTOCOL = 253;	/* for experiments: RFC 3692 */
constexpr uint64_t START = 1000000000;	/* to the engine, time 0 is never */
constexpr uint32_t UDP_LEN = 8;
constexpr uint32_t ADDR_HOSTS = 10U << 24 | 1;
constexpr uint32_t ADDR_SWITCHES = 172U << 24 | 16U << 16 | 1;

struct net_config config;
NodeContainer nodes;
std::vector<std::vector<Ptr<PointToPointNetDevice>>> cards;

/* Who is told that a packet has left the card of its host */
class OwnerTag : public Tag
{
public:
	uint64_t owner = 0;
	uint32_t wire = 0;

	static TypeId GetTypeId()
	{
		static TypeId id = TypeId("dlcp::OwnerTag").SetParent<Tag>()
			.AddConstructor<OwnerTag>();
		return id;
	}
	TypeId GetInstanceTypeId() const override { return GetTypeId(); }
	uint32_t GetSerializedSize() const override { return 12; }
	void Serialize(TagBuffer b) const override
	{
		b.WriteU64(owner);
		b.WriteU32(wire);
	}
	void Deserialize(TagBuffer b) override
	{
		owner = b.ReadU64();
		wire = b.ReadU32();
	}
	void Print(std::ostream &out) const override { out << wire; }
};

/* Losses and dead links as faults.c wants them */
class PortFaults : public ErrorModel
{
public:
	explicit PortFaults(void *port) : port(port) {}

private:
	void *port;

	bool DoCorrupt(Ptr<Packet>) override { return fab_loses(port); }
	void DoReset() override {}
};

/* By the same hash as the switches of fabric.c. ns-3 itself has none of flows. */
class FabricRouting : public Ipv4RoutingProtocol
{
public:
	explicit FabricRouting(uint32_t nr) : nr(nr) {}

	Ptr<Ipv4Route> RouteOutput(Ptr<Packet>, const Ipv4Header &h, Ptr<NetDevice>,
				   Socket::SocketErrno &err) override
	{
		err = Socket::ERROR_NOTERROR;
		return by(0, h);
	}

	bool RouteInput(Ptr<const Packet> p, const Ipv4Header &h,
			Ptr<const NetDevice> in, UnicastForwardCallback forward,
			MulticastForwardCallback, LocalDeliverCallback deliver,
			ErrorCallback) override
	{
		uint8_t ports[4] = {};
		uint32_t entropy;

		if (nr < config.hosts) {
			deliver(p, h, ipv4->GetInterfaceForDevice(in));
			return true;
		}
		p->CopyData(ports, sizeof(ports));
		memcpy(&entropy, ports, sizeof(entropy));
		forward(by(fab_way(nr, net_host_of(h.GetDestination()), entropy),
			   h), p, h);
		return true;
	}

	void NotifyInterfaceUp(uint32_t) override {}
	void NotifyInterfaceDown(uint32_t) override {}
	void NotifyAddAddress(uint32_t, Ipv4InterfaceAddress) override {}
	void NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress) override {}
	void SetIpv4(Ptr<Ipv4> ip) override { ipv4 = ip; }
	void PrintRoutingTable(Ptr<OutputStreamWrapper>, Time::Unit) const override {}

private:
	uint32_t nr;
	Ptr<Ipv4> ipv4;

	Ptr<Ipv4Route> by(uint32_t port, const Ipv4Header &h) const
	{
		Ptr<Ipv4Route> r = Create<Ipv4Route>();

		r->SetDestination(h.GetDestination());
		r->SetGateway(h.GetDestination());
		r->SetSource(net_addr_of(nr));
		r->SetOutputDevice(cards[nr][port]);
		return r;
	}
};

/* DLCP in UDP, as one protocol over IP */
class Dlcp : public IpL4Protocol
{
public:
	explicit Dlcp(uint32_t host) : host(host) {}

	int GetProtocolNumber() const override { return PROTOCOL; }

	RxStatus Receive(Ptr<Packet> p, const Ipv4Header &h,
			 Ptr<Ipv4Interface>) override
	{
		uint8_t bytes[UDP_LEN + 256];
		uint32_t head = p->CopyData(bytes, sizeof(bytes)) - UDP_LEN, len;

		memcpy(&len, bytes + 4, sizeof(len));
		fab_arrived(host, net_host_of(h.GetSource()),
			    h.GetEcn() == Ipv4Header::ECN_CE, bytes + UDP_LEN,
			    std::min(head, len), len,
			    p->GetSize() + NET_IP_PPP + NET_GAP);
		return RX_OK;
	}

	RxStatus Receive(Ptr<Packet>, const Ipv6Header &,
			 Ptr<Ipv6Interface>) override
	{
		return RX_ENDPOINT_UNREACH;
	}

	void SetDownTarget(DownTargetCallback cb) override { down = cb; }
	void SetDownTarget6(DownTargetCallback6) override {}
	DownTargetCallback GetDownTarget() const override { return down; }
	DownTargetCallback6 GetDownTarget6() const override { return {}; }

private:
	uint32_t host;
	DownTargetCallback down;
};

void left(Ptr<const Packet> p)
{
	OwnerTag tag;

	if (p->PeekPacketTag(tag))
		fab_left(reinterpret_cast<void *>(tag.owner), tag.wire);
}

void dropped(Ptr<const QueueDiscItem>)
{
	fab_dropped();
}

void marked(Ptr<const QueueDiscItem>, const char *)
{
	fab_marked();
}

Ptr<PointToPointNetDevice> plug(uint32_t nr, uint64_t rate,
				Ptr<PointToPointChannel> cable)
{
	Ptr<PointToPointNetDevice> dev = CreateObject<PointToPointNetDevice>();
	bool host = nr < config.hosts;

	dev->SetAddress(Mac48Address::Allocate());
	dev->SetDataRate(DataRate(rate));
	dev->SetInterframeGap(PicoSeconds(NET_GAP * 8000000000000ULL / rate));
	dev->SetMtu(65535);
	/* A host's card has room for all; a switch's queue is above the port */
	dev->SetQueue(CreateObjectWithAttributes<DropTailQueue<Packet>>(
		"MaxSize", StringValue(host ? "10000000p" : "1p")));
	nodes.Get(nr)->AddDevice(dev);
	dev->Attach(cable);
	if (host)
		dev->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&left));
	cards[nr].push_back(dev);
	return dev;
}

void add_queue(Ptr<PointToPointNetDevice> dev)
{
	Ptr<NetDeviceQueueInterface> q = CreateObject<NetDeviceQueueInterface>();
	TrafficControlHelper tc;
	Ptr<QueueDisc> disc;

	q->GetTxQueue(0)->ConnectQueueTraces(dev->GetQueue());
	dev->AggregateObject(q);
	if (!config.mark)
		tc.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize",
				    QueueSizeValue(QueueSize(BYTES, config.queue)));
	else
		/* RED by the length now: Alizadeh et al., SIGCOMM 2010, section 3.1 */
		tc.SetRootQueueDisc("ns3::RedQueueDisc",
				    "MaxSize", QueueSizeValue(QueueSize(BYTES, config.queue)),
				    "MinTh", DoubleValue(config.mark_min),
				    "MaxTh", DoubleValue(config.mark),
				    "MeanPktSize", UintegerValue(config.wire),
				    "QW", DoubleValue(1), "LInterm", DoubleValue(1),
				    "Gentle", BooleanValue(false),
				    "UseEcn", BooleanValue(true),
				    "UseHardDrop", BooleanValue(false));
	disc = tc.Install(dev).Get(0);
	disc->TraceConnectWithoutContext("Drop", MakeCallback(&dropped));
	disc->TraceConnectWithoutContext("Mark", MakeCallback(&marked));
}

void add_interface(uint32_t nr, uint32_t port)
{
	Ptr<Ipv4> ip = nodes.Get(nr)->GetObject<Ipv4>();
	uint32_t at = ip->AddInterface(cards[nr][port]);

	ip->AddAddress(at, Ipv4InterfaceAddress(net_addr_of(nr), Ipv4Mask::GetOnes()));
	ip->SetUp(at);
	if (nr >= config.hosts)
		add_queue(cards[nr][port]);
}

} // namespace

Ipv4Address net_addr_of(uint32_t nr)
{
	return Ipv4Address(nr < config.hosts ? ADDR_HOSTS + nr :
			   ADDR_SWITCHES + nr - config.hosts);
}

uint32_t net_host_of(Ipv4Address a)
{
	return a.Get() - ADDR_HOSTS;
}

Ptr<Node> net_node(uint32_t nr)
{
	return nodes.Get(nr);
}

const struct net_config &net_config()
{
	return config;
}

void net_init(const struct net_config *c)
{
	InternetStackHelper stack;
	uint32_t i;

	config = *c;
	RngSeedManager::SetSeed(c->seed + 1);
	nodes.Create(c->nodes);
	cards.resize(c->nodes);
	stack.SetIpv6StackInstall(false);
	stack.Install(nodes);
	for (i = 0; i < c->nodes; i++)
		nodes.Get(i)->GetObject<Ipv4>()->SetRoutingProtocol(
			CreateObject<FabricRouting>(i));
	for (i = 0; i < c->hosts; i++)
		nodes.Get(i)->GetObject<Ipv4L3Protocol>()->Insert(
			CreateObject<Dlcp>(i));
}

void net_cable(uint32_t a, uint64_t rate_a, void *port_a,
	       uint32_t b, uint64_t rate_b, void *port_b)
{
	Ptr<PointToPointChannel> cable = CreateObjectWithAttributes<PointToPointChannel>(
		"Delay", TimeValue(NanoSeconds(config.delay)));
	Ptr<PointToPointNetDevice> dev_a = plug(a, rate_a, cable);
	Ptr<PointToPointNetDevice> dev_b = plug(b, rate_b, cable);

	dev_a->SetReceiveErrorModel(CreateObject<PortFaults>(port_b));
	dev_b->SetReceiveErrorModel(CreateObject<PortFaults>(port_a));
}

void net_start(void)
{
	uint32_t i, k;

	for (i = 0; i < config.nodes; i++)
		for (k = 0; k < cards[i].size(); k++)
			add_interface(i, k);
	net_tcp_init();
}

uint64_t net_now(void)
{
	return START + Simulator::Now().GetNanoSeconds();
}

void *net_at(uint64_t time, void *ev)
{
	return new EventId(Simulator::Schedule(NanoSeconds(time - net_now()),
					       &fab_fire, ev));
}

void net_cancel(void *timer)
{
	EventId *id = static_cast<EventId *>(timer);

	id->Cancel();
	delete id;
}

void net_run(uint64_t until)
{
	Simulator::Stop(NanoSeconds(until - net_now()));
	Simulator::Run();
}

uint64_t net_events(void)
{
	return Simulator::GetEventCount();
}

void net_send(uint32_t src, uint32_t dst, uint32_t entropy, bool ect,
	      const void *data, uint32_t head, uint32_t len, uint32_t wire,
	      void *owner)
{
	uint8_t bytes[UDP_LEN + 256] = {};
	Ptr<Packet> p;
	SocketIpTosTag tos;
	OwnerTag tag;

	head = std::min<uint32_t>(head, sizeof(bytes) - UDP_LEN);
	memcpy(bytes, &entropy, sizeof(entropy));
	memcpy(bytes + 4, &len, sizeof(len));
	memcpy(bytes + UDP_LEN, data, head);
	p = Create<Packet>(bytes, UDP_LEN + head);
	p->AddPaddingAtEnd(wire - NET_GAP - NET_IP_PPP - p->GetSize());
	if (ect) {
		tos.SetTos(Ipv4Header::ECN_ECT0);
		p->AddPacketTag(tos);
	}
	if (owner) {
		tag.owner = reinterpret_cast<uint64_t>(owner);
		tag.wire = wire;
		p->AddPacketTag(tag);
	}
	nodes.Get(src)->GetObject<Ipv4L3Protocol>()->Send(
		p, net_addr_of(src), net_addr_of(dst), PROTOCOL, nullptr);
}

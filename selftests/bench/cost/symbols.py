# SPDX-License-Identifier: GPL-2.0
"""Whose function it is: addresses to symbols, symbols to classes."""

import bisect
import re

USER = "[program]"
# What the kernel compiled by itself, as filters
GENERATED = "[generated]"

# Modules are of one class whole
MODULES = {"dlcp": "transport", "sctp": "transport", "mptcp_diag": "transport",
           "veth": "network", "udp_tunnel": "network", "ip6_udp_tunnel": "network",
           "sch_netem": "network"}

# The first that matches. Names of functions, where leading underscores do not count.
PATTERNS = (
    # One instruction a byte in this machine, and far less in a real one: copies ...
    ("copy", r"copy_user|copy_mc|rep_movs|memcpy|memmove|copy_page(_\w*rms)?$"),
    # ... and zeroes; Debian's kernel clears each page that it gives away (init_on_alloc)
    ("clear", r"clear_page|clear_user|rep_stos|memset"),
    # What a piece of data in user space is found by
    ("iovec", r"copy_(to|from)_iter|copy_page_(to|from)_iter|iov|import_(iovec|single|ubuf)"
              r"|page_copy_sane|copy_(from|to)_user$|check_(heap|object|stack)|simple_copy"
              r"|virt_addr_valid|skb_(copy_)?datagram"),
    ("transport", r"m?ptcp|tcp\d?_|tcp|subflow|udp|sctp|cubictcp|bictcp|inet_csk|inet_(recv|send)"
                  r"|sk_stream|sk_forced_mem|sk_mem|minmax_running|mld|dlcp"),
    ("sched", r"raw_(spin|read|write)|native_queued|queued_|pv_|mutex|down_|up_|(un)?lock_sock"
              r"|release_sock|local_bh|preempt|rcu_|srcu|call_rcu|cond_resched"
              r"|schedule|sched_|finish_task|switch_|enqueue_(entity|task|hrtimer|timer)"
              r"|dequeue_(entity|task)|pick_next|put_prev|set_next|place_entity|update_(curr|load"
              r"|cfs|rq|min_vr|process|wall|fast_time|vsyscall)|try_to_wake|ttwu|wake_|woken"
              r"|wait_woken|(add|remove)_wait|prepare_to|finish_(wait|swait)|swake|default_wake"
              r"|pollwake|autoremove|select_task|check_preempt|resched|reweight|psi_|cpuacct"
              r"|calc_(delta|wheel)|clear_buddies|record_times|attach_entity|detach_(entity|if)"
              r"|futex|get_futex|hrtimer|timerqueue|ktime|clockevents|lapic|tick_|timekeeping"
              r"|run_timers?|call_timer|mod_timer|timer_|lock_timer|process_timeout|read_(tsc|hpet)"
              r"|native_sched_clock|rb_(erase|insert|first|next)|sysvec_apic|asm_sysvec|irq_"
              r"|softirq|handle_softirqs|do_softirq|raise_softirq|ksoftirqd|run_ksoftirqd"
              r"|smpboot|worker_|process_one_work|queue_(delayed_)?work|kthread|scheduler|task_tick"
              r"|account_|native_apic|apic_"),
    ("memory", r"kmem|kmalloc|kfree$|kvfree|kvmalloc|slab|free_slab|cache_from|setup_object"
               r"|get_partial|put_cpu_partial|unfreeze|alloc_pages|free_(unref|pcp|pages|large|compound)"
               r"|rmqueue|get_page_from|check_new_pages|prep_new|post_alloc|zone_|policy_|mempolicy"
               r"|mem_cgroup|memcg|mod_(memcg|lruvec|node|zone)|obj_cgroup|get_obj|folio|destroy_large"
               r"|put_page|page_frag|sk_page_frag|skb_page_frag|should_fail|percpu_counter|pcpu_"
               r"|kmalloc_reserve|cgroup_rstat|extfrag|(un)?lock_page_memcg"),
    ("network", r"ip_|ip4|ip6|ipv4|ipv6|inet|raw_local|fib|rt_|dst_|xfrm|neigh|eth_|net_|netif|netdev"
                r"|dev_|veth|napi|process_backlog|enqueue_to|validate_xmit|passthru|nf_|qdisc|sch_"
                r"|netem|tfifo|pfifo|gro_|gso|skb|pskb|alloc_skb|copy_skb|consume_skb|kfree_skb|build_skb|sock|sk_"
                r"|csum|do_csum|net_rx|rps|get_rps|l3mdev|icmp|siphash|flow_|compute_score|ndisc"
                r"|find_exception|arp|igmp|addrconf|rtnl|nla_|nlmsg|rtmsg"),
)
NAMES = tuple(name for name, _ in PATTERNS) + ("program", "rest")
MATCHES = tuple((name, re.compile(f"_*({pattern})")) for name, pattern in PATTERNS)


def class_of(symbol, module=""):
    if symbol == USER:
        return "program"
    if module in MODULES:
        return MODULES[module]
    return next((name for name, pattern in MATCHES if pattern.match(symbol)), "rest")


class Symbols:
    """The kernel's, as /proc/kallsyms has them."""

    def __init__(self, path):
        found = []
        for line in path.read_text().splitlines():
            addr, kind, name, *module = line.split()
            if kind not in "tTwW":
                name, module = GENERATED, ()    # behind the code of a module
            elif name.startswith("__pfx_"):
                continue
            found.append((int(addr, 16), name, module[0].strip("[]") if module else ""))
        self.found = sorted(found)
        self.starts = [addr for addr, _, _ in self.found]

    def at(self, addr):
        """Return: name, module, how far into it"""
        if addr < 1 << 63:
            return USER, "", 1
        start, name, module = self.found[bisect.bisect(self.starts, addr) - 1]
        return name, module, addr - start

# SPDX-License-Identifier: GPL-2.0
"""drop_all.py CGROUP: attach a BPF program that lets no packet of that cgroup leave; it stays."""
import ctypes
import os
import struct
import sys

BPF_PROG_LOAD, BPF_PROG_ATTACH, CGROUP_SKB, INET_EGRESS, SYS_BPF = 5, 8, 8, 1, 321

libc = ctypes.CDLL(None, use_errno=True)


def bpf(cmd, attr):
    buf = ctypes.create_string_buffer(attr, 128)
    ret = libc.syscall(SYS_BPF, cmd, buf, len(buf))
    if ret < 0:
        sys.exit("bpf: errno %d" % ctypes.get_errno())
    return ret


# r0 = 0; exit
insns = ctypes.create_string_buffer(struct.pack("=BBhiBBhi", 0xb7, 0, 0, 0, 0x95, 0, 0, 0), 16)
licence = ctypes.create_string_buffer(b"GPL")
prog = bpf(BPF_PROG_LOAD, struct.pack("=IIQQIIQIIIIIIII", CGROUP_SKB, 2, ctypes.addressof(insns),
                                      ctypes.addressof(licence), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, INET_EGRESS))
bpf(BPF_PROG_ATTACH, struct.pack("=III", os.open(sys.argv[1], os.O_RDONLY), prog, INET_EGRESS))

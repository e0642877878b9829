#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""peer.py ROLE PORT: a worker, or the server, of dlcp-train over TCP on this host, that breaks the rules."""
import socket
import struct
import sys
import time

# sizeof(struct config), which is the server's first message; the keys of that and of a worker's status
CONFIG, HELLO, STATUS = 64, 0xff, 0xfe


def head(key, length):
    """As net_tcp.c has it"""
    return struct.pack("=QQ", key, length)


# What a worker sends to the server, and what the server to a worker
WORKERS = {"leaves": b"", "other_key": head(1 << 40, 4), "other_length": head(STATUS, 1), "half": bytes(3)}
SERVERS = {"server_leaves": b"", "server_half": bytes(3), "server_other": head(HELLO, CONFIG) + bytes(CONFIG),
           "server_other_length": head(HELLO, 1)}


def connect(port):
    end = time.monotonic() + 30
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def main():
    role, port = sys.argv[1], int(sys.argv[2])
    if role in WORKERS:
        with connect(port) as server:
            server.recv(16 + CONFIG, socket.MSG_WAITALL)
            server.sendall(WORKERS[role])
        return
    if role == "quiet":
        connect(port).recv(1 << 20)
        return
    with socket.create_server(("127.0.0.1", port)) as listener:
        if role == "port":
            # Until it is ended, or nobody does
            print("listening", flush=True)
            time.sleep(60)
            return
        with listener.accept()[0] as worker:
            worker.sendall(SERVERS[role])
            worker.shutdown(socket.SHUT_WR)
            worker.recv(1 << 20)


main()

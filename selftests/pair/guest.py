# SPDX-License-Identifier: GPL-2.0
"""In one of two guests: guest.py awake | paused.

There are connections of each kind between them when the machine of one stands still, for longer than
its own dead_ms and for less than the other's. All go on but one: its end that is awake does not wait
for so long, and tells the others by that that the pause has begun.
"""

import errno
import os
import random
import socket
import struct
import subprocess
import sys
import threading
import time

PAUSE = 17              # seconds
DEAD_MS = 10000         # of the machine that is paused; the other one has the default, 30 s
IMPATIENT_MS = 5000
IN_TIME = 20            # seconds after the pause in which all has to be over
HANGS = 150             # seconds
RATE = "8mbit"
NR, SIZE = 100, 65536   # messages of a bulk transfer: 6.6 s
AMID = 20               # so many have been sent, or have come, when the pause begins
HOST = {"awake": "10.9.0.1", "paused": "10.9.0.2"}
PORT = 4711
SOL_DLCP, DLCP_DEAD_MS = 290, 6

KINDS = {"down": "bulk_to_the_paused", "up": "bulk_from_the_paused", "idle": "idle_with_keepalive",
         "reader": "reader_waits_for_what_is_sent_meanwhile", "impatient": "impatient_end_gives_up",
         "late": "set_up_meanwhile"}


def prepare(role):
    for command in ("modprobe virtio_net", f"ip link set eth0 address 02:00:00:00:00:0{HOST[role][-1]} up",
                    f"ip addr add {HOST[role]}/24 dev eth0",
                    f"tc qdisc replace dev eth0 root tbf rate {RATE} burst 16kb latency 50ms",
                    "sysctl -qw net.dlcp.keepalive_ms=1000"):
        subprocess.run(command.split(), check=True)


def new_socket():
    sock = socket.socket(socket.AF_INET, 7, 0)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * SIZE)
    return sock


def of_kind(sock, kind):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, kind in ("idle", "impatient"))
    return sock


def data(of, i):
    return struct.pack("!I", i) + random.Random(f"{of} {i}").randbytes(SIZE - 4)


def fails_with(err, call, *arguments):
    try:
        call(*arguments)
    except OSError as error:
        assert error.errno == err, f"{error!r} instead of {errno.errorcode[err]}"
        return
    raise AssertionError(f"no {errno.errorcode[err]}")


class End:
    """Of each kind of connection, in a thread of its own: the function named like the kind."""

    more = {}

    def __init__(self, role):
        self.role = role
        self.count = {"down": 0, "up": 0}
        self.threads, self.failed = {}, {}
        self.event = threading.Event()  # the pause has begun, or ended
        prepare(role)

    def start(self, kind, sock=None):
        def run():
            try:
                getattr(self, kind)(sock)
            except (OSError, AssertionError) as error:
                self.failed[kind] = repr(error)

        self.threads[kind] = threading.Thread(target=run, daemon=True)
        self.threads[kind].start()

    def send_bulk(self, sock, kind):
        for i in range(NR):
            sock.sendall(data(kind, i))
            self.count[kind] += 1
        assert sock.recv(SIZE) == b"all", "the receiver has not all of it"

    def take_bulk(self, sock, kind):
        missing = set(range(NR))
        while missing:
            got = sock.recv(SIZE)
            i = struct.unpack("!I", got[:4])[0]
            assert i in missing and got == data(kind, i), f"message {i} is wrong, or came twice"
            missing.discard(i)
            self.count[kind] += 1
        sock.sendall(b"all")

    def under_way(self):
        return [kind for kind in KINDS if kind not in self.threads or self.threads[kind].is_alive()]

    def wait(self):
        end = time.monotonic() + HANGS
        while self.under_way() and time.monotonic() < end:
            time.sleep(0.1)
        for kind in KINDS:
            if kind not in self.threads:
                self.failed[kind] = "did not begin"
            elif self.threads[kind].is_alive():
                self.failed[kind] = "still waits"

    def tell(self):
        for kind, name in (KINDS | self.more).items():
            if kind in self.failed:
                print(f"# {self.failed[kind]}")
            print("not ok" if kind in self.failed else "ok", f"{self.role}:{name}", flush=True)
        return not self.failed


class Awake(End):
    def __init__(self, role):
        super().__init__(role)
        for kind in KINDS:
            self.start(kind)
        self.wait()

    @staticmethod
    def connect(kind):
        sock = of_kind(new_socket(), kind)
        if kind == "impatient":
            sock.setsockopt(SOL_DLCP, DLCP_DEAD_MS, IMPATIENT_MS)
        end = time.monotonic() + HANGS
        while sock.connect_ex((HOST["paused"], PORT)) and time.monotonic() < end:
            time.sleep(0.1)     # it has not booted yet
        sock.sendall(kind.encode())
        assert sock.recv(SIZE) == b"welcome"
        return sock

    def down(self, _):
        self.send_bulk(self.connect("down"), "down")

    def up(self, _):
        self.take_bulk(self.connect("up"), "up")

    def idle(self, _):
        assert self.connect("idle").recv(SIZE) == b"back"

    def reader(self, _):
        sock = self.connect("reader")
        self.event.wait(HANGS)
        sock.sendall(b"meanwhile")
        sock.close()

    def impatient(self, _):
        fails_with(errno.ETIMEDOUT, self.connect("impatient").recv, SIZE)
        self.event.set()

    def late(self, _):
        self.event.wait(HANGS)
        self.connect("late")


class Paused(End):
    more = {"pause": "all_is_over_in_time"}

    def __init__(self, role):
        super().__init__(role)
        subprocess.run(["sysctl", "-qw", f"net.dlcp.dead_ms={DEAD_MS}"], check=True)
        threading.Thread(target=self.accept, daemon=True).start()
        self.start("pause")
        self.wait()

    def pause(self, _):
        end = time.monotonic() + HANGS
        while min(self.count.values()) < AMID or set(KINDS) - set(self.threads) > {"late"}:
            assert time.monotonic() < end, f"nothing to be paused: {self.count}"
            time.sleep(0.01)
        woke = self.stand_still()
        assert max(self.count.values()) < NR, "the pause came too late"
        self.event.set()
        while self.under_way():
            assert time.monotonic() < woke + IN_TIME, f"after {IN_TIME} s: {self.under_way()}"
            time.sleep(0.01)
        print(f"# figure: all was over {time.monotonic() - woke:.1f} s after the pause")

    def accept(self):
        listener = new_socket()
        listener.bind((HOST["paused"], PORT))
        listener.listen()
        for _ in KINDS:
            sock = listener.accept()[0]
            kind = sock.recv(SIZE).decode()
            sock.sendall(b"welcome")
            self.start(kind, of_kind(sock, kind))

    @staticmethod
    def stand_still():
        """Return: the time when it is over"""
        last = now = time.monotonic()
        with open("/run/lab/pause", "a", encoding="ascii") as file:
            file.write(f"{PAUSE}\n")
            file.flush()
            os.fsync(file.fileno())
        while now - last < PAUSE / 2:
            last, now = now, time.monotonic()
            time.sleep(0.01)
        return now

    def down(self, sock):
        self.take_bulk(sock, "down")

    def up(self, sock):
        self.send_bulk(sock, "up")

    def idle(self, sock):
        self.event.wait(HANGS)
        sock.sendall(b"back")

    def reader(self, sock):
        assert sock.recv(SIZE) == b"meanwhile"
        assert sock.recv(SIZE) == b""

    def impatient(self, sock):
        fails_with(errno.ECONNRESET, sock.recv, SIZE)

    def late(self, sock):
        pass


sys.exit(not {"awake": Awake, "paused": Paused}[sys.argv[1]](sys.argv[1]).tell())

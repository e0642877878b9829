# SPDX-License-Identifier: LGPL-2.1-or-later
"""monitored_barrier(): a barrier that names who did not come, and leaves the group as it was.

It goes through PyTorch's store alone, since an operation of the group that is not over in time would
end the group. It asks the store for numbers: in PyTorch 1.13 nothing else can be asked for without
waiting, and a wait that runs out of time leaves its answer to the next question.
"""

from __future__ import annotations

import time
from datetime import timedelta

import torch.distributed as dist

from ._lib import DlcpError

_PASSED, _FAILED = 1, 2


class MonitoredBarrier:
    """Those of one group: ranks tell rank 0 that they have come, and wait for its verdict.

    @timeout: unless one is given
    """

    def __init__(self, store: dist.Store, rank: int, size: int, timeout: timedelta) -> None:
        self.store, self.rank, self.size, self.timeout = store, rank, size, timeout
        self.count = 0

    def wait(self, timeout: timedelta | float | None = None, wait_all_ranks: bool = False) -> None:
        """@timeout: seconds, or a timedelta. @wait_all_ranks: name all who did not come, and not
        only the first"""
        timeout = self.timeout if timeout is None else timeout
        seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
        self.count += 1
        if self.rank:
            self._follow(seconds)
        else:
            self._lead(seconds, wait_all_ranks)

    def _verdict(self, count: int) -> str:
        return f"monitored/verdict/{count}"

    def _wait_number(self, key: str, least: int, until: float) -> int:
        """Return: the number when it is @least, or what it is in the end"""
        pause = 0.001
        while True:
            number = self.store.add(key, 0)
            left = until - time.monotonic()
            if number >= least or left <= 0:
                return number
            time.sleep(min(pause, left))
            pause = min(pause * 2, 0.05)

    def _absent(self, until: float, wait_all_ranks: bool) -> list[str]:
        late = []
        for rank in range(1, self.size):
            if self._wait_number(f"monitored/came/{rank}", self.count, until) < self.count:
                late.append(str(rank))
                if not wait_all_ranks:
                    break
        return late

    def _lead(self, seconds: float, wait_all_ranks: bool) -> None:
        if seconds > 0:
            late = self._absent(time.monotonic() + seconds, wait_all_ranks)
            why = f"{'Ranks' if len(late) > 1 else 'Rank'} {', '.join(late)} failed to pass monitoredBarrier"
        else:
            late, why = ["0"], "Rank 0 timed out in monitoredBarrier"
        if not late:
            # All have read the one before
            self.store.delete_key(self._verdict(self.count - 1))
            self.store.add(self._verdict(self.count), _PASSED)
            return
        why = f"[Rank 0]: {why} in {seconds * 1000:.0f} ms"
        self.store.set(f"monitored/why/{self.count}", why)
        self.store.add(self._verdict(self.count), _FAILED)
        raise DlcpError(why)

    def _follow(self, seconds: float) -> None:
        self.store.add(f"monitored/came/{self.rank}", 1)
        verdict = self._wait_number(self._verdict(self.count), _PASSED, time.monotonic() + seconds)
        if verdict == _PASSED:
            return
        if verdict == _FAILED:
            why = self.store.get(f"monitored/why/{self.count}").decode()
        else:
            why = f"timed out after {seconds * 1000:.0f} ms"
        raise DlcpError(
            f"Rank {self.rank} successfully reached monitoredBarrier, but received errors while waiting"
            f" for send/recv from rank 0: {why}. Please check rank 0 logs for faulty rank."
        )

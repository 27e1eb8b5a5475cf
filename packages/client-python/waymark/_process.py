"""Forks and the end of the process."""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
import time
import weakref
from typing import Protocol

log = logging.getLogger("waymark")


class Client(Protocol):
    _lock: threading.RLock

    def _start_process(self) -> None: ...

    def _finish_process(self, began: float) -> None: ...


clients: weakref.WeakSet[Client] = weakref.WeakSet()
_held: list[Client] = []
_exit_began: list[float] = []
_has_finalizer = False


def at_exit() -> None:
    """Sends all queues. Several clients, and several calls, share one time-out."""
    _exit_began.append(time.monotonic())
    for client in list(clients):
        try:
            client._finish_process(_exit_began[0])
        except Exception:
            log.debug("the end of the process failed", exc_info=True)


def use_finalizer() -> None:
    """Children of multiprocessing end without atexit; call this once such a child runs."""
    global _has_finalizer
    process, util = sys.modules.get("multiprocessing.process"), sys.modules.get("multiprocessing.util")
    if process is None or util is None or _has_finalizer:
        return
    _has_finalizer = True
    if process.parent_process() is not None:
        util.Finalize(None, at_exit, exitpriority=0)


def _before_fork() -> None:
    global _held
    held = list(clients)
    for client in held:
        client._lock.acquire()
    _held = held


def _after_fork_in_parent() -> None:
    for client in _held:
        client._lock.release()


def _after_fork_in_child() -> None:
    global _has_finalizer
    _has_finalizer = False
    _exit_began.clear()
    for client in clients:
        client._start_process()


atexit.register(at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)

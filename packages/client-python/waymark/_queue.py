"""The queue of a client: what it takes, counts and loses."""

from __future__ import annotations

import asyncio
import functools
import heapq
import threading
import time
from collections import OrderedDict
from typing import Any, Callable, NamedTuple

from ._process import log
from ._records import (
    FRAME_BYTES,
    LOST,
    MAX_BATCH_BYTES,
    MAX_BATCH_SPANS,
    NEW,
    STORED,
    Span,
    Trace,
)
from ._shared import Shared, remote_of

_Method = Callable[..., None]
MAX_LOSS_NAMES, MAX_LOSS_REASONS = 5, 20
# Losses of one time are told together, at most each minute while they go on; so are failures.
LONGEST_REPORT_WAIT = 60.0


def harmless(method: _Method) -> _Method:
    """Keeps failures of the queue itself from the program that records."""

    @functools.wraps(method)
    def call(*args: Any) -> None:
        try:
            method(*args)
        except Exception:
            log.debug("Waymark failed", exc_info=True)

    return call


class WaymarkLoss(Exception):
    """Tells how many records could not be stored, of which traces (five names at most), and why."""

    def __init__(self, traces: int, spans: int, reason: str, names: list[str], address: str) -> None:
        listed = ", ".join(f'"{name[:60]}"' for name in names[:MAX_LOSS_NAMES])
        more = " and others" if len(names) > MAX_LOSS_NAMES else ""
        at = "" if address in reason else f" at {address}"
        super().__init__(f"{traces} traces and {spans} spans could not be recorded{at} ({listed}{more}): {reason}")
        self.traces, self.spans, self.reason, self.names = traces, spans, reason, names[:MAX_LOSS_NAMES]


class Stats(NamedTuple):
    """Counts of this process."""

    queued: int
    queued_bytes: int
    sent_traces: int
    sent_spans: int
    lost_traces: int
    lost_spans: int


class Options(NamedTuple):
    """As the arguments of `Waymark`; times are in seconds."""

    api_key: str
    base_url: str
    flush_interval: float
    max_queue_bytes: int
    waits_when_full: bool
    timeout: float
    attempt_timeout: float
    retry_delay: float
    max_retry_delay: float
    max_retry_after: float
    exit_timeout: float
    threads: int
    on_error: Callable[[WaymarkLoss], object] | None
    trace_context: bool


class Queue:
    """Takes records from any thread."""

    def __init__(self, options: Options, refusal: str) -> None:
        self._options, self._refusal, self._epoch = options, refusal, 0
        self._is_closed = False
        self._start_process()

    def _start_process(self) -> None:
        """The state of a process, new after a fork."""
        self._epoch += 1
        # Reentrant, since a garbage collection or a signal may record in the middle of recording.
        self._lock = threading.RLock()
        self._work = threading.Condition(self._lock)
        self._settled = threading.Condition(self._lock)
        self._hurry = threading.Condition(self._lock)
        self._threads: set[threading.Thread] = set()
        self._idle = 0
        self._deadline = float("inf")
        self._scheduled: list[tuple[float, int, Trace | None]] = []
        self._pushed = 0
        self._pending: OrderedDict[int, tuple[Trace, Span | None, str]] = OrderedDict()
        self._last_ticket = 0
        self._bytes = 0
        self._sent_traces = self._sent_spans = self._lost_traces = self._lost_spans = 0
        self._lost_before = 0
        self._unreported: dict[str, tuple[list[int], list[str]]] = {}
        self._report_wait, self._reported_at = 0.5, float("-inf")
        self._failure, self._is_failure_told, self._quiet_until = "", False, float("-inf")

    # Recording

    def _begin(self, agent_id: object, name: object, metadata: object = None, traceparent: object = None) -> Trace:
        is_shared = self._options.trace_context
        trace = Trace(self, agent_id, name, metadata, remote_of(traceparent, is_shared), is_shared)
        self._add_trace(trace)
        return trace

    @harmless
    def _add_trace(self, trace: Trace) -> None:
        with self._lock:
            if self._admit(trace, traces=1) and trace._shared is None:
                self._enqueue(trace, None, "create", trace._size)
                self._schedule(trace, time.monotonic())

    @harmless
    def _add_span(self, span: Span) -> None:
        trace = span._trace
        if trace._shared and span._tail is None:
            return trace._shared.note(span)
        with self._lock:
            is_admitted = self._admit(trace, spans=1)
            self._adopt(trace)
            if is_admitted and trace._reason:
                self._lose(trace, trace._reason, spans=1)
            if trace._reason or not is_admitted:
                span._state = LOST
                return
            span._ticket = self._enqueue(trace, span, "span", span._size)
            trace._waiting.append(span)
            trace._waiting_bytes += span._size
            is_full = len(trace._waiting) >= MAX_BATCH_SPANS or trace._waiting_bytes >= MAX_BATCH_BYTES
            self._schedule(trace, time.monotonic() + (0 if is_full else self._options.flush_interval))

    @harmless
    def _end_span(self, span: Span, tail: bytes) -> None:
        trace = span._trace
        with self._lock:
            if span._tail is not None:
                return
            # Spans and traces belong to the process that opened them.
            if span._state == LOST or span._epoch != self._epoch:
                span._tail = b""
                return
            tail += span._take_attributes()
            span._tail = tail
            span._size += len(tail)
            if trace._shared:
                return self._add_span(span) if trace._shared.is_due(span) else None
            self._bytes += len(tail)
            if span._state == NEW:
                trace._waiting_bytes += len(tail)
            elif span._state == STORED:
                span._size = FRAME_BYTES + len(tail)
                span._ticket = self._enqueue(trace, span, "close", FRAME_BYTES)
                self._close_span(span)

    def _close_span(self, span: Span) -> None:
        span._trace._closing.append(span)
        self._schedule(span._trace, time.monotonic())

    @harmless
    def _end_trace(self, trace: Trace, body: bytes) -> None:
        with self._lock:
            if trace._state == LOST or trace._owner != self._epoch:
                return
            trace._end = body
            self._enqueue(trace, None, "end", FRAME_BYTES)
            self._schedule(trace, time.monotonic())

    @harmless
    def _end_shared(self, trace: Trace, shared: Shared, status: str) -> None:
        """Sends the span that stands for the trace, once both have ended."""
        with self._lock:
            if trace._state == LOST or trace._owner != self._epoch:
                return
            shared.status = status
            if shared.root is None:
                shared.make_root(trace)
            elif shared.root._tail is not None:
                self._add_span(shared.root)

    def _admit(self, trace: Trace, traces: int = 0, spans: int = 0) -> bool:
        """Whether the queue takes a new record; if not, it is lost. The ends of open spans are always taken."""
        if self._options.waits_when_full and self._bytes >= self._options.max_queue_bytes and not self._is_on_a_loop():
            self._settled.wait_for(
                lambda: self._bytes < self._options.max_queue_bytes or self._is_closed, self._options.timeout
            )
        if not (self._refusal or self._is_closed or self._bytes >= self._options.max_queue_bytes):
            return True
        reason = self._refusal or ("the client is closed" if self._is_closed else "the queue is full")
        if traces:
            trace._state, trace._reason = LOST, reason
        self._lose(trace, reason, traces, spans)
        return False

    def _is_on_a_loop(self) -> bool:
        return asyncio._get_running_loop() is not None or threading.current_thread() in self._threads

    def _adopt(self, trace: Trace) -> None:
        """After a fork: a trace whose id the parent still waits for is created again, with the same key, so once."""
        if trace._epoch == self._epoch:
            return
        trace._epoch = self._epoch
        trace._forget()
        if trace._id is not None:
            trace._state = STORED
        elif trace._state != LOST:
            trace._state = NEW
            self._enqueue(trace, None, "create", trace._size)

    def _enqueue(self, trace: Trace, span: Span | None, kind: str, size: int) -> int:
        self._last_ticket += 1
        self._pending[self._last_ticket] = (trace, span, kind)
        if span is None:
            trace._tickets[kind] = self._last_ticket
        self._bytes += size
        return self._last_ticket

    def _lose(self, trace: Trace, reason: str, traces: int = 0, spans: int = 0) -> None:
        self._lost_traces += traces
        self._lost_spans += spans
        if self._refusal:
            return
        if not self._unreported:
            now = time.monotonic()
            if now - self._reported_at > 2 * self._report_wait:
                self._report_wait = 0.5
            self._push(now + self._report_wait, None)
        if reason not in self._unreported and len(self._unreported) >= MAX_LOSS_REASONS:
            reason = "other reasons"
        counts, names = self._unreported.setdefault(reason, ([0, 0], []))
        counts[0] += traces
        counts[1] += spans
        if trace._name not in names and len(names) <= MAX_LOSS_NAMES:
            names.append(trace._name)

    def _report(self) -> None:
        with self._lock:
            unreported, self._unreported = self._unreported, {}
            if unreported:
                self._reported_at = time.monotonic()
                self._report_wait = min(LONGEST_REPORT_WAIT, 2 * self._report_wait)
        for reason, ((traces, spans), names) in unreported.items():
            loss = WaymarkLoss(traces, spans, reason, names, self._options.base_url)
            try:
                if self._options.on_error is None:
                    log.warning("%s", loss)
                else:
                    self._options.on_error(loss)
            except Exception:
                log.debug("on_error failed", exc_info=True)

    def _on_attempt(self, failure: str) -> None:
        """Warns of the first failed attempt, and of the first good one after it."""
        address, now = self._options.base_url, time.monotonic()
        with self._lock:
            self._failure = failure
            is_news = bool(failure) and not self._is_failure_told and now >= self._quiet_until
            is_good_news = not failure and self._is_failure_told
            if is_news:
                self._is_failure_told, self._quiet_until = True, now + LONGEST_REPORT_WAIT
            elif is_good_news:
                self._is_failure_told = False
        if is_news:
            at = "" if address in failure else f" at {address}"
            log.warning("no records arrive%s; they wait: %s", at, failure)
        elif is_good_news:
            log.warning("records arrive again at %s", address)

    # Sending

    def _schedule(self, trace: Trace, at: float) -> None:
        if trace._due is None or at < trace._due:
            trace._due = at
            self._push(at, trace)

    def _push(self, at: float, trace: Trace | None) -> None:
        self._pushed += 1
        heapq.heappush(self._scheduled, (at, self._pushed, trace))
        self._summon()

    def _summon(self) -> None:
        """Wakes or starts a thread that sends."""
        raise NotImplementedError

    def _give(self, ticket: int, size: int) -> bool:
        """Takes a record off the queue; False if it was given up before."""
        if self._pending.pop(ticket, None) is None:
            return False
        self._bytes -= size
        return True

"""The threads that send a queue."""

from __future__ import annotations

import heapq
import os
import random
import threading
import time
from typing import Any, Callable

from ._process import log, use_finalizer
from ._queue import Queue
from ._records import FRAME_BYTES, LOST, STORED, Job, Span, Trace, batch_body
from ._requests import Connection, Failure, sort_out
from ._values import describe

_TOO_LATE = "it was not sent before the end"
REPORT = Job("report", None, [])  # type: ignore[arg-type]


class Sender(Queue):
    """Sends from its own threads: requests of several traces at once, of one trace in order."""

    def _summon(self) -> None:
        """Wakes or starts a thread that sends."""
        if self._idle:
            self._work.notify()
        elif len(self._threads) < self._options.threads:
            use_finalizer()
            thread = threading.Thread(target=self._run, name="waymark", daemon=True)
            self._threads.add(thread)
            try:
                thread.start()
            except Exception:
                # No more threads, as at the interpreter's end: `_drain` sends on its own.
                self._threads.discard(thread)

    def _run(self) -> None:
        connection = Connection(self._options.base_url, self._options.api_key)
        me = threading.current_thread()
        while True:
            with self._lock:
                job = self._take()
                while job is None:
                    if self._is_closed and not self._pending:
                        self._threads.discard(me)
                        connection.close()
                        return
                    due = self._scheduled[0][0] if self._scheduled else None
                    self._idle += 1
                    self._work.wait(None if due is None else max(0.0, due - time.monotonic()))
                    self._idle -= 1
                    job = self._take()
                if self._scheduled:
                    self._summon()
            try:
                self._perform(job, connection)
            except Exception:
                log.debug("Waymark failed", exc_info=True)

    def _take(self) -> Job | None:
        now = time.monotonic()
        while self._scheduled and self._scheduled[0][0] <= now:
            at, _, trace = heapq.heappop(self._scheduled)
            if trace is None:
                return REPORT
            if trace._due != at or trace._epoch != self._epoch:
                continue
            trace._due = None
            job = trace._next()
            if job is not None:
                # Ends of spans may leave at once beside it.
                if trace._closing:
                    self._schedule(trace, now)
                return job
        return None

    def _perform(self, job: Job, connection: Connection) -> None:
        if job is REPORT:
            return self._report()
        kind, trace, spans = job
        answer: Any = None
        failure: Failure | None = None
        try:
            if kind == "create":
                answer = str(self._request(connection, "POST", "/traces", trace._body, trace._key)["trace_id"])
            elif kind == "batch":
                path = f"/traces/{trace._id}/spans/batch"
                if trace._shared:
                    told = self._request(connection, "POST", "/v1/traces", trace._shared.body(spans))
                    self._note_partial(trace, told.get("partialSuccess") or {})
                    self._sent_traces += trace._shared.root in spans
                    answer = [span._span_id for span in spans]
                else:
                    answer = self._request(connection, "POST", path, batch_body(spans), os.urandom(16).hex())[
                        "span_ids"
                    ]
                if len(answer) != len(spans):
                    raise Failure("the service gave another number of ids", -1)
            elif kind == "close":
                path = f"/traces/{trace._id}/spans/{spans[0]._id}"
                self._request(connection, "PATCH", path, b"{" + (spans[0]._tail or b"")[1:] + b"}")
            else:
                self._request(connection, "PATCH", f"/traces/{trace._id}", trace._end or b"{}")
        except Failure as error:
            failure = error
        except Exception as error:
            failure = Failure(describe(error), -1)
        with self._lock:
            self._settle(job, answer, failure)
            trace._in_flight -= 1
            if kind == "batch":
                trace._is_batching = False
            if trace._is_urgent() or (trace._due is None and trace._has_work()):
                self._schedule(trace, time.monotonic())
            self._settled.notify_all()

    def _note_partial(self, trace: Trace, partial: dict[str, Any]) -> None:
        rejected = int(partial.get("rejectedSpans") or 0)
        if rejected:
            with self._lock:
                self._sent_spans -= rejected
                self._lose(trace, str(partial.get("errorMessage")), spans=rejected)

    def _settle(self, job: Job, answer: Any, failure: Failure | None) -> None:
        kind, trace, spans = job
        reason = str(failure) if failure else ""
        if kind == "create":
            if self._give(trace._tickets.get(kind, 0), trace._size):
                self._settle_creation(trace, answer, reason)
        elif kind == "end":
            trace._end = None
            if self._give(trace._tickets.get(kind, 0), FRAME_BYTES) and failure:
                self._lose(trace, reason, traces=1)
        elif kind == "close":
            if self._give(spans[0]._ticket, spans[0]._size) and failure:
                self._lose(trace, reason, spans=1)
        elif failure is None:
            for span, span_id in zip(spans, answer):
                self._settle_span(span, str(span_id))
        else:
            refused, again = sort_out(spans, failure)
            trace._parts.extendleft(part for part in reversed(again) if part)
            self._lose_spans(refused, reason)
            if failure.is_full_trace:
                self._lose_rest(trace, reason)

    def _settle_creation(self, trace: Trace, trace_id: str | None, reason: str) -> None:
        if trace_id is not None:
            trace._id, trace._state, trace._body = trace_id, STORED, b""
            self._sent_traces += 1
            return
        trace._state = LOST
        self._lose(trace, reason, traces=1)
        self._give(trace._tickets.get("end", 0), FRAME_BYTES)
        trace._end = None
        self._lose_rest(trace, reason)

    def _lose_rest(self, trace: Trace, reason: str) -> None:
        """Loses the queued and all later spans."""
        trace._reason = reason
        spans = [span for part in trace._parts for span in part] + list(trace._waiting)
        trace._parts.clear()
        trace._waiting.clear()
        trace._waiting_bytes = 0
        self._lose_spans(spans, reason)

    def _lose_spans(self, spans: list[Span], reason: str) -> None:
        lost = 0
        for span in spans:
            if self._give(span._ticket, span._size):
                span._state, span._head = LOST, b""
                lost += 1
        if lost:
            self._lose(spans[0]._trace, reason, spans=lost)

    def _settle_span(self, span: Span, span_id: str) -> None:
        if span._ticket not in self._pending:
            return
        span._id, span._state = span_id, STORED
        self._sent_spans += 1
        was_closed = span._tail is None or span._head.endswith(span._tail)
        if was_closed:
            self._give(span._ticket, span._size)
        else:
            # It ended while it was sent: its end keeps the ticket, so that a flush waits for it.
            self._bytes -= span._size - FRAME_BYTES - len(span._tail or b"")
            span._size = FRAME_BYTES + len(span._tail or b"")
            self._close_span(span)
        span._head = b""

    def _request(self, connection: Connection, method: str, path: str, body: bytes, key: str | None = None) -> Any:
        """Repeats a request until it succeeds, is refused, or its time is over. Raises Failure."""
        started = time.monotonic()
        wait = self._options.retry_delay
        while True:
            ends = min(started + self._options.timeout, self._deadline)
            left = ends - time.monotonic()
            try:
                if left <= 0:
                    raise Failure("it was not sent in time", -1)
                answer = connection.send(method, path, body, key, min(left, self._options.attempt_timeout))
                self._on_attempt("")
                return answer
            except Failure as failure:
                again_at = time.monotonic() + max(wait * random.uniform(0.5, 1.0), failure.retry_after)
                if not failure.is_passing or failure.retry_after > self._options.max_retry_after:
                    raise
                self._on_attempt(str(failure))
                self._pause(again_at, started + self._options.timeout, failure)
            wait = min(self._options.max_retry_delay, 2 * wait)

    def _pause(self, until: float, ends: float, failure: Failure) -> None:
        """Waits for the next attempt; raises the failure if that comes after the end or a deadline set meanwhile."""
        with self._lock:
            while True:
                if until >= min(ends, self._deadline):
                    raise failure
                left = until - time.monotonic()
                if left <= 0:
                    return
                self._hurry.wait(left)

    # The end

    def _drain(self, timeout: float) -> bool:
        """Sends the queue and waits for it. Returns whether nothing was lost since the last time."""
        until = time.monotonic() + timeout
        with self._lock:
            if threading.current_thread() in self._threads:
                return False
            last = self._last_ticket
            for _, _, trace in list(self._scheduled):
                if trace is not None:
                    self._schedule(trace, 0.0)
            self._summon()

            def is_sent() -> bool:
                return not self._pending or next(iter(self._pending)) > last

            if self._threads:
                self._settled.wait_for(is_sent, max(0.0, timeout))
            else:
                self._send_here(is_sent, until)
            lost = self._lost_traces + self._lost_spans
            is_done = is_sent() and lost == self._lost_before
            self._lost_before = lost
        self._report()
        return is_done

    def _send_here(self, is_sent: Callable[[], bool], until: float) -> None:
        """Without threads, as at the interpreter's end, this one sends."""
        connection = Connection(self._options.base_url, self._options.api_key)
        while not is_sent() and time.monotonic() < until:
            job = self._take()
            if job is None:
                return
            self._perform(job, connection)
        connection.close()

    def _finish(self, timeout: float) -> bool:
        """Sends the rest, or gives it up after the timeout."""
        with self._lock:
            self._deadline = time.monotonic() + 0.85 * timeout
            self._hurry.notify_all()
        # Requests fail at the deadline by themselves; a moment more, so that their reasons are reported.
        is_done = self._drain(0.9 * timeout)
        with self._lock:
            losses: dict[int, list[Any]] = {}
            reason = _TOO_LATE + (f"; the last attempt failed: {self._failure}" if self._failure else "")
            for trace, span, _ in self._pending.values():
                lost = losses.setdefault(id(trace), [trace, 0, 0])
                if span is None:
                    lost[1] = 1
                else:
                    lost[2] += 1
                trace._state, trace._reason = LOST, reason
                if span is not None and span._id is None:
                    span._state = LOST
            for trace, traces, spans in losses.values():
                self._lose(trace, reason, traces, spans)
            self._pending.clear()
            self._scheduled.clear()
            self._bytes = 0
            self._deadline = float("inf")
            self._work.notify_all()
            self._settled.notify_all()
        self._report()
        return is_done

    def _finish_process(self, began: float) -> None:
        if self._pending or self._unreported:
            self._finish(max(0.0, began + self._options.exit_timeout - time.monotonic()))

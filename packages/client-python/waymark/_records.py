"""Traces and spans, and the requests they need next."""

from __future__ import annotations

import contextvars
import os
import time
from collections import deque
from collections.abc import Mapping
from datetime import datetime, timezone
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Tuple, TypeVar

from ._facts import attributes_of, kind_of, status_of_span, status_of_trace, warn_once
from ._labels import propagated_body
from ._shared import Remote, Shared, enter_otel, leave_otel
from ._values import describe, json_object_of, json_of, members_of, stack_of, text_of

if TYPE_CHECKING:
    from ._queue import Queue

# The service's limits, in UTF-16 units.
MAX_AGENT_ID, MAX_NAME = 255, 1_000
# With input and output of 1 MB each, a span stays below the service's 4 MiB.
MAX_ATTRIBUTES_BYTES = 1_000_000
MAX_BATCH_SPANS, MAX_BATCH_BYTES = 1_000, 1_048_576
# The Python objects of a queued record, roughly.
FRAME_BYTES = 600

NEW, SENDING, STORED, LOST = range(4)
SETTABLE = ("output", "error", "status", "attributes", "model", "provider", "usage")


class Scope(NamedTuple):
    """The trace and span that new spans belong to, in this thread or task."""

    trace: Trace
    span: Span | None
    is_entered: bool


current: contextvars.ContextVar[Scope | None] = contextvars.ContextVar("waymark", default=None)


# With that of OpenTelemetry's context.
Token = Tuple[contextvars.Token[Optional[Scope]], Any]


def current_scope() -> Scope | None:
    scope = current.get()
    return scope if scope and (scope.is_entered or not scope.trace._has_ended) else None


def enter(scope: Scope) -> Token:
    """Makes a span current, for OpenTelemetry too where services share the run."""
    shared, span = scope.trace._shared, scope.span
    ids = shared and (shared.root_id if span is None else span._span_id)
    return current.set(scope), enter_otel(shared.trace_id, ids) if shared and ids else None


def leave(token: Token | None) -> None:
    try:
        if token is not None:
            leave_otel(token[1])
            current.reset(token[0])
    except ValueError:
        # Left in another task than it was entered in.
        current.set(None)


def is_failure(error: BaseException | None) -> bool:
    if isinstance(error, SystemExit):
        return error.code not in (None, 0)
    return error is not None and not isinstance(error, GeneratorExit)


Own = TypeVar("Own", bound="Context")


class Context:
    """What traces and spans have in common: `with` and `async with`, and spans below them."""

    __slots__ = ("_tokens",)

    def __init__(self) -> None:
        self._tokens: list[Token] = []

    def span(
        self,
        name: str,
        *,
        input: object = None,
        kind: str | None = None,
        attributes: Mapping[str, object] | None = None,
        model: str | None = None,
        provider: str | None = None,
        usage: Mapping[str, float] | None = None,
    ) -> Span:
        """Opens a span below this span, also from another thread, or below the current span of this trace."""
        trace, parent, _ = self._own_scope()
        scope = current.get()
        if parent is None and scope and scope.trace is trace:
            parent = scope.span
        facts = attributes_of(attributes, model, provider, usage, "gen_ai.request.model")
        return trace._open(name, parent, input, facts, kind)

    @property
    def traceparent(self) -> str | None:
        """The header for requests to other services, which then record below this; only with `trace_context`."""
        trace, span, _ = self._own_scope()
        shared = trace._shared
        if shared is None:
            warn_once("traceparent", "a run has a traceparent if the client has the option trace_context")
            return None
        return shared.traceparent(span._span_id if span and span._span_id else shared.root_id)

    def _own_scope(self) -> Scope:
        raise NotImplementedError

    def _close(self, error: BaseException | None) -> None:
        raise NotImplementedError

    def __enter__(self: Own) -> Own:
        self._tokens.append(enter(self._own_scope()))
        return self

    async def __aenter__(self: Own) -> Own:
        return self.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        leave(self._tokens.pop() if self._tokens else None)
        self._close(error if is_failure(error) else None)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, where)


class Span(Context):
    """One step of a trace. Use it in `with`, or end it yourself."""

    __slots__ = (
        "_trace", "_parent", "_epoch", "_state", "_id", "_head", "_tail", "_size", "_ticket",
        "_attributes", "_output", "_error", "_status", "_span_id",
    )  # fmt: skip

    def __init__(
        self,
        trace: Trace,
        name: object,
        parent: Span | None,
        value: object,
        attributes: Mapping[str, object] | None,
        kind: str | None = None,
    ) -> None:
        super().__init__()
        self._trace, self._parent, self._epoch = trace, parent, trace._queue._epoch
        self._state, self._id, self._ticket = NEW, None, 0  # type: int, Optional[str], int
        label = json_of(text_of(name, MAX_NAME) or "(no name)")
        self._head = b'{"name":' + label + b',"started_at":"' + trace._now() + b'"'
        if value is not None:
            self._head += b',"input":' + json_of(value)
        known = kind_of(kind)
        if known:
            self._head += b',"kind":' + json_of(known)
        self._tail: bytes | None = None
        # OpenTelemetry's, where services share the run.
        self._span_id: str | None = None
        self._attributes: dict[str, bytes] = {}
        self._output: bytes | None = None
        self._error: str | None = None
        self._status: str | None = None
        self._add_attributes(attributes or {})
        self._size = FRAME_BYTES + len(self._head) + sum(map(len, self._attributes.values()))

    @property
    def id(self) -> str | None:
        """The service's id; None until the span is stored, or if it is lost."""
        return self._id

    def set(
        self,
        *,
        output: object = None,
        error: object = None,
        status: str | None = None,
        attributes: Mapping[str, object] | None = None,
        model: str | None = None,
        provider: str | None = None,
        usage: Mapping[str, float] | None = None,
    ) -> Span:
        """Keeps values for the end of the span. An error makes the status `error`."""
        if self._tail is not None:
            return self
        if output is not None:
            self._output = json_of(output)
        if error is not None:
            self._error = describe(error)
        if isinstance(error, BaseException):
            self._add_attributes({"exception.type": type(error).__name__, "exception.stacktrace": stack_of(error)})
        self._status = status_of_span(status) or self._status
        self._add_attributes(attributes_of(attributes, model, provider, usage, "gen_ai.response.model"))
        return self

    def end(self, **values: Any) -> None:
        """Ends the span, with what `set` takes. Only the first end counts."""
        if self._tail is not None:
            return
        for name in [name for name in values if name not in SETTABLE]:
            warn_once(f"end {name}", f"the end of a span has no {name}; there are {', '.join(SETTABLE)}")
            del values[name]
        self.set(**values)
        outcome = self._status or ("ok" if self._error is None else "error")
        tail = b',"status":"' + outcome.encode() + b'","ended_at":"' + self._trace._now() + b'"'
        if self._output is not None:
            tail += b',"output":' + self._output
            self._output = None
        if self._error is not None:
            tail += b',"error":' + json_of(self._error)
        self._trace._queue._end_span(self, tail)

    def _add_attributes(self, attributes: Mapping[str, object]) -> None:
        for key, value in attributes.items():
            self._add_attribute(text_of(key, MAX_NAME), json_of(value))

    def _own_scope(self) -> Scope:
        return Scope(self._trace, self, True)

    def _close(self, error: BaseException | None) -> None:
        self.end(error=error)

    def _add_attribute(self, key: str, value: bytes) -> None:
        others = sum(len(json_of(name)) + len(text) + 2 for name, text in self._attributes.items() if name != key)
        if others + len(json_of(key)) + len(value) + 2 > MAX_ATTRIBUTES_BYTES:
            value = json_of(f"[{len(value)} bytes, too large]")
        if others + len(json_of(key)) + len(value) + 2 <= MAX_ATTRIBUTES_BYTES:
            self._attributes[key] = value

    def _take_attributes(self) -> bytes:
        """Attributes that were not sent yet, as a member; under the queue's lock."""
        if not self._attributes:
            return b""
        taken, self._attributes = self._attributes, {}
        return b',"attributes":' + members_of(taken)


class Trace(Context):
    """One task of an agent. Use it in `with`, or end it yourself."""

    __slots__ = (
        "_queue", "_name", "_owner", "_epoch", "_started", "_origin", "_key", "_body", "_state", "_id", "_reason", "_has_ended",
        "_size", "_tickets", "_waiting", "_waiting_bytes", "_parts", "_closing", "_end", "_in_flight", "_is_batching",
        "_due", "_shared", "__weakref__",
    )  # fmt: skip

    def __init__(
        self, queue: Queue, agent_id: object, name: object, metadata: object, remote: Remote | None, is_shared: bool
    ) -> None:
        super().__init__()
        self._queue, self._owner, self._epoch = queue, queue._epoch, queue._epoch
        self._started, self._origin = time.time(), time.perf_counter()
        agent, label = text_of(agent_id, MAX_AGENT_ID) or "(no name)", text_of(name, MAX_NAME) or "(no name)"
        self._name = label
        body = b'{"agent_id":' + json_of(agent) + b',"name":' + json_of(label)
        started, labels = self._now(), propagated_body()
        body += b',"status":"running","started_at":"' + started + b'"' + labels
        known = None if metadata is None else json_object_of(metadata)
        if known is not None:
            body += b',"metadata":' + known
        self._key, self._body = os.urandom(16).hex(), body + b"}"
        self._size = FRAME_BYTES + len(body)
        self._state, self._id, self._reason = NEW, None, ""  # type: int, Optional[str], str
        self._shared = Shared(remote, agent, labels, known, started) if is_shared or remote else None
        if self._shared:
            self._state, self._id = STORED, self._shared.trace_id
        self._has_ended = False
        self._forget()

    def _forget(self) -> None:
        """Empties the queue, as after a fork: the parent sends its own records."""
        self._tickets: dict[str, int] = {}
        self._waiting: deque[Span] = deque()
        self._waiting_bytes = 0
        self._parts: deque[list[Span]] = deque()
        self._closing: deque[Span] = deque()
        self._end: bytes | None = None
        self._in_flight, self._is_batching = 0, False
        self._due: float | None = None

    @property
    def id(self) -> str | None:
        """The service's id; None until the trace is stored, or if it is lost."""
        return self._id

    def end(self, status: str = "success") -> None:
        """Ends the trace with `success`, `error` or `timeout`. Only the first end counts."""
        if self._has_ended:
            return
        self._has_ended = True
        known = status_of_trace(status)
        if self._shared:
            return self._queue._end_shared(self, self._shared, known)
        self._queue._end_trace(self, b'{"status":"' + known.encode() + b'","ended_at":"' + self._now() + b'"}')

    def _own_scope(self) -> Scope:
        return Scope(self, None, True)

    def _close(self, error: BaseException | None) -> None:
        self.end("success" if error is None else "error")

    def _open(
        self,
        name: object,
        parent: Span | None,
        value: object,
        attributes: Mapping[str, object] | None,
        kind: str | None,
    ) -> Span:
        span = Span(self, name, parent, value, attributes, kind)
        self._queue._add_span(span)
        return span

    def _now(self) -> bytes:
        """UTC with microseconds; only moves forward within a trace."""
        now = datetime.fromtimestamp(self._started + time.perf_counter() - self._origin, timezone.utc)
        return now.isoformat(timespec="microseconds")[:-6].encode() + b"Z"

    def _next(self) -> Job | None:
        """The next request, if one may leave now: parents before children, the end last. Under the queue's lock."""
        if self._state == NEW:
            self._state = SENDING
            return self._leaving("create", [])
        if self._state != STORED:
            return None
        if not self._is_batching and (self._parts or self._waiting):
            self._is_batching = True
            return self._leaving("batch", self._parts.popleft() if self._parts else self._cut_batch())
        if self._closing:
            return self._leaving("close", [self._closing.popleft()])
        if self._end is not None and self._in_flight == 0:
            return self._leaving("end", [])
        return None

    def _leaving(self, kind: str, spans: list[Span]) -> Job:
        self._in_flight += 1
        return Job(kind, self, spans)

    def _cut_batch(self) -> list[Span]:
        batch: list[Span] = []
        left = MAX_BATCH_BYTES
        while self._waiting and len(batch) < MAX_BATCH_SPANS and (not batch or self._waiting[0]._size <= left):
            span = self._waiting.popleft()
            left -= span._size
            self._waiting_bytes -= span._size
            span._head += span._take_attributes() + (b',"status":"ok"' if span._tail is None else span._tail)
            span._state = SENDING
            batch.append(span)
        return batch

    def _has_work(self) -> bool:
        return bool(self._state == NEW or self._waiting or self._is_urgent())

    def _is_urgent(self) -> bool:
        return bool(self._parts or self._closing or self._end or len(self._waiting) >= MAX_BATCH_SPANS)


class Job(NamedTuple):
    kind: str
    trace: Trace
    spans: list[Span]


def batch_body(spans: list[Span]) -> bytes:
    """A parent is named by `parent_span_id`, or by `parent_ref` in the same batch; one that is lost is passed over."""
    indexes = {id(span): index for index, span in enumerate(spans)}
    parents: list[Span | None] = []
    for span in spans:
        parent = span._parent
        while parent is not None and parent._id is None and id(parent) not in indexes:
            parent = parent._parent
        parents.append(parent)
    named = {id(parent) for parent in parents}
    texts = []
    for index, (span, parent) in enumerate(zip(spans, parents)):
        text = span._head
        if id(span) in named:
            text += b',"ref":"%d"' % index
        if parent is not None and id(parent) in indexes:
            text += b',"parent_ref":"%d"' % indexes[id(parent)]
        elif parent is not None:
            text += b',"parent_span_id":' + json_of(parent._id)
        texts.append(text + b"}")
    return b'{"spans":[' + b",".join(texts) + b"]}"

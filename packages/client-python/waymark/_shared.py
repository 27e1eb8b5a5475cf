"""Runs that several services record by OpenTelemetry's ids (W3C Trace Context), sent as OTLP."""

from __future__ import annotations

import json
import os
import re
import sys
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, NamedTuple

from ._facts import warn_once
from ._values import json_of, short_repr, to_json

if TYPE_CHECKING:
    from ._records import Span, Trace

FORM = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(?:-|$)")
# The service's limit of a resource is 64 KiB.
MAX_METADATA_BYTES = 60_000
LABELS = {
    "session_id": "session.id",
    "user_id": "user.id",
    "environment": "deployment.environment.name",
    "release": "service.version",
    "tags": "tag.tags",
}


class Remote(NamedTuple):
    trace_id: str
    span_id: str


def read_traceparent(text: str) -> Remote | None:
    match = FORM.match(text.strip())
    return Remote(match.group(1), match.group(2)) if match else None


def remote_of(given: object, is_shared: bool) -> Remote | None:
    """The span of another service that a header names, else the one of OpenTelemetry that this code runs in."""
    if not given:
        return active_span() if is_shared and given is None else None
    remote = read_traceparent(given) if isinstance(given, str) else None
    if remote is None:
        warn_once("traceparent given", f"{short_repr(given)[:60]} is no traceparent")
    return remote


def new_id(size: int) -> str:
    text = os.urandom(size).hex()
    return text if text.strip("0") else new_id(size)


def active_span() -> Remote | None:
    api = sys.modules.get("opentelemetry.trace")
    try:
        span = api.get_current_span().get_span_context() if api else None
        return Remote(f"{span.trace_id:032x}", f"{span.span_id:016x}") if span and span.is_valid else None
    except Exception:
        return None


def enter_otel(trace_id: str, span_id: str) -> Any:
    """Makes a span the parent for OpenTelemetry's instrumentations, if the program uses it; returns what ends that."""
    api, context = sys.modules.get("opentelemetry.trace"), sys.modules.get("opentelemetry.context")
    if api is None or context is None:
        return None
    try:
        ids = api.SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=False, trace_flags=api.TraceFlags(1))
        return context.attach(api.set_span_in_context(api.NonRecordingSpan(ids)))
    except Exception:
        return None


def leave_otel(token: Any) -> None:
    context = sys.modules.get("opentelemetry.context")
    if token is not None and context is not None:
        context.detach(token)


class Shared:
    """What a trace is of such a run. The first span of the trace's own name stands for it, else one made at its end."""

    __slots__ = ("trace_id", "parent_id", "root_id", "agent", "labels", "metadata", "started", "root", "status")

    def __init__(
        self, remote: Remote | None, agent: str, labels: bytes, metadata: bytes | None, started: bytes
    ) -> None:
        self.trace_id = remote.trace_id if remote else new_id(16)
        self.parent_id = remote.span_id if remote else None
        self.root_id, self.agent, self.started = new_id(8), agent, started
        self.labels: dict[str, Any] = json.loads(b"{" + labels[1:] + b"}")
        self.metadata = metadata or b"{}"
        self.root: Span | None = None
        self.status: str | None = None

    def traceparent(self, span_id: str) -> str:
        return f"00-{self.trace_id}-{span_id}-01"

    def note(self, span: Span) -> None:
        """A span has begun. It is sent once it has ended."""
        is_root = self.root is None and span._parent is None
        if is_root and span._head.startswith(b'{"name":' + json_of(span._trace._name) + b","):
            self.root, span._span_id = span, self.root_id
        else:
            span._span_id = new_id(8)

    def is_due(self, span: Span) -> bool:
        return span is not self.root or self.status is not None

    def make_root(self, trace: Trace) -> None:
        root = trace._open(trace._name, None, None, None, None)
        root._head = b'{"name":' + json_of(trace._name) + b',"started_at":"' + self.started + b'"'
        root.end()

    def body(self, spans: list[Span]) -> bytes:
        is_large = len(self.metadata) > MAX_METADATA_BYTES
        own: dict[str, Any] = {} if is_large else json.loads(self.metadata)
        resource = {"attributes": key_values({**own, "service.name": self.agent})}
        more = {"metadata": self.metadata.decode()} if is_large else {}
        texts = [self._span(span, more if span is self.root else {}) for span in spans]
        scope = {"scope": {"name": "waymark"}, "spans": texts}
        return to_json({"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}).encode()

    def _span(self, span: Span, more: dict[str, Any]) -> dict[str, Any]:
        known: dict[str, Any] = json.loads(span._head + b"}")
        is_root, kind, error = span is self.root, known.get("kind"), known.get("error")
        attributes = {**known.get("attributes", {}), **more}
        if is_root:
            # A root without a kind of its own is a run of an agent, or the service would take the trace for noise.
            kind = "agent" if kind in (None, "other", "chain") else kind
            attributes["gen_ai.agent.name"] = self.agent
            attributes.update({LABELS[name]: value for name, value in self.labels.items()})
        if kind is not None:
            attributes["openinference.span.kind"] = kind
        for name in ("input", "output"):
            if name in known:
                attributes[f"traceloop.entity.{name}"] = to_json(known[name])
        is_failed = known["status"] == "error" or (is_root and self.status in ("error", "timeout"))
        message = error or (self.status if is_root and self.status == "timeout" else "")
        parent = self.parent_id if is_root else span._parent._span_id if span._parent else self.root_id
        return {
            "traceId": self.trace_id,
            "spanId": span._span_id,
            **({"parentSpanId": parent} if parent else {}),
            "name": known["name"],
            "kind": 1,
            # Whether the parent is another service's: SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK, and with IS_REMOTE_MASK.
            "flags": 0x301 if is_root and self.parent_id else 0x101,
            "startTimeUnixNano": nanos_of(known["started_at"]),
            "endTimeUnixNano": nanos_of(known["ended_at"]),
            "attributes": key_values(attributes),
            "status": {"code": 2, "message": message} if is_failed else {"code": 1},
        }


def nanos_of(time: str) -> str:
    moment = datetime.strptime(time, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc)
    return f"{int(moment.replace(microsecond=0).timestamp())}{moment.microsecond:06d}000"


def key_values(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": any_value(value)} for key, value in values.items()]


def any_value(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return {"intValue": str(value)}
    if isinstance(value, (int, float)):
        return {"doubleValue": float(value)}
    if isinstance(value, list):
        return {"arrayValue": {"values": [any_value(each) for each in value]}}
    return {} if value is None else {"kvlistValue": {"values": key_values(value)}}

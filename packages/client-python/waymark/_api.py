"""The calls that read and score."""

from __future__ import annotations

import json
import random
import time
import urllib.parse
import uuid
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Dict, List, Optional, Tuple, Union

from ._queue import Options
from ._requests import Connection, Failure

Value = Union[str, int, float, bool, datetime, List[str], Tuple[str, ...], None]
Answer = Dict[str, Any]


class Api:
    """
    Calls of the trace API, for keys of the scope `read`, or for scores `ingest`. Arguments and answers have the API's names.
    Calls are repeated while that can help, within `timeout`, and raise WaymarkFailure.
    """

    def __init__(self, options: Options, refusal: str) -> None:
        self._options, self._refusal = options, refusal

    def list_traces(self, **query: Value) -> Answer:
        return self._read("/traces", **query)

    def get_trace(self, trace_id: str, **query: Value) -> Answer:
        return self._read("/traces/{}", trace_id, **query)

    def list_agents(self, **query: Value) -> Answer:
        return self._read("/agents", **query)

    def read_agent_series(self, agent_id: str, **query: Value) -> Answer:
        return self._read("/agents/{}/series", agent_id, **query)

    def read_agent_scores(self, agent_id: str, **query: Value) -> Answer:
        return self._read("/agents/{}/scores", agent_id, **query)

    def list_failures(self, **query: Value) -> Answer:
        return self._read("/failures", **query)

    def list_sessions(self, **query: Value) -> Answer:
        return self._read("/sessions", **query)

    def read_session(self, session_id: str, **query: Value) -> Answer:
        return self._read("/sessions/{}", session_id, **query)

    def list_users(self, **query: Value) -> Answer:
        return self._read("/users", **query)

    def get_usage(self) -> Answer:
        return self._read("/usage")

    def read_model_usage(self, **query: Value) -> Answer:
        return self._read("/usage/models", **query)

    def sum_usage(self, dimension: str, **query: Value) -> Answer:
        return self._read("/usage/by", dimension=dimension, **query)

    def list_dropped(self) -> Answer:
        return self._read("/usage/dropped")

    def add_score(
        self, trace_id: str, name: str, value: float | bool | str, *, span_id: str | None = None, comment: str | None = None
    ) -> str:
        """Scores a trace, or one of its spans. Returns the score's id."""
        of = ("/traces/{}/scores", trace_id) if span_id is None else ("/traces/{}/spans/{}/scores", trace_id, span_id)
        score = {"name": name, "value": value, **({} if comment is None else {"comment": comment})}
        answer = self._call("POST", _path(*of), json.dumps(score).encode(), uuid.uuid4().hex)
        return str(answer["score_id"])

    def iterate(self, name: str, **query: Value) -> Iterator[dict[str, Any]]:
        """The entries of all pages of `traces`, `agents`, `failures`, `sessions` or `users`."""
        cursor: Optional[str] = None
        while True:
            page = self._read(f"/{name}", **{**query, **({} if cursor is None else {"cursor": cursor})})
            yield from page[name]
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def stream_traces(self, *, last_event_id: str | None = None, **query: Value) -> Iterator[dict[str, Any]]:
        """New traces and changes of status, until the service ends the stream: {id, event, trace}. Breaks raise WaymarkFailure."""
        self._check()
        connection = Connection(self._options.base_url, self._options.api_key)
        try:
            for event, event_id, data in connection.stream(_path("/traces/stream", **query), last_event_id):
                yield {"id": event_id, "event": event, "trace": json.loads(data) if event == "trace" else None}
        finally:
            connection.close()

    def _read(self, path: str, *ids: str, **query: Value) -> Answer:
        return self._call("GET", _path(path, *ids, **query))

    def _check(self) -> None:
        if self._refusal:
            raise Failure(self._refusal)

    def _call(self, method: str, path: str, body: bytes = b"", key: str | None = None) -> Answer:
        self._check()
        options = self._options
        connection = Connection(options.base_url, options.api_key)
        end, delay = time.monotonic() + options.timeout, options.retry_delay
        try:
            while True:
                left = end - time.monotonic()
                try:
                    return connection.send(method, path, body, key, max(0.001, min(left, options.attempt_timeout)))
                except Failure as failure:
                    wait = max(delay * random.uniform(0.5, 1), failure.retry_after)
                    is_final = not failure.is_passing or failure.retry_after > options.max_retry_after
                    if is_final or time.monotonic() + wait >= end:
                        raise
                time.sleep(wait)
                delay = min(delay * 2, options.max_retry_delay)
        finally:
            connection.close()


def _path(path: str, *ids: str, **query: Value) -> str:
    given = {name: _text(value) for name, value in query.items() if value is not None}
    asked = f"?{urllib.parse.urlencode(given)}" if given else ""
    return path.format(*(urllib.parse.quote(str(each), safe="") for each in ids)) + asked


def _text(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    # A time without a zone is the machine's.
    return value.astimezone().isoformat() if isinstance(value, datetime) else str(value)

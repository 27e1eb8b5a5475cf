"""The client, and the decorator of the module."""

from __future__ import annotations

import asyncio
import os
import urllib.parse
import weakref
from collections.abc import Mapping
from typing import Any, Callable, TypeVar, overload

from ._api import Api
from ._facts import warn_once
from ._process import clients, log
from ._queue import Options, Stats, WaymarkLoss
from ._records import Scope, Span, Trace, current, current_scope
from ._sender import Sender
from ._observe import decorate
from ._values import describe

Function = TypeVar("Function", bound=Callable[..., Any])


class Waymark(Sender):
    """Records in the background. One per program is enough; threads, tasks and forked children share it."""

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        *,
        agent_id: str | None = None,
        flush_interval: float = 0.5,
        max_queue_bytes: int = 67_108_864,
        when_full: str = "drop",
        timeout: float = 60.0,
        attempt_timeout: float = 10.0,
        retry_delay: float = 0.1,
        max_retry_delay: float = 5.0,
        max_retry_after: float = 30.0,
        exit_timeout: float = 2.0,
        threads: int = 8,
        on_error: Callable[[WaymarkLoss], object] | None = None,
        trace_context: bool = False,
    ) -> None:
        key = str(api_key or os.environ.get("WAYMARK_TRACE_KEY") or "").strip()
        url = str(base_url or os.environ.get("WAYMARK_TRACE_URL") or "http://127.0.0.1:4100").rstrip("/")
        refusal = _find_misuse(key, url)
        options = Options(
            api_key=key,
            base_url="http://127.0.0.1" if refusal else url,
            flush_interval=flush_interval,
            max_queue_bytes=max_queue_bytes,
            waits_when_full=when_full == "wait",
            timeout=timeout,
            attempt_timeout=attempt_timeout,
            retry_delay=retry_delay,
            max_retry_delay=max_retry_delay,
            max_retry_after=max_retry_after,
            exit_timeout=exit_timeout,
            threads=max(1, threads),
            on_error=on_error,
            trace_context=bool(trace_context),
        )
        super().__init__(options, refusal)
        self._agent_id = agent_id
        self.api = Api(options, refusal)
        if self._refusal:
            log.warning("Waymark records nothing: %s", self._refusal)
        clients.add(self)
        global _newest
        _newest = weakref.ref(self)

    def start_trace(
        self,
        agent_id: str = "",
        name: str = "",
        metadata: Mapping[str, object] | None = None,
        traceparent: str | None = None,
    ) -> Trace:
        """
        With the header `traceparent` of a request the trace is a part of the sender's.

        Begins a trace. In this thread or task, `observe` functions record into it until it ends, unless in a `with` of
        another one.
        """
        if not agent_id:
            warn_once("agent", "a trace needs an agent_id")
        trace = self._begin(agent_id, name, metadata, traceparent)
        scope = current_scope()
        if scope is None or not scope.is_entered:
            current.set(Scope(trace, None, False))
        return trace

    @overload
    def observe(self, function: Function) -> Function: ...

    @overload
    def observe(
        self,
        function: str | None = None,
        *,
        name: str | None = None,
        agent_id: str | None = None,
        capture: bool = True,
        attributes: Mapping[str, object] | None = None,
        kind: str | None = None,
    ) -> Callable[[Function], Function]: ...

    def observe(self, function: Any = None, **options: Any) -> Any:
        """Records calls of a function as spans with arguments and result; outside a trace, each as its own trace."""
        return decorate(lambda: self, function, **options)

    def flush(self, timeout: float | None = None) -> bool:
        """Waits until the queue is sent, for 60 s by default. Returns whether nothing was lost since the last flush."""
        try:
            return self._drain(self._options.timeout if timeout is None else timeout)
        except Exception as error:
            log.debug("flush failed: %s", describe(error))
            return False

    def close(self, timeout: float | None = None) -> bool:
        """Stops recording and sends the rest within `exit_timeout`. Returns as `flush`."""
        try:
            with self._lock:
                self._is_closed = True
            return self._finish(self._options.exit_timeout if timeout is None else timeout)
        except Exception as error:
            log.debug("close failed: %s", describe(error))
            return False

    def stats(self) -> Stats:
        with self._lock:
            sent = (self._sent_traces, self._sent_spans)
            return Stats(len(self._pending), self._bytes, *sent, self._lost_traces, self._lost_spans)

    def __enter__(self) -> Waymark:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Waymark:
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await asyncio.get_running_loop().run_in_executor(None, self.close)
        except RuntimeError:
            self.close()


def current_span() -> Span | None:
    """The span that this thread or task records into, to hand it to another thread; None outside a span."""
    scope = current_scope()
    return scope.span if scope else None


_newest: weakref.ref[Waymark] | None = None


@overload
def observe(function: Function) -> Function: ...


@overload
def observe(
    function: str | None = None,
    *,
    name: str | None = None,
    agent_id: str | None = None,
    capture: bool = True,
    attributes: Mapping[str, object] | None = None,
    kind: str | None = None,
) -> Callable[[Function], Function]: ...


def observe(function: Any = None, **options: Any) -> Any:
    """As `Waymark.observe`, with the client of the current trace, else the newest one."""
    return decorate(_find_current, function, **options)


def _find_current() -> Waymark | None:
    scope = current_scope()
    client = scope.trace._queue if scope else _newest and _newest()
    return client if isinstance(client, Waymark) else None


def _find_misuse(api_key: str, base_url: str) -> str:
    if not api_key:
        return "no key: set WAYMARK_TRACE_KEY or the argument api_key"
    if api_key.startswith("wmk_stats_"):
        return "the key is one of statistics; traces need one that begins with wmk_trace_"
    if not api_key.isascii() or not api_key.isprintable():
        return "the API key is malformed"
    try:
        url = urllib.parse.urlsplit(base_url)
        is_address = url.scheme in ("http", "https") and bool(url.hostname) and (url.port or 1) > 0
    except ValueError:
        is_address = False
    return "" if is_address else "the base URL is no address of http or https"

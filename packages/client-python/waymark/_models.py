"""Calls of models recorded as spans, whatever library makes them."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from ._facts import attributes_of
from ._process import log
from ._records import Span, Trace, current_scope
from ._values import describe

if TYPE_CHECKING:
    from ._client import Waymark

# Of a text that arrives in parts; what is recorded of a value is cut at as much.
MAX_TEXT = 1_000_000
Value = TypeVar("Value")


class Request(NamedTuple):
    """What a library asks a model for. `operation` is OpenTelemetry's: `chat`, `embeddings`."""

    operation: str
    provider: str
    model: str | None
    input: object
    attributes: Mapping[str, object]


class Answer(NamedTuple):
    output: object = None
    model: str | None = None
    usage: Mapping[str, float] | None = None
    id: str | None = None
    reasons: list[str] = []


class Assembly(Protocol):
    """Puts an answer together of the parts of a stream."""

    def add(self, part: dict[str, Any]) -> None: ...

    def answer(self) -> Answer: ...


class Reading(NamedTuple):
    read: Callable[[dict[str, Any]], Answer]
    assemble: Callable[[], Assembly]


def quietly(work: Callable[[], Value]) -> Value | None:
    """An answer in another form than expected is recorded less, and never disturbs the program."""
    try:
        return work()
    except Exception as error:
        log.debug("a call of a model is recorded less: %s", describe(error))
        return None


def loose(value: object) -> dict[str, Any]:
    """The members of a dictionary, or of one of pydantic's models."""
    if isinstance(value, Mapping):
        return dict(value)
    dump = getattr(value, "model_dump", None)
    return dump() if callable(dump) else {}


def appended(text: str | None, part: object) -> str:
    present = text or ""
    return present + part if isinstance(part, str) and len(present) < MAX_TEXT else present


class ModelCall:
    """A span below the current one, else in a trace of its own. Nothing here raises."""

    def __init__(self, client: Waymark | None, request: Request, agent_id: str | None, reading: Reading) -> None:
        self._reading, self._began, self._has_part = reading, time.perf_counter(), False
        self._span: Span | None = None
        self._trace: Trace | None = None
        quietly(lambda: self._open(client, request, agent_id))

    def _open(self, client: Waymark | None, request: Request, agent_id: str | None) -> None:
        operation, provider, model, value, more = request
        name, scope = f"{operation} {model or ''}".strip(), current_scope()
        attributes = attributes_of(
            {**more, "gen_ai.operation.name": operation}, model, provider, None, "gen_ai.request.model"
        )
        if scope is not None:
            self._span = scope.trace._open(name, scope.span, value, attributes, "model")
        elif client is not None and not client._is_closed:
            self._trace = client._begin(agent_id or client._agent_id or provider, name)
            self._span = self._trace._open(name, None, value, attributes, "model")

    def finish(self, result: Any) -> None:
        """Records the answer, or its stream while the program reads it."""
        iterator: Any = getattr(result, "_iterator", None)
        if not hasattr(iterator, "__anext__") and not hasattr(iterator, "__next__"):
            return self.end(quietly(lambda: self._reading.read(loose(result))) or Answer(result))
        assembly, leave = self._reading.assemble(), getattr(result, "close", None)
        result._iterator = (self._read_async if hasattr(iterator, "__anext__") else self._read)(iterator, assembly)

        def close_recorded(*args: Any) -> Any:
            self._close(assembly, None)
            return leave(*args) if callable(leave) else None

        result.close = close_recorded

    def fail(self, error: BaseException) -> None:
        self.end(Answer(), error)

    def end(self, answer: Answer, error: BaseException | None = None) -> None:
        quietly(lambda: self._end(answer, error))

    def _end(self, answer: Answer, error: BaseException | None) -> None:
        attributes: dict[str, object] = {}
        if answer.id:
            attributes["gen_ai.response.id"] = answer.id
        if answer.reasons:
            attributes["gen_ai.response.finish_reasons"] = answer.reasons
        if self._span is not None:
            known: dict[str, Any] = {"model": answer.model, "usage": answer.usage, "attributes": attributes}
            self._span.end(output=answer.output, error=error, **known)
        if self._trace is not None:
            self._trace.end("success" if error is None else "error")

    def _note(self, assembly: Assembly, part: object) -> None:
        if not self._has_part and self._span is not None:
            self._has_part = True
            seconds = round(time.perf_counter() - self._began, 3)
            self._span.set(attributes={"gen_ai.response.time_to_first_chunk": seconds})
        quietly(lambda: assembly.add(loose(part)))

    def _close(self, assembly: Assembly, error: BaseException | None) -> None:
        answer = quietly(assembly.answer) or Answer()
        # A stream that was left has no reason of its own.
        if error is None and not answer.reasons:
            answer = answer._replace(reasons=["aborted"])
        self.end(answer, error)

    def _read(self, iterator: Iterator[Any], assembly: Assembly) -> Iterator[Any]:
        failure: BaseException | None = None
        try:
            for part in iterator:
                self._note(assembly, part)
                yield part
        except GeneratorExit:
            raise
        except BaseException as error:
            failure = error
            raise
        finally:
            self._close(assembly, failure)

    async def _read_async(self, iterator: AsyncIterator[Any], assembly: Assembly) -> AsyncIterator[Any]:
        failure: BaseException | None = None
        try:
            async for part in iterator:
                self._note(assembly, part)
                yield part
        except GeneratorExit:
            raise
        except BaseException as error:
            failure = error
            raise
        finally:
            self._close(assembly, failure)


def record_posts(
    resource: Any,
    describe_post: Callable[[str, dict[str, Any]], tuple[Request, Reading] | None],
    agent_id: str | None,
    find_client: Callable[[], Waymark | None],
) -> None:
    """Records the requests of a resource of a library that Stainless made: all of them go through `_post`."""
    original = getattr(resource, "_post", None)
    if not callable(original) or getattr(original, "_records_for_waymark", False):
        return

    def begin(args: tuple[Any, ...], kwargs: dict[str, Any]) -> ModelCall | None:
        path = str(args[0] if args else kwargs.get("path"))
        described = quietly(lambda: describe_post(path, given(kwargs.get("body"))))
        return ModelCall(find_client(), described[0], agent_id, described[1]) if described else None

    def finish(call: ModelCall | None, result: Any) -> Any:
        if call is not None:
            call.finish(result)
        return result

    @functools.wraps(original)
    def post(*args: Any, **kwargs: Any) -> Any:
        call = begin(args, kwargs)
        try:
            result = original(*args, **kwargs)
        except BaseException as error:
            if call is not None:
                call.fail(error)
            raise
        return wait(call, result) if inspect.isawaitable(result) else finish(call, result)

    async def wait(call: ModelCall | None, result: Any) -> Any:
        try:
            return finish(call, await result)
        except BaseException as error:
            if call is not None:
                call.fail(error)
            raise

    post._records_for_waymark = True  # type: ignore[attr-defined]
    resource._post = post


def given(body: object) -> dict[str, Any]:
    """Without the marks of arguments that nobody gave."""
    return {name: value for name, value in loose(body).items() if type(value).__name__ not in ("Omit", "NotGiven")}


def usage_of(counts: Mapping[str, object]) -> dict[str, float]:
    return {name: count for name, count in counts.items() if isinstance(count, (int, float))}

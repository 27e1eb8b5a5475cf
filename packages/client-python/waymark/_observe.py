"""Functions recorded as spans: plain ones, coroutines, and generators of both kinds."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import AsyncIterator, Generator, Mapping
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from ._process import log
from ._records import Span, Token, Trace, current_scope, enter, is_failure, leave
from ._values import describe, json_of

if TYPE_CHECKING:
    from ._client import Waymark


class Recipe(NamedTuple):
    find_client: Callable[[], Waymark | None]
    name: str
    agent_id: str | None
    capture: bool
    attributes: Mapping[str, object] | None
    kind: str | None
    signature: inspect.Signature | None


def decorate(
    find_client: Callable[[], Waymark | None],
    function: Any,
    *,
    name: str | None = None,
    agent_id: str | None = None,
    capture: bool = True,
    attributes: Mapping[str, object] | None = None,
    kind: str | None = None,
) -> Any:
    options: dict[str, Any] = {"agent_id": agent_id, "capture": capture, "attributes": attributes, "kind": kind}
    if function is None or isinstance(function, str):
        return functools.partial(decorate, find_client, name=name or function, **options)
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(decorate(find_client, function.__func__, name=name, **options))
    try:
        signature = inspect.signature(function) if capture else None
    except (TypeError, ValueError):
        signature = None
    label = name or getattr(function, "__qualname__", type(function).__name__).rpartition("<locals>.")[2]
    recipe = Recipe(find_client, label, agent_id, capture, attributes, kind, signature)
    if inspect.isasyncgenfunction(function):
        return wrap_async_generator(recipe, function)
    if inspect.iscoroutinefunction(function):
        return wrap_coroutine(recipe, function)
    return wrap_generator(recipe, function) if inspect.isgeneratorfunction(function) else wrap(recipe, function)


class Call:
    """A call of an observed function: its span, and its trace if it began one."""

    def __init__(self, recipe: Recipe, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._recipe = recipe
        self._span: Span | None = None
        self._trace: Trace | None = None
        self._token: Token | None = None
        try:
            self._open(arguments_of(recipe.signature, args, kwargs))
        except Exception as error:
            log.debug("a call could not be recorded: %s", describe(error))

    def _open(self, value: object) -> None:
        client, scope = self._recipe.find_client(), current_scope()
        name, attributes, kind = self._recipe.name, self._recipe.attributes, self._recipe.kind
        if scope is not None and scope.trace._queue is client:
            self._span = scope.trace._open(name, scope.span, value, attributes, kind)
        elif client is not None and not client._is_closed:
            self._trace = client._begin(self._recipe.agent_id or client._agent_id or name, name)
            self._span = self._trace._open(name, None, value, attributes, kind)

    def __enter__(self) -> None:
        """Makes the span current; a generator leaves it at each value."""
        if self._span is not None:
            self._token = enter(self._span._own_scope())

    def __exit__(self, *_: object) -> None:
        token, self._token = self._token, None
        leave(token)

    def end(self, result: object = None, error: BaseException | None = None) -> None:
        has_failed = is_failure(error)
        if self._span is not None:
            output = result if self._recipe.capture and self._span._output is None else None
            self._span.end(output=output, error=error if has_failed else None)
        if self._trace is not None:
            self._trace.end("error" if has_failed else "success")


def arguments_of(signature: inspect.Signature | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
    try:
        given = dict(signature.bind(*args, **kwargs).arguments) if signature else {}
    except TypeError:
        return None
    first = next(iter(given), None)
    if first in ("self", "cls"):
        del given[first]
    return given or None


class Collected:
    """The first values of a generator, as JSON."""

    def __init__(self) -> None:
        self._values: list[bytes] = []
        self._count = self._size = 0

    def add(self, value: object) -> None:
        self._count += 1
        if self._size < 65_536:
            self._values.append(json_of(value))
            self._size += len(self._values[-1]) + 1

    def all(self) -> object:
        values: list[Any] = [json.loads(value) for value in self._values]
        return values if len(values) == self._count else values + [f"[{self._count} values in all]"]


def wrap(recipe: Recipe, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call_observed(*args: Any, **kwargs: Any) -> Any:
        call = Call(recipe, args, kwargs)
        try:
            with call:
                result = function(*args, **kwargs)
        except BaseException as error:
            call.end(error=error)
            raise
        if inspect.isgenerator(result):
            return drive(call, result, recipe.capture)
        call.end(result)
        return result

    return call_observed


def wrap_coroutine(recipe: Recipe, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def call_observed(*args: Any, **kwargs: Any) -> Any:
        call = Call(recipe, args, kwargs)
        try:
            with call:
                result = await function(*args, **kwargs)
        except BaseException as error:
            call.end(error=error)
            raise
        call.end(result)
        return result

    return call_observed


def wrap_generator(recipe: Recipe, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def iterate_observed(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        generator = function(*args, **kwargs)
        return (yield from drive(Call(recipe, args, kwargs), generator, recipe.capture))

    return iterate_observed


def drive(call: Call, generator: Any, capture: bool) -> Generator[Any, Any, Any]:
    """Passes a generator on; its span ends with it."""
    collected = Collected()
    step: Callable[[], Any] = functools.partial(next, generator)
    try:
        while True:
            with call:
                value = step()
            if capture:
                collected.add(value)
            try:
                sent = yield value
                step = functools.partial(generator.send, sent)
            except GeneratorExit:
                with call:
                    generator.close()
                raise
            except BaseException as error:
                step = functools.partial(generator.throw, error)
    except StopIteration as stop:
        call.end(collected.all())
        return stop.value
    except BaseException as error:
        call.end(collected.all(), error)
        raise


def wrap_async_generator(recipe: Recipe, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def iterate_observed(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        generator = function(*args, **kwargs)
        call, collected = Call(recipe, args, kwargs), Collected()
        step: Callable[[], Any] = generator.__anext__
        try:
            while True:
                with call:
                    value = await step()
                if recipe.capture:
                    collected.add(value)
                try:
                    sent = yield value
                    step = functools.partial(generator.asend, sent)
                except GeneratorExit:
                    with call:
                        await generator.aclose()
                    raise
                except BaseException as error:
                    step = functools.partial(generator.athrow, error)
        except StopAsyncIteration:
            call.end(collected.all())
        except BaseException as error:
            call.end(collected.all(), error)
            raise

    return iterate_observed

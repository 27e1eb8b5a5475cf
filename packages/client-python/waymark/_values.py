"""Values as JSON for the service, in bounded size."""

from __future__ import annotations

import base64
import dataclasses
import enum
import json
import numbers
import os
import re
import traceback
from collections import deque
from collections.abc import Iterator, Mapping
from datetime import date, time
from itertools import accumulate
from typing import Any

MAX_VALUE_BYTES = 1_000_000
MAX_ERROR, MAX_REPR, MAX_DEPTH, MAX_NODES, MAX_CAUSES = 20_000, 1_000, 100, 100_000, 5
# Kept for the marks of cut values.
MARK_BYTES = 200
_NAMES = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


_NO_BRACKETS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[^"\[\]{}]+')
to_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def well_formed(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return well_formed(text).encode()


def text_of(value: object, most: int) -> str:
    """A text that the service stores: without NUL and lone surrogates, of so many UTF-16 units at most."""
    try:
        text = value if type(value) is str else str(value)
    except Exception:
        text = f"[{type(value).__name__} without a text]"
    if not text.isascii():
        text = text.encode("utf-16-le", "surrogatepass")[: 2 * most].decode("utf-16-le", "replace")
    return text[:most].replace("\0", "\ufffd")


def short_repr(value: object) -> str:
    try:
        return text_of(repr(value), MAX_REPR)
    except Exception:
        return f"[{type(value).__name__} without a text]"


def _chain(error: BaseException) -> list[BaseException]:
    """An exception and its causes, the outermost first."""
    chain, cause = [error], _cause(error)
    while cause is not None and cause not in chain and len(chain) <= MAX_CAUSES:
        chain.append(cause)
        cause = _cause(cause)
    return chain


def _cause(error: BaseException) -> BaseException | None:
    return error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _line(error: BaseException) -> str:
    text, name = text_of(error, MAX_ERROR), type(error).__name__
    return f"{name}: {text}" if text else name


def describe(error: object) -> str:
    """The class and message of an exception, and of its causes; of other values their text."""
    if not isinstance(error, BaseException):
        return text_of(error, MAX_ERROR)
    return text_of("\nCaused by: ".join(map(_line, _chain(error))), MAX_ERROR)


def stack_of(error: BaseException) -> str:
    return text_of("".join(traceback.format_exception(type(error), error, error.__traceback__)), MAX_ERROR)


class Plain:
    """Rebuilds any value from what JSON has, in bounded depth and size."""

    def __init__(self) -> None:
        self._open: set[int] = set()
        self._left = MAX_NODES
        self._bytes_left = MAX_VALUE_BYTES - MARK_BYTES * MAX_DEPTH

    def of(self, value: Any, depth: int = 0) -> Any:
        self._left -= 1
        if value is None or value is True or value is False:
            self._bytes_left -= 6
            return value
        if isinstance(value, enum.Enum):
            return self.of(value.value, depth + 1)
        if isinstance(value, str):
            return self._text(str.__str__(value))
        if isinstance(value, numbers.Integral):
            return self._number(int(value))
        if isinstance(value, numbers.Real):
            number = float(value)
            self._bytes_left -= 25
            return number if number - number == 0 else _NAMES.get(str(number), str(number))
        if isinstance(value, (date, time)):
            return self._text(value.isoformat())
        if isinstance(value, (bytes, bytearray, memoryview)):
            return self._text(_bytes(bytes(value[:MAX_VALUE_BYTES])))
        return self._container(value, depth)

    def _number(self, value: int) -> Any:
        digits = len(str(value)) if abs(value) < 10**300 else 0
        self._bytes_left -= digits + 1
        return value if digits else self._text(f"[an integer of {int(value.bit_length() * 0.30103) + 1} digits]")

    def _text(self, value: str) -> str:
        """A text whose JSON is longer than what is left is cut."""
        kept = min(len(value), max(0, self._bytes_left))
        while True:
            part = value if kept == len(value) else f"{value[:kept]}… [cut: {len(value)} characters in all]"
            size = len(utf8(to_json(part))) + 1
            if size <= self._bytes_left + MARK_BYTES or kept == 0:
                self._bytes_left -= size
                return part
            kept //= 2

    def _container(self, value: Any, depth: int) -> Any:
        if id(value) in self._open:
            return self._text("[circular]")
        if depth >= MAX_DEPTH:
            return self._text("[too deep]")
        self._open.add(id(value))
        try:
            if isinstance(value, BaseException):
                return self._members(_members_of_error(value), depth)
            if isinstance(value, Mapping):
                return self._members(value.items(), depth)
            if isinstance(value, (list, tuple, set, frozenset, deque)):
                return self._items(value, depth)
            if dataclasses.is_dataclass(value) and not isinstance(value, type):
                fields = dataclasses.fields(value)
                return self._members(((field.name, getattr(value, field.name)) for field in fields), depth)
            if not isinstance(value, type) and callable(getattr(value, "model_dump", None)):
                return self.of(value.model_dump(), depth + 1)
            return self._text(str(value) if isinstance(value, os.PathLike) or is_simple(value) else short_repr(value))
        except Exception:
            return self._text(short_repr(value))
        finally:
            self._open.discard(id(value))

    def _is_full(self) -> bool:
        return self._bytes_left <= 0 or self._left <= 0

    def _items(self, items: Any, depth: int) -> list[Any]:
        kept: list[Any] = []
        for item in items:
            if self._is_full():
                kept.append(f"[cut: {len(items) - len(kept)} more]")
                break
            kept.append(self.of(item, depth + 1))
        return kept

    def _members(self, items: Any, depth: int) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for key, item in items:
            if self._is_full():
                kept["[cut]"] = "[cut: more members]"
                break
            name = self._text(self._key(key))
            kept[name] = self.of(item, depth + 1)
        return kept

    def _key(self, key: Any) -> str:
        if isinstance(key, str):
            return str.__str__(key)
        return to_json(key) if key is None or isinstance(key, (bool, int)) else text_of(key, MAX_REPR)


def _bytes(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return "base64:" + base64.b64encode(value).decode()


def _members_of_error(error: BaseException) -> Iterator[tuple[str, Any]]:
    yield "name", type(error).__name__
    yield "message", str(error)
    yield "stack", stack_of(error)
    cause = _cause(error)
    if cause is not None:
        yield "cause", cause
    yield from vars(error).items()


def is_simple(value: object) -> bool:
    return type(value).__module__ in ("decimal", "uuid", "ipaddress")


def _depth(text: str) -> int:
    """Levels of lists and objects in a JSON text."""
    levels = accumulate(1 if bracket in "[{" else -1 for bracket in _NO_BRACKETS.sub("", text))
    return max(levels, default=0)


def json_of(value: object) -> bytes:
    """Any value as JSON of at most a megabyte. `values.ts` of the TypeScript SDK has the same rules."""
    try:
        text = to_json(value)
        is_deep = text.count("[") + text.count("{") > MAX_DEPTH and _depth(text) > MAX_DEPTH
        data = utf8(text)
        if not is_deep and len(data) <= MAX_VALUE_BYTES:
            return data
    except Exception:
        pass
    try:
        return utf8(to_json(Plain().of(value)))
    except Exception as error:
        return utf8(to_json(f"[no JSON: {describe(error)}]"))


def json_object_of(value: object) -> bytes:
    data = json_of(value)
    return data if data.startswith(b"{") else b'{"value":' + data + b"}"


def members_of(values: Mapping[str, bytes]) -> bytes:
    return b"{" + b",".join(json_of(key) + b":" + value for key, value in values.items()) + b"}"

"""Values as JSON for the service, in bounded size."""

from __future__ import annotations

import base64
import dataclasses
import enum
import json
import numbers
import os
import re
from collections import deque
from collections.abc import Iterator, Mapping
from datetime import date, time
from itertools import accumulate
from typing import Any

MAX_VALUE_BYTES = 1_000_000
MAX_ERROR, MAX_REPR, MAX_DEPTH, MAX_NODES = 20_000, 1_000, 100, 100_000


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


def describe(error: object) -> str:
    """The text of an exception, or of what is given as one."""
    if not isinstance(error, BaseException):
        return text_of(error, MAX_ERROR)
    text, name = text_of(error, MAX_ERROR), type(error).__name__
    return f"{name}: {text}" if text else name


class Plain:
    """Rebuilds any value from what JSON has, in bounded depth and size."""

    def __init__(self) -> None:
        self._open: set[int] = set()
        self._left = MAX_NODES

    def of(self, value: Any, depth: int = 0) -> Any:
        self._left -= 1
        if value is None or value is True or value is False:
            return value
        if isinstance(value, enum.Enum):
            return self.of(value.value, depth + 1)
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, numbers.Integral):
            return int(value) if abs(int(value)) < 10**300 else f"[an integer of {int(value).bit_length()} bits]"
        if isinstance(value, numbers.Real):
            number = float(value)
            return number if number - number == 0 else str(number)
        if isinstance(value, (date, time)):
            return value.isoformat()
        if isinstance(value, (bytes, bytearray, memoryview)):
            return self._bytes(bytes(value[:MAX_VALUE_BYTES]))
        if isinstance(value, BaseException):
            return describe(value)
        return self._container(value, depth)

    def _container(self, value: Any, depth: int) -> Any:
        if id(value) in self._open:
            return "[circular]"
        if depth >= MAX_DEPTH or self._left < 0:
            return f"[{type(value).__name__}, too deep or too large]"
        self._open.add(id(value))
        try:
            if isinstance(value, Mapping):
                return {self._key(key): self.of(item, depth + 1) for key, item in self._first(value.items())}
            if isinstance(value, (list, tuple, set, frozenset, deque)):
                return [self.of(item, depth + 1) for item in self._first(value)]
            if dataclasses.is_dataclass(value) and not isinstance(value, type):
                return {
                    field.name: self.of(getattr(value, field.name), depth + 1) for field in dataclasses.fields(value)
                }
            if not isinstance(value, type) and callable(getattr(value, "model_dump", None)):
                return self.of(value.model_dump(), depth + 1)
            return str(value) if isinstance(value, os.PathLike) or is_simple(value) else short_repr(value)
        except Exception:
            return short_repr(value)
        finally:
            self._open.discard(id(value))

    def _first(self, items: Any) -> Iterator[Any]:
        for item in items:
            if self._left < 0:
                return
            yield item

    def _key(self, key: Any) -> str:
        if isinstance(key, str):
            return str.__str__(key)
        return to_json(key) if key is None or isinstance(key, (bool, int)) else text_of(key, MAX_REPR)

    @staticmethod
    def _bytes(value: bytes) -> str:
        try:
            return value.decode()
        except UnicodeDecodeError:
            return "base64:" + base64.b64encode(value).decode()


def is_simple(value: object) -> bool:
    return type(value).__module__ in ("decimal", "uuid", "ipaddress")


def _depth(text: str) -> int:
    """Levels of lists and objects in a JSON text."""
    levels = accumulate(1 if bracket in "[{" else -1 for bracket in _NO_BRACKETS.sub("", text))
    return max(levels, default=0)


def json_of(value: object) -> bytes:
    """Any value as JSON of at most a megabyte. What JSON cannot hold becomes text."""
    try:
        text = to_json(value)
        if text.count("[") + text.count("{") > MAX_DEPTH and _depth(text) > MAX_DEPTH:
            text = to_json(Plain().of(value))
    except Exception:
        try:
            text = to_json(Plain().of(value))
        except Exception as error:
            text = to_json(f"[no JSON: {describe(error)}]")
    data = utf8(text)
    if len(data) <= MAX_VALUE_BYTES:
        return data
    # Escaping doubles the text at most, but for control characters, which JSON has escaped already.
    start = data[: MAX_VALUE_BYTES // 2 - 100].decode("utf-8", "ignore")
    return to_json(f"[the first part of {len(data)} bytes of JSON] {start}").encode()


def json_object_of(value: object) -> bytes:
    data = json_of(value)
    return data if data.startswith(b"{") else b'{"value":' + data + b"}"


def members_of(values: Mapping[str, bytes]) -> bytes:
    return b"{" + b",".join(json_of(key) + b":" + value for key, value in values.items()) + b"}"

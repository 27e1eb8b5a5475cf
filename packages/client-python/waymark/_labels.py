"""Labels of the traces that begin in a block of code."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar

from ._values import json_of, text_of

MAX_LABEL, MAX_TAGS, MAX_TAG = 200, 20, 100
TEXTS = ("session_id", "user_id", "environment", "release", "visit")

_propagated: ContextVar[Mapping[str, object]] = ContextVar("waymark_labels", default={})


@contextlib.contextmanager
def propagate(
    *,
    session_id: str | None = None,
    user_id: str | None = None,
    environment: str | None = None,
    release: str | None = None,
    tags: Iterable[str] | None = None,
    visit: str | None = None,
) -> Iterator[None]:
    """
    Labels the traces that begin in this block, in this thread or task; labels of an inner block win. `visit` is the
    token of the tracker's `waymark.visit()`.
    """
    given = {
        "session_id": session_id,
        "user_id": user_id,
        "environment": environment,
        "release": release,
        "tags": _tags_of(tags),
        "visit": visit,
    }
    token = _propagated.set({**_propagated.get(), **{name: value for name, value in given.items() if value}})
    try:
        yield
    finally:
        # A generator may end in another context than it began in.
        with contextlib.suppress(ValueError):
            _propagated.reset(token)


def propagated_body() -> bytes:
    """Members of a trace's body, with a comma before each."""
    body = b""
    for name, value in _propagated.get().items():
        if name in TEXTS:
            value = text_of(value, MAX_LABEL)
        if value:
            body += b',"' + name.encode() + b'":' + json_of(value)
    return body


def _tags_of(tags: Iterable[str] | None) -> list[str]:
    try:
        texts = [text_of(tag, MAX_TAG) for tag in (tags or ())]
    except Exception:
        return []
    return list(dict.fromkeys(text for text in texts if text))[:MAX_TAGS]

"""What callers tell of spans, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._process import log
from ._values import describe, short_repr

KINDS = ("model", "agent", "tool", "retrieval", "evaluation", "chain", "other")
USAGE = {
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "cached_input_tokens": "gen_ai.usage.cache_read.input_tokens",
    "cache_write_tokens": "gen_ai.usage.cache_creation.input_tokens",
    "reasoning_tokens": "gen_ai.usage.reasoning.output_tokens",
    "cost_usd": "gen_ai.usage.cost",
}
STATUSES = {"success": "success", "error": "error", "timeout": "timeout", "ok": "success"}

_said: set[str] = set()


def warn_once(topic: str, message: str) -> None:
    if topic not in _said:
        _said.add(topic)
        log.warning("%s", message)


def status_of_trace(given: object) -> str:
    if given not in ("success", "error", "timeout"):
        warn_once("trace status", f'a trace ends with "success", "error" or "timeout", not {short_repr(given)}')
    return STATUSES.get(given if isinstance(given, str) else "", "error")


def status_of_span(given: object) -> str | None:
    if given is None or given in ("ok", "error"):
        return given  # type: ignore[return-value]
    warn_once("span status", f'a span ends with "ok" or "error", not {short_repr(given)}')
    return None


def kind_of(given: object) -> str | None:
    """The service would refuse the span for another text."""
    if given is None or given in KINDS:
        return given  # type: ignore[return-value]
    warn_once("kind", f"the kind of a span is one of {', '.join(KINDS)}, not {short_repr(given)}")
    return None


def attributes_of(
    attributes: object, model: object, provider: object, usage: object, model_name: str
) -> Mapping[str, Any]:
    """A model is asked at the start of a span, and has answered at its end: `model_name` is the attribute."""
    try:
        known = dict(attributes or {})  # type: ignore[call-overload]
    except Exception as problem:
        warn_once("attributes", f"attributes are no mapping: {describe(problem)}")
        known = {}
    if model is not None:
        known[model_name] = str(model)
    if provider is not None:
        known["gen_ai.provider.name"] = str(provider)
    if isinstance(usage, Mapping):
        for name, count in usage.items():
            if name in USAGE and isinstance(count, (int, float)) and count >= 0:
                known[USAGE[name]] = count
    return known

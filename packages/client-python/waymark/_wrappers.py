"""The libraries of OpenAI and Anthropic, wrapped in one line."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, TypeVar

from ._client import _find_current
from ._models import Answer, Reading, Request, appended, loose, record_posts, usage_of

Client = TypeVar("Client")
MAX_PARTS = 1_000


def wrap_openai(client: Client, *, agent_id: str | None = None) -> Client:
    """
    Records the calls of an OpenAI client, synchronous or not: `chat.completions`, `responses` and `embeddings`, streams
    included. Returns the same client.
    """
    resources = (getattr(getattr(client, "chat", None), "completions", None), *_of(client, "responses", "embeddings"))
    for resource in resources:
        record_posts(resource, _openai_request, agent_id, _find_current)
    return client


def wrap_anthropic(client: Client, *, agent_id: str | None = None) -> Client:
    """Records the `messages` of an Anthropic client, synchronous or not, also of `beta`. Returns the same client."""
    for resource in (*_of(client, "messages"), *_of(getattr(client, "beta", None), "messages")):
        record_posts(resource, _anthropic_request, agent_id, _find_current)
    return client


def _of(owner: object, *names: str) -> Iterable[Any]:
    return (getattr(owner, name, None) for name in names)


def _attributes(body: dict[str, Any], names: Iterable[str], system: str) -> dict[str, object]:
    attributes: dict[str, object] = {
        f"gen_ai.request.{name}": body[name] for name in names if body.get(name) is not None
    }
    if body.get("tools"):
        attributes["gen_ai.tool.definitions"] = body["tools"]
    if body.get(system):
        attributes["gen_ai.system_instructions"] = body[system]
    return attributes


def _openai_request(path: str, body: dict[str, Any]) -> tuple[Request, Reading] | None:
    attributes = _attributes(body, ("temperature", "top_p", "max_tokens"), "instructions")
    ways = {
        "/chat/completions": ("chat", "messages", Reading(_read_chat, ChatAssembly)),
        "/responses": ("chat", "input", Reading(_read_response, ResponseAssembly)),
        "/embeddings": ("embeddings", "input", Reading(_read_embeddings, ChatAssembly)),
    }
    if path not in ways:
        return None
    operation, input_name, reading = ways[path]
    return Request(operation, "openai", body.get("model"), body.get(input_name), attributes), reading


def _openai_usage(told: object) -> dict[str, float]:
    usage = loose(told)
    read = loose(usage.get("prompt_tokens_details") or usage.get("input_tokens_details"))
    written = loose(usage.get("completion_tokens_details") or usage.get("output_tokens_details"))
    return usage_of(
        {
            "input_tokens": usage.get("prompt_tokens", usage.get("input_tokens")),
            "output_tokens": usage.get("completion_tokens", usage.get("output_tokens")),
            "cached_input_tokens": read.get("cached_tokens"),
            "reasoning_tokens": written.get("reasoning_tokens"),
        }
    )


def _read_chat(told: dict[str, Any]) -> Answer:
    choices = told.get("choices") or []
    messages = [_plain(choice.get("message")) for choice in choices]
    reasons = [choice["finish_reason"] for choice in choices if choice.get("finish_reason")]
    output = messages[0] if len(messages) == 1 else messages or None
    return Answer(output, told.get("model"), _openai_usage(told.get("usage")), told.get("id"), reasons)


def _plain(message: object) -> dict[str, Any]:
    return {name: value for name, value in loose(message).items() if value is not None}


def _read_response(told: dict[str, Any]) -> Answer:
    reason = loose(told.get("incomplete_details")).get("reason") or told.get("status")
    known = (told.get("model"), _openai_usage(told.get("usage")), told.get("id"), [reason] if reason else [])
    return Answer(told.get("output"), *known)


def _read_embeddings(told: dict[str, Any]) -> Answer:
    data = told.get("data") or []
    output: dict[str, object] = {"embeddings": len(data)}
    vector = data[0].get("embedding") if data else None
    if isinstance(vector, list):
        output["dimensions"] = len(vector)
    return Answer(output, told.get("model"), _openai_usage(told.get("usage")))


class ChatAssembly:
    def __init__(self) -> None:
        self._messages: dict[int, dict[str, Any]] = {}
        self._known: dict[str, Any] = {}
        self._reasons: list[str] = []

    def add(self, part: dict[str, Any]) -> None:
        self._known.update((name, part[name]) for name in ("id", "model", "usage") if part.get(name) is not None)
        for choice in part.get("choices") or []:
            at = min(choice.get("index") or 0, 127)
            message = self._messages.setdefault(at, {"role": "assistant", "content": None})
            delta = loose(choice.get("delta"))
            for name in ("content", "refusal"):
                if delta.get(name):
                    message[name] = appended(message.get(name), delta[name])
            for called in delta.get("tool_calls") or []:
                self._add_call(message.setdefault("tool_calls", {}), called)
            if choice.get("finish_reason"):
                self._reasons.append(choice["finish_reason"])

    @staticmethod
    def _add_call(calls: dict[int, dict[str, Any]], told: dict[str, Any]) -> None:
        usual = {"type": "function", "function": {"name": "", "arguments": ""}}
        call = calls.setdefault(min(told.get("index") or 0, 127), usual)
        if told.get("id"):
            call["id"] = told["id"]
        for name in ("name", "arguments"):
            call["function"][name] = appended(call["function"][name], loose(told.get("function")).get(name))

    def answer(self) -> Answer:
        messages = [
            {**message, **({"tool_calls": [*message["tool_calls"].values()]} if "tool_calls" in message else {})}
            for _, message in sorted(self._messages.items())
        ]
        output = messages if len(messages) > 1 else messages[0] if messages else None
        known = self._known
        return Answer(output, known.get("model"), _openai_usage(known.get("usage")), known.get("id"), self._reasons)


class ResponseAssembly:
    """The last events carry the whole response; before, its texts and calls so far."""

    def __init__(self) -> None:
        self._response: dict[str, Any] = {}
        self._is_whole = False
        self._texts: dict[str, str] = {}

    def add(self, part: dict[str, Any]) -> None:
        if part.get("response"):
            self._response = loose(part["response"])
            self._is_whole = str(part.get("type")).endswith((".completed", ".incomplete", ".failed"))
        key = str(part.get("item_id") or part.get("output_index"))
        if isinstance(part.get("delta"), str) and (key in self._texts or len(self._texts) < 128):
            self._texts[key] = appended(self._texts.get(key), part["delta"])

    def answer(self) -> Answer:
        answer = _read_response(self._response)
        if self._is_whole:
            return answer
        texts = [*self._texts.values()]
        return answer._replace(output=texts if len(texts) > 1 else texts[0] if texts else None, reasons=[])


def _anthropic_request(path: str, body: dict[str, Any]) -> tuple[Request, Reading] | None:
    if path.partition("?")[0] != "/v1/messages":
        return None
    attributes = _attributes(body, ("temperature", "top_p", "top_k", "max_tokens"), "system")
    request = Request("chat", "anthropic", body.get("model"), body.get("messages"), attributes)
    return request, Reading(_read_message, MessageAssembly)


def _anthropic_usage(usage: dict[str, Any]) -> dict[str, float]:
    """Anthropic counts cached tokens beside the input; Waymark counts them in it."""
    fresh, cached, written = (
        usage.get(name) for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    )
    return usage_of(
        {
            "input_tokens": None if fresh is None else fresh + (cached or 0) + (written or 0),
            "output_tokens": usage.get("output_tokens"),
            "cached_input_tokens": cached,
            "cache_write_tokens": written,
        }
    )


def _read_message(told: dict[str, Any]) -> Answer:
    reason = told.get("stop_reason")
    output = {"role": told.get("role"), "content": told.get("content")}
    known = (told.get("model"), _anthropic_usage(loose(told.get("usage"))), told.get("id"))
    return Answer(output, *known, [reason] if reason else [])


class MessageAssembly:
    def __init__(self) -> None:
        self._message: dict[str, Any] = {}
        self._usage: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._reason: str | None = None

    def add(self, part: dict[str, Any]) -> None:
        kind, at, delta = part.get("type"), part.get("index") or 0, loose(part.get("delta"))
        if kind == "message_start":
            self._message = loose(part.get("message"))
        for usage in (self._message.get("usage") if kind == "message_start" else None, part.get("usage")):
            self._usage.update((name, count) for name, count in loose(usage).items() if count is not None)
        if kind == "content_block_start" and at < MAX_PARTS:
            self._blocks[at] = {
                name: value for name, value in loose(part.get("content_block")).items() if value is not None
            }
        block = self._blocks.get(at)
        name = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}.get(
            str(delta.get("type"))
        )
        if block is not None and name:
            block[name] = appended(block.get(name), delta.get(name))
        if kind == "content_block_stop" and block is not None and "partial_json" in block:
            try:
                block["input"] = json.loads(block["partial_json"] or "{}")
                del block["partial_json"]
            except ValueError:
                pass
        self._reason = delta.get("stop_reason") or self._reason

    def answer(self) -> Answer:
        told = {**self._message, "content": [*self._blocks.values()], "usage": self._usage, "stop_reason": self._reason}
        return _read_message(told)

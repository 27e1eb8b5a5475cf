"""The libraries themselves, where they are installed, against a model server that may break its streams."""

import asyncio
import json
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from stub import Stub

import waymark

try:
    import openai
except ImportError:
    openai = None
try:
    import anthropic
except ImportError:
    anthropic = None

USAGE = {
    "prompt_tokens": 12,
    "completion_tokens": 5,
    "total_tokens": 17,
    "prompt_tokens_details": {"cached_tokens": 4},
    "completion_tokens_details": {"reasoning_tokens": 2},
}
MESSAGES = [{"role": "user", "content": "Hello?"}]
CHAT = {"model": "gpt-4o", "messages": MESSAGES}
CLAUDE = {"model": "claude-x", "max_tokens": 10, "messages": MESSAGES}


def chunk(delta, reason=None, **more):
    choices = [{"index": 0, "delta": delta, "finish_reason": reason}]
    return {
        "id": "c1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "gpt-4o-2024",
        "choices": choices,
        **more,
    }


def called(text, **more):
    return {"index": 0, **more, "function": {"arguments": text, **({"name": "get_order"} if more else {})}}


CHAT_EVENTS = [
    chunk({"role": "assistant", "content": ""}),
    *(chunk({"content": f"{word} "}) for word in ("Hello,", "you", "there")),
    chunk({"tool_calls": [called('{"id"', id="t1", type="function")]}),
    chunk({"tool_calls": [called(": 7}")]}),
    chunk({}, "tool_calls"),
    {**chunk({}), "choices": [], "usage": USAGE},
]
MESSAGE = {
    "id": "m1",
    "type": "message",
    "role": "assistant",
    "model": "claude-x",
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
    "usage": {"input_tokens": 10, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 2, "output_tokens": 1},
}
MESSAGE_EVENTS = [
    {"type": "message_start", "message": MESSAGE},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    *(
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": f"{word} "}}
        for word in ("Hello,", "you", "there")
    ),
    {"type": "content_block_stop", "index": 0},
    {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "tool_use", "id": "t1", "name": "get_order", "input": {}},
    },
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"id": 7}'}},
    {"type": "content_block_stop", "index": 1},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {"output_tokens": 9},
    },
    {"type": "message_stop"},
]


class ModelServer(BaseHTTPRequestHandler):
    """Breaks a stream after so many events."""

    cut_after = 1_000

    def log_message(self, *args):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if body["model"] == "broken":
            return self.send(400, {"error": {"message": "no such model", "type": "invalid_request_error"}})
        is_claude = "/messages" in self.path
        if "/embeddings" in self.path:
            data = [{"index": 0, "object": "embedding", "embedding": [1.0, 2.0, 3.0]}]
            usage = {"prompt_tokens": 2, "total_tokens": 2}
            return self.send(200, {"object": "list", "model": "e", "data": data, "usage": usage})
        if body.get("stream"):
            return self.stream(MESSAGE_EVENTS if is_claude else CHAT_EVENTS, is_claude)
        if is_claude:
            return self.send(
                200, {**MESSAGE, "content": [{"type": "text", "text": "Hello"}], "stop_reason": "end_turn"}
            )
        choice = {"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}
        answer = {"id": "c1", "object": "chat.completion", "created": 1, "model": "gpt-4o-2024", "choices": [choice]}
        self.send(200, {**answer, "usage": USAGE})

    def send(self, status, answer):
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def stream(self, events, is_claude):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        # A length beyond what is sent, so that a stream that breaks is no whole one.
        texts = [
            (f"event: {event['type']}\n" if is_claude else "") + f"data: {json.dumps(event)}\n\n" for event in events
        ]
        if not is_claude:
            texts.append("data: [DONE]\n\n")
        self.send_header("Content-Length", str(len("".join(texts))))
        self.end_headers()
        self.wfile.write("".join(texts[: self.cut_after]).encode())


class WrappersTest(unittest.TestCase):
    def setUp(self):
        self.stub = Stub()
        self.addCleanup(self.stub.close)
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), ModelServer)
        self.server.handle_error = lambda *args: None
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.addCleanup(setattr, ModelServer, "cut_after", 1_000)
        self.base = f"http://127.0.0.1:{self.server.server_port}"
        self.client = waymark.Waymark("wmk_trace_x", self.stub.url, flush_interval=0.02)
        self.addCleanup(self.client.close)

    def recorded(self, work):
        """The spans of what is done."""
        self.stub.spans.clear()
        with self.client.start_trace("a", "root"):
            work()
        self.assertTrue(self.client.flush())
        return list(self.stub.spans.values())

    @staticmethod
    def see(begin):
        """What a program sees of a stream: its parts and the class of its error."""
        parts = []
        try:
            for part in begin():
                parts.append(part)
        except Exception as error:
            return parts, type(error)
        return parts, None

    @staticmethod
    def see_async(begin):
        async def read():
            parts = []
            try:
                async for part in await begin():
                    parts.append(part)
            except Exception as error:
                return parts, type(error)
            return parts, None

        return asyncio.run(read())

    def check_streams(self, plain, wrapped, words_from):
        """A stream is seen as without the wrapper, wherever it breaks, and what had arrived is recorded."""
        for cut_after in (*range(8), 1_000):
            ModelServer.cut_after = cut_after
            expected, seen = plain(), []
            [span] = self.recorded(lambda seen=seen: seen.append(wrapped()))
            self.assertEqual(seen, [expected], cut_after)
            self.assertEqual(span["status"], "ok" if expected[1] is None else "error", cut_after)
            text = "".join(["Hello, ", "you ", "there "][: max(0, cut_after - words_from)])
            if text:
                self.assertIn(text, json.dumps(span["output"]))
        return span

    @unittest.skipUnless(openai, "the library of OpenAI is not installed")
    def test_an_openai_client(self):
        def make(kind):
            return kind(api_key="x", base_url=f"{self.base}/v1", max_retries=0)

        client = make(openai.OpenAI)

        def work():
            self.assertIs(waymark.wrap_openai(waymark.wrap_openai(client)), client)
            self.assertEqual(client.chat.completions.create(**CHAT, temperature=0).choices[0].message.content, "Hello")
            raw = client.chat.completions.with_raw_response.create(**CHAT)
            self.assertEqual(raw.parse().choices[0].message.content, "Hello")
            vectors = client.embeddings.create(model="e", input="text", encoding_format="float")
            self.assertEqual(vectors.data[0].embedding, [1.0, 2.0, 3.0])
            with self.assertRaisesRegex(openai.BadRequestError, "no such model"):
                client.chat.completions.create(**{**CHAT, "model": "broken"})
            with client.chat.completions.create(**CHAT, stream=True) as stream:
                for part in stream:
                    if part.choices[0].delta.content:
                        break

        answer, _, vectors, failed, left = self.recorded(work)
        self.assertEqual((answer["name"], answer["kind"], answer["input"]), ("chat gpt-4o", "model", MESSAGES))
        self.assertEqual(answer["output"], {"role": "assistant", "content": "Hello"})
        expected = {
            "gen_ai.provider.name": "openai",
            "gen_ai.response.model": "gpt-4o-2024",
            "gen_ai.usage.input_tokens": 12,
            "gen_ai.usage.cache_read.input_tokens": 4,
            "gen_ai.usage.reasoning.output_tokens": 2,
            "gen_ai.response.finish_reasons": ["stop"],
            "gen_ai.request.temperature": 0,
        }
        self.assertEqual({name: answer["attributes"][name] for name in expected}, expected)
        self.assertEqual(vectors["output"], {"embeddings": 1, "dimensions": 3})
        self.assertEqual((failed["status"], failed["error"][:19]), ("error", "BadRequestError: Er"))
        self.assertEqual(left["output"]["content"], "Hello, ")
        self.assertEqual(left["attributes"]["gen_ai.response.finish_reasons"], ["aborted"])

        span = self.check_streams(
            lambda: self.see(lambda: make(openai.OpenAI).chat.completions.create(**CHAT, stream=True)),
            lambda: self.see(
                lambda: waymark.wrap_openai(make(openai.OpenAI)).chat.completions.create(**CHAT, stream=True)
            ),
            1,
        )
        call = {"id": "t1", "type": "function", "function": {"name": "get_order", "arguments": '{"id": 7}'}}
        self.assertEqual(span["output"]["tool_calls"], [call])
        self.assertEqual(span["attributes"]["gen_ai.usage.output_tokens"], 5)
        self.assertIn("gen_ai.response.time_to_first_chunk", span["attributes"])
        self.check_streams(
            lambda: self.see_async(lambda: make(openai.AsyncOpenAI).chat.completions.create(**CHAT, stream=True)),
            lambda: self.see_async(
                lambda: waymark.wrap_openai(make(openai.AsyncOpenAI)).chat.completions.create(**CHAT, stream=True)
            ),
            1,
        )

    @unittest.skipUnless(anthropic, "the library of Anthropic is not installed")
    def test_an_anthropic_client(self):
        def make(kind):
            return kind(api_key="x", base_url=self.base, max_retries=0)

        def work():
            client = waymark.wrap_anthropic(make(anthropic.Anthropic))
            self.assertEqual(client.messages.create(**CLAUDE).content[0].text, "Hello")
            with client.messages.stream(**CLAUDE) as stream:
                self.assertEqual(stream.get_final_message().stop_reason, "tool_use")

        answer, helped = self.recorded(work)
        self.assertEqual(answer["output"]["content"][0]["text"], "Hello")
        expected = {
            "gen_ai.usage.input_tokens": 15,
            "gen_ai.usage.output_tokens": 9,
            "gen_ai.usage.cache_read.input_tokens": 3,
            "gen_ai.usage.cache_creation.input_tokens": 2,
            "gen_ai.response.finish_reasons": ["tool_use"],
        }
        self.assertEqual({name: helped["attributes"][name] for name in expected}, expected)
        tool = {"type": "tool_use", "id": "t1", "name": "get_order", "input": {"id": 7}}
        self.assertEqual(helped["output"]["content"], [{"type": "text", "text": "Hello, you there "}, tool])
        self.check_streams(
            lambda: self.see(lambda: make(anthropic.Anthropic).messages.create(**CLAUDE, stream=True)),
            lambda: self.see(
                lambda: waymark.wrap_anthropic(make(anthropic.Anthropic)).messages.create(**CLAUDE, stream=True)
            ),
            2,
        )
        self.check_streams(
            lambda: self.see_async(lambda: make(anthropic.AsyncAnthropic).messages.create(**CLAUDE, stream=True)),
            lambda: self.see_async(
                lambda: waymark.wrap_anthropic(make(anthropic.AsyncAnthropic)).messages.create(**CLAUDE, stream=True)
            ),
            2,
        )

    def test_values_of_other_makes_pass_through(self):
        odd = object()
        self.assertIs(waymark.wrap_openai(odd), odd)
        self.assertIsNone(waymark.wrap_anthropic(None))


if __name__ == "__main__":
    unittest.main()

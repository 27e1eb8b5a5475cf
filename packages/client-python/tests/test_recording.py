import asyncio
import logging
import threading
import unittest

from stub import Stub

import waymark


class RecordingTest(unittest.TestCase):
    def setUp(self):
        self.stub = Stub()
        self.addCleanup(self.stub.close)
        self.losses = []
        self.client = waymark.Waymark("wmk_trace_x", self.stub.url, flush_interval=0.05, on_error=self.losses.append)
        self.addCleanup(self.client.close)

    def flushed(self):
        self.assertTrue(self.client.flush())
        self.assertEqual(self.losses, [])
        return {span["name"]: span for span in self.stub.spans.values()}

    def parent_of(self, name):
        parent = self.stub.named(name)[0]["parent"]
        return None if parent is None else self.stub.spans[parent]["name"]

    def test_a_trace_with_nested_spans(self):
        with self.client.start_trace(agent_id="billing", name="Refund", metadata={"order": 7}) as trace:
            with trace.span("outer", input={"a": 1}) as outer:
                with trace.span("inner", kind="model", attributes={"gen_ai.request.model": "m"}) as inner:
                    inner.set(output="done", attributes={"gen_ai.usage.input_tokens": 5})
                outer.span("by hand", kind="unheard of").end(output=[1], status="error")
            with trace.span("last"):
                pass
        spans = self.flushed()
        self.assertEqual(self.stub.traces["t0"]["status"], "success")
        self.assertEqual(self.stub.traces["t0"]["metadata"], {"order": 7})
        self.assertEqual((trace.id, outer.id, outer.span("late").id), ("t0", "s0", None))
        self.assertEqual(
            [self.parent_of(name) for name in ("outer", "inner", "by hand", "last")], [None, "outer", "outer", None]
        )
        self.assertEqual(spans["inner"]["output"], "done")
        self.assertEqual(spans["inner"]["attributes"], {"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 5})
        self.assertEqual((spans["by hand"]["status"], spans["by hand"]["output"]), ("error", [1]))
        self.assertEqual((spans["inner"]["kind"], "kind" in spans["by hand"]), ("model", False))
        self.assertNotIn("attributes", spans["outer"])
        self.assertLess(spans["outer"]["started_at"], spans["inner"]["started_at"])
        self.assertLess(spans["inner"]["ended_at"], spans["outer"]["ended_at"])
        self.assertEqual(self.client.stats()[2:], (1, 4, 0, 0))

    def test_labels_of_blocks_reach_the_traces_that_begin_in_them(self):
        with waymark.propagate(session_id="s" * 300, user_id="u", tags=["x", "x", "y" * 200], visit="v1"):
            with waymark.propagate(user_id="v", environment="prod", release=""):
                self.client.start_trace("a", "inner").end()
            self.client.start_trace("a", "outer").end()
            with waymark.propagate(tags=7):
                self.client.start_trace("a", "odd").end()
        self.client.start_trace("a", "outside").end()
        self.flushed()
        traces = {trace["name"]: trace for trace in self.stub.traces.values()}
        labels = {"session_id": "s" * 200, "user_id": "u", "tags": ["x", "y" * 100], "visit": "v1"}
        self.assertEqual({name: traces["outer"][name] for name in labels}, labels)
        self.assertEqual({name: traces["odd"][name] for name in labels}, labels)
        self.assertEqual([traces["inner"][name] for name in ("user_id", "environment")], ["v", "prod"])
        self.assertNotIn("release", traces["inner"])
        self.assertNotIn("session_id", traces["outside"])

    def test_exceptions_become_the_error_and_reach_the_program(self):
        with self.assertRaisesRegex(ValueError, "no card"):
            with self.client.start_trace("a", "t") as trace, trace.span("pay"):
                raise ValueError("no card\ud800")
        with self.client.start_trace("a", "exit") as trace, self.assertRaises(SystemExit), trace.span("leave"):
            raise SystemExit(0)
        spans = self.flushed()
        self.assertEqual((spans["pay"]["status"], spans["pay"]["error"]), ("error", "ValueError: no card\ufffd"))
        self.assertEqual(spans["leave"]["status"], "ok")
        statuses = {trace["name"]: trace["status"] for trace in self.stub.traces.values()}
        self.assertEqual(statuses, {"t": "error", "exit": "success"})

    def test_a_span_that_outlives_its_batch_is_ended_later(self):
        with self.client.start_trace("a", "t") as trace:
            with trace.span("long", attributes={"a": 1, "b": 1}) as span:
                self.client.flush()
                self.assertNotIn("ended_at", self.stub.named("long")[0])
                with trace.span("child"):
                    pass
                span.set(attributes={"b": 2}, output="x")
        spans = self.flushed()
        self.assertEqual((spans["long"]["attributes"], spans["long"]["output"]), ({"a": 1, "b": 2}, "x"))
        self.assertEqual(self.parent_of("child"), "long")
        self.assertEqual(self.stub.requests[-1][:2], ("PATCH", "/api/v1/traces/t0"))

    def test_functions_are_traced(self):
        @waymark.observe
        def add(a, b=2):
            return a + b

        class Agent:
            @self.client.observe("named", kind="agent", attributes={"k": "v"})
            def act(self, question):
                return add(1) + add(2, b=3)

            @self.client.observe
            @staticmethod
            def fixed():
                return 1

            @self.client.observe(capture=False)
            def secret(self, password):
                return password

        with self.client.start_trace("a", "t"):
            self.assertEqual(Agent().act(question="?"), 8)
            self.assertEqual([Agent.fixed(), Agent().secret("s3cret")], [1, "s3cret"])
        spans = self.flushed()
        self.assertEqual((spans["named"]["input"], spans["named"]["output"]), ({"question": "?"}, 8))
        self.assertEqual((spans["named"]["kind"], "kind" in spans["add"]), ("agent", False))
        self.assertEqual([span["input"] for span in self.stub.named("add")], [{"a": 1}, {"a": 2, "b": 3}])
        self.assertEqual([self.parent_of("add"), self.parent_of("Agent.fixed")], ["named", None])
        self.assertEqual(set(spans["Agent.secret"]), {"name", "status", "started_at", "ended_at", "parent", "trace"})
        self.assertEqual(add.__name__, "add")

    def test_a_traced_function_outside_a_trace_is_one(self):
        @self.client.observe(agent_id="robot")
        def task(n):
            if n < 0:
                raise ValueError(n)

        task(1)
        self.assertRaises(ValueError, task, -1)
        loose = self.client.start_trace("b", "loose")
        task(2)
        loose.end("timeout")
        task(3)
        self.flushed()
        traces = [(trace["agent_id"], trace["name"], trace["status"]) for trace in self.stub.traces.values()]
        robot = ("robot", "task", "success")
        self.assertEqual(sorted(traces), sorted([robot, ("robot", "task", "error"), ("b", "loose", "timeout"), robot]))
        owners = [self.stub.traces[span["trace"]]["name"] for span in self.stub.named("task")]
        self.assertEqual(sorted(owners), ["loose", "task", "task", "task"])

    def test_generators_are_traced_while_they_run(self):
        @self.client.observe
        def words(count):
            for index in range(count):
                with waymark.current_span().span(f"word {index}"):
                    yield index
            return "end"

        def delegate():
            return (yield from words(2))

        with self.client.start_trace("a", "t") as trace:
            values = words(5)
            with trace.span("between"):
                next(values)
                with trace.span("own"):
                    pass
            values.close()
            self.assertEqual(list(delegate()), [0, 1])
        self.flushed()
        outputs = [span["output"] for span in self.stub.named("words")]
        self.assertEqual(sorted(outputs, key=len), [[0], [0, 1]])
        self.assertEqual([self.parent_of("own"), self.parent_of("word 0")], ["between", "words"])
        self.assertEqual({span["status"] for span in self.stub.spans.values()}, {"ok"})

    def test_tasks_have_their_own_parents(self):
        @waymark.observe
        async def step(name):
            await asyncio.sleep(0.002)
            with waymark.current_span().span(f"below {name}"):
                await asyncio.sleep(0)
            return name

        @waymark.observe
        async def stream():
            for index in range(3):
                await step(f"s{index}")
                yield index

        async def main():
            async with self.client.start_trace("a", "t") as trace, trace.span("all"):
                await asyncio.gather(*(step(str(index)) for index in range(50)))
                self.assertEqual([value async for value in stream()], [0, 1, 2])
                broken = asyncio.ensure_future(step("cancelled"))
                await asyncio.sleep(0)
                broken.cancel()
                await asyncio.gather(broken, return_exceptions=True)

        asyncio.run(main())
        spans = self.flushed()
        for index in range(50):
            parent = self.stub.spans[spans[f"below {index}"]["parent"]]
            self.assertEqual((parent["input"], parent["output"]), ({"name": str(index)}, str(index)))
        self.assertEqual([self.parent_of("stream"), self.parent_of("below s1")], ["all", "step"])
        errors = [span["error"] for span in self.stub.spans.values() if "error" in span]
        self.assertEqual(errors, ["CancelledError"])

    def test_threads_share_a_client(self):
        trace = self.client.start_trace("a", "t")
        with trace.span("all") as root:

            def work(name):
                for index in range(200):
                    with root.span(f"{name} {index}") as outer, trace.span("inner"):
                        outer.set(output=index)

            threads = [threading.Thread(target=work, args=(name,)) for name in "abcdefgh"]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        trace.end()
        spans = self.flushed()
        self.assertEqual(len(self.stub.spans), 1 + 8 * 200 * 2)
        self.assertEqual(spans["h 199"]["parent"], root.id)
        parents = {self.stub.spans[span["parent"]]["name"] for span in self.stub.named("inner")}
        self.assertEqual(len(parents), 1_600)

    def test_a_returned_generator_ends_its_span_when_it_is_read(self):
        @waymark.observe
        def stream(n):
            return (f"part {index}" for index in range(n))

        with self.client.start_trace("a", "t"):
            parts = stream(3)
            self.assertEqual(next(parts), "part 0")
            self.assertEqual(list(parts), ["part 1", "part 2"])
            with self.assertRaises(KeyError):
                stream(2).throw(KeyError("stop"))
        self.flushed()
        outputs = [(span.get("output"), span.get("error")) for span in self.stub.named("stream")]
        self.assertIn((["part 0", "part 1", "part 2"], None), outputs)

    def test_model_and_usage_are_options(self):
        with self.client.start_trace("a", "t") as trace:
            with trace.span("m", kind="model", model="asked", provider="openai") as span:
                span.set(model="answered", usage={"input_tokens": 3, "cached_input_tokens": 1, "nonsense": 4})
        names = ["gen_ai.request.model", "gen_ai.response.model", "gen_ai.provider.name"]
        attributes = self.flushed()["m"]["attributes"]
        self.assertEqual([attributes[name] for name in names], ["asked", "answered", "openai"])
        self.assertEqual(len(attributes), 5)

    def test_wrong_arguments_are_told_once_and_raise_nothing(self):
        waymark._facts._said.clear()
        with self.assertLogs("waymark", logging.WARNING) as logs:
            for _ in range(2):
                trace = self.client.start_trace()
                trace.span("s", kind="llm").end(status="fine", nonsense=1)
                trace.end("ok")
        self.assertEqual(len(logs.output), 5)
        self.client.flush()
        self.assertEqual(self.stub.traces["t0"]["status"], "success")
        with self.assertLogs("waymark", logging.WARNING) as logs:
            waymark.Waymark("wmk_stats_x")
        self.assertIn("the key is one of statistics", logs.output[0])

    def test_the_current_span_takes_values(self):
        @waymark.observe
        def model():
            waymark.current_span().set(attributes={"gen_ai.usage.input_tokens": 7}, output="own", error="slow", status="ok")
            return "result"

        self.assertIsNone(waymark.current_span())
        self.assertIsNone(waymark.current_span())
        with self.client.start_trace("a", "t"):
            self.assertIsNone(waymark.current_span())
            model()
        span = self.flushed()["model"]
        self.assertEqual((span["output"], span["error"], span["status"]), ("own", "slow", "ok"))
        self.assertEqual(span["attributes"], {"gen_ai.usage.input_tokens": 7})

    def test_attributes_are_bounded(self):
        trace = self.client.start_trace("a", "t")
        trace.span("x", attributes={**{f"k{n}": "v" * 400_000 for n in range(4)}, "k0": 1, "last": True}).end()
        attributes = self.flushed()["x"]["attributes"]
        self.assertEqual([attributes["k0"], attributes["last"]], [1, True])
        self.assertEqual(attributes["k3"], "[400002 bytes, too large]")
        self.assertEqual(len(attributes["k2"]), 400_000)

    def test_names_always_fit(self):
        trace = self.client.start_trace("x" * 300, "")
        trace.span("y" * 2_000).end()
        trace.span(None).end(attributes=[("wrong",)])
        trace.end("nonsense")
        self.flushed()
        self.assertEqual(len(self.stub.traces["t0"]["agent_id"]), 255)
        self.assertEqual((self.stub.traces["t0"]["name"], self.stub.traces["t0"]["status"]), ("(no name)", "error"))
        self.assertEqual(sorted(len(span["name"]) for span in self.stub.spans.values()), [4, 1_000])


if __name__ == "__main__":
    unittest.main()

import email.utils
import json
import logging
import threading
import time
import unittest
import unittest.mock

from stub import Stub

import waymark


class SendingTest(unittest.TestCase):
    def start(self, fate=None, **options):
        self.stub = Stub(fate)
        self.addCleanup(self.stub.close)
        self.losses = []
        options = {"flush_interval": 0.05, "retry_delay": 0.01, "on_error": self.losses.append, **options}
        client = waymark.Waymark("wmk_trace_x", self.stub.url, **options)
        self.addCleanup(client.close, 0.1)
        return client

    def lost(self):
        return [(loss.traces, loss.spans, loss.reason) for loss in self.losses]

    def record(self, client, spans=1):
        with client.start_trace("a", "t") as trace:
            for index in range(spans):
                trace.span(f"span {index}", input="x").end()

    def test_repeats_carry_the_same_key_and_store_once(self):
        answered = set()

        def fate(number, method, path):
            key = self.stub.requests[number - 1][2]
            is_first = key not in answered
            answered.add(key)
            return "drop" if is_first else None

        client = self.start(fate)
        self.record(client, 2_500)
        self.assertTrue(client.flush())
        self.assertEqual((len(self.stub.traces), len(self.stub.spans)), (1, 2_500))
        keys = [key for method, _, key in self.stub.requests if method == "POST"]
        self.assertEqual(len(keys), 2 * len(set(keys)))
        self.assertTrue(all(len(key) == 32 for key in keys))
        self.assertEqual(self.lost(), [])

    def test_retry_after_is_kept(self):
        def fate(number, method, path):
            later = email.utils.formatdate(time.time() + 1, usegmt=True)
            return {1: (429, {"Retry-After": "1"}, {}), 3: (503, {"Retry-After": later}, {})}.get(number)

        client = self.start(fate)
        began = time.monotonic()
        self.record(client)
        self.assertTrue(client.flush())
        self.assertGreaterEqual(time.monotonic() - began, 1.0)
        self.assertEqual(len(self.stub.requests), 5)

    def test_final_refusals_are_not_repeated(self):
        for status, body in [(401, {"error": "Invalid API key"}), (429, {"error": "Monthly", "upgrade_url": "/x"})]:
            client = self.start(lambda number, method, path, answer=(status, {}, body): answer)
            self.record(client, 3)
            self.assertFalse(client.flush())
            self.assertEqual(self.lost(), [(1, 3, f"{status} {body['error']}")])
            self.assertEqual(len(self.stub.requests), 1)
            self.assertEqual(client.stats(), (0, 0, 0, 0, 1, 3))
        client = self.start(lambda number, method, path: (503, {"Retry-After": "31"}, {"error": "Later"}))
        self.record(client)
        self.assertFalse(client.flush())
        self.assertEqual((len(self.stub.requests), self.lost()), (1, [(1, 1, "503 Later")]))

    def test_a_refused_span_does_not_take_others_with_it(self):
        def fate(number, method, path):
            if not path.endswith("/batch"):
                return None
            names = [span["name"] for span in json.loads(self.stub.bodies[number - 1])["spans"]]
            wrong = {f"spans.{index}.name": "No" for index, name in enumerate(names) if name in ("span 3", "span 7")}
            return (400, {}, {"error": "Validation failed", "fields": wrong}) if wrong else None

        client = self.start(fate)
        self.record(client, 10)
        self.assertFalse(client.flush())
        self.assertEqual(len(self.stub.spans), 8)
        self.assertEqual([loss[:2] for loss in self.lost()], [(0, 2)])
        self.assertEqual(self.stub.traces["t0"]["status"], "success")

    def test_a_batch_that_is_too_large_is_halved(self):
        def fate(number, method, path):
            is_large = path.endswith("/batch") and len(self.stub.bodies[number - 1]) > 2_000
            return (413, {}, {"error": "Too large", "limit_bytes": 2_000}) if is_large else None

        client = self.start(fate)
        with client.start_trace("a", "t") as trace:
            with trace.span("root"):
                for index in range(100):
                    trace.span(f"span {index}").end()
            trace.span("huge", input="x" * 3_000).end()
        self.assertFalse(client.flush())
        self.assertEqual(len(self.stub.spans), 101)
        root = next(key for key, span in self.stub.spans.items() if span["name"] == "root")
        self.assertEqual({span["parent"] for span in self.stub.spans.values()}, {None, root})
        self.assertEqual([loss[:2] for loss in self.lost()], [(0, 1)])

    def test_a_full_trace_loses_spans_and_still_ends(self):
        client = self.start(lambda number, method, path: (413, {}, {"limit": 1}) if path.endswith("/batch") else None)
        self.record(client, 5)
        client.flush()
        self.assertEqual((client.stats().lost_spans, self.stub.traces["t0"]["status"]), (5, "success"))

    def test_memory_is_bounded_and_losses_counted(self):
        release = threading.Event()
        client = self.start(lambda number, method, path: release.wait(20) and None, max_queue_bytes=200_000)
        with client.start_trace("a", "t") as trace:
            for _ in range(5_000):
                trace.span("x", input="y" * 100).end()
        stats = client.stats()
        self.assertLess(stats.queued_bytes, 210_000)
        self.assertEqual(stats.queued + stats.lost_spans, 5_002)
        release.set()
        self.assertFalse(client.flush())
        stored = len(self.stub.spans)
        self.assertGreater(stored, 100)
        self.assertEqual(client.stats(), (0, 0, 1, stored, 0, 5_000 - stored))
        self.assertEqual(sum(loss[1] for loss in self.lost()), 5_000 - stored)
        self.assertEqual({loss[2] for loss in self.lost()}, {"the queue is full"})

    def test_a_full_queue_can_make_threads_wait(self):
        client = self.start(max_queue_bytes=100_000, when_full="wait")
        self.record(client, 3_000)
        self.assertTrue(client.flush())
        self.assertEqual(len(self.stub.spans), 3_000)

    def test_bytes_return_to_zero(self):
        client = self.start(lambda number, method, path: "drop" if number % 5 == 0 else None, flush_interval=0.001)
        with client.start_trace("a", "t", {"k": "v"}) as trace:
            for index in range(500):
                with trace.span("x", attributes={"a": index}) as span:
                    with trace.span("y"):
                        if index % 10 == 0:
                            time.sleep(0.003)
                    span.end(output="o" * index, error="e", attributes={"b": 1})
        self.assertTrue(client.flush())
        self.assertEqual(client.stats(), (0, 0, 1, 1_000, 0, 0))
        self.assertTrue(all(span["attributes"]["b"] == 1 for span in self.stub.named("x")))
        self.assertTrue(all("ended_at" in span for span in self.stub.spans.values()))

    def test_close_gives_up_in_time_and_counts(self):
        client = self.start(lambda number, method, path: (503, {}, {"error": "Down"}))
        self.record(client, 7)
        began = time.monotonic()
        self.assertFalse(client.close(0.5))
        self.assertLess(time.monotonic() - began, 5)
        self.assertEqual(client.stats(), (0, 0, 0, 0, 1, 7))
        self.record(client, 1)
        self.assertEqual(client.stats()[4:], (2, 8))
        hanging = self.start(lambda number, method, path: "hang")
        self.record(hanging, 7)
        self.assertFalse(hanging.close(0.3))
        self.assertEqual(hanging.stats()[4:], (1, 7))

    def test_nothing_raises(self):
        def fail(loss):
            raise RuntimeError(loss)

        hook = unittest.mock.patch("threading.excepthook")
        self.addCleanup(lambda crashes: (hook.stop(), self.assertEqual(crashes.mock_calls, [])), hook.start())

        with self.assertLogs("waymark", logging.WARNING):
            clients = [waymark.Waymark(), waymark.Waymark("a\nb", "http://x"), waymark.Waymark("k", "ftp://[")]
        clients.append(waymark.Waymark("k", "http://127.0.0.1:1", on_error=fail, timeout=0.2))
        for client in clients:
            with client.start_trace(None, object(), metadata=5) as trace:
                trace.span({}, input=object(), attributes=5).end(status=5, output=trace)
                trace.span("x").span("y").end()
            with unittest.mock.patch("threading.Thread.start", side_effect=RuntimeError):
                self.record(client)
            self.assertFalse(client.close(0.2))
            self.assertEqual(client.stats()[4:], (2, 4))

    def test_without_threads_a_flush_sends_itself(self):
        client = self.start()
        with unittest.mock.patch.object(waymark._sender.Sender, "_summon"):
            self.record(client, 3)
            self.assertTrue(client.flush())
        self.assertEqual(len(self.stub.spans), 3)

    def test_a_failing_service_is_told_once_and_its_recovery(self):
        down = threading.Event()
        down.set()
        client = self.start(lambda number, method, path: "drop" if down.is_set() else None)
        with self.assertLogs("waymark", logging.WARNING) as logs:
            for _ in range(5):
                self.record(client)
            self.assertFalse(client.flush(0.5))
            down.clear()
            self.assertTrue(client.flush())
        self.assertEqual(len(logs.output), 2)
        self.assertIn(f"no records arrive; they wait: {self.stub.url}: ", logs.output[0])
        self.assertIn(f"records arrive again at {self.stub.url}", logs.output[1])
        self.assertEqual((self.losses, client.stats()[2:]), ([], (5, 5, 0, 0)))

    def test_a_loss_names_its_traces(self):
        client = self.start(lambda number, method, path: (401, {}, {"error": "Invalid API key"}))
        for name in "abcdefg":
            client.start_trace("a", name).end()
        client.flush()
        self.assertEqual(sum(loss.traces for loss in self.losses), 7)
        self.assertLessEqual(set(self.losses[0].names), set("abcdefg"))
        self.assertLessEqual(len(self.losses[0].names), 5)

    def test_losses_reach_the_log(self):
        client = self.start(lambda number, method, path: (401, {}, {"error": "Invalid API key"}), on_error=None)
        with self.assertLogs("waymark", logging.WARNING) as logs:
            self.record(client, 2)
            client.flush()
        self.assertIn(f'1 traces and 2 spans could not be recorded at {self.stub.url} ("t"): 401 Invalid API key', logs.output[0])


if __name__ == "__main__":
    unittest.main()

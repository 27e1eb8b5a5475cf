"""Runs of several services: what a client sends of them, as OTLP."""

import json
import unittest

from stub import Stub

import waymark

try:
    from opentelemetry import trace as otel
except ImportError:
    otel = None

HEADER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class SharedTest(unittest.TestCase):
    def setUp(self):
        self.stub = Stub(self.fate)
        self.addCleanup(self.stub.close)
        self.answers = []
        self.losses = []
        self.client = self.make(trace_context=True)

    def make(self, **options):
        client = waymark.Waymark(
            "wmk_trace_x", self.stub.url, flush_interval=0.02, retry_delay=0.01, on_error=self.losses.append, **options
        )
        self.addCleanup(client.close)
        return client

    def fate(self, number, method, path):
        return self.answers.pop(0) if self.answers else None

    def spans(self):
        """The spans by name, and their attributes."""
        self.assertTrue(self.client.flush())
        self.assertEqual({path for _, path, _ in self.stub.requests}, {"/v1/traces"})
        bodies = [json.loads(body)["resourceSpans"][0]["scopeSpans"][0]["spans"] for body in self.stub.bodies]
        spans = {span["name"]: span for body in bodies for span in body}
        return spans, {
            name: {each["key"]: next(iter(each["value"].values()), None) for each in span["attributes"]}
            for name, span in spans.items()
        }

    def test_a_run_gives_its_ids_to_others(self):
        with waymark.propagate(session_id="chat", tags=["x"]), self.client.start_trace("shop", "Order") as trace:
            with trace.span("call", input={"a": [1, 2.5, None, True]}, kind="tool") as call:
                header = call.traceparent
                call.span("below").end(error=ValueError("no"))
        self.assertEqual(header.split("-")[1], trace.id)
        spans, attributes = self.spans()
        self.assertEqual(header.split("-")[2], spans["call"]["spanId"])
        self.assertEqual(trace.traceparent.split("-")[2], spans["Order"]["spanId"])
        self.assertEqual(spans["below"]["parentSpanId"], spans["call"]["spanId"])
        self.assertEqual(spans["call"]["parentSpanId"], spans["Order"]["spanId"])
        self.assertNotIn("parentSpanId", spans["Order"])
        self.assertEqual(attributes["call"]["traceloop.entity.input"], '{"a":[1,2.5,null,true]}')
        self.assertEqual(attributes["call"]["openinference.span.kind"], "tool")
        self.assertEqual(spans["below"]["status"], {"code": 2, "message": "ValueError: no"})
        self.assertEqual(attributes["Order"]["gen_ai.agent.name"], "shop")
        self.assertEqual(attributes["Order"]["session.id"], "chat")
        self.assertEqual({span["flags"] for span in spans.values()}, {0x101})
        self.assertEqual(self.client.stats()[2:], (1, 3, 0, 0))

    def test_a_part_of_a_run_of_another_service(self):
        self.client = self.make()
        with self.assertRaises(ValueError), self.client.start_trace("bank", "Pay", traceparent=HEADER) as part:
            with part.span("Pay"):
                raise ValueError("no card")
        spans, _ = self.spans()
        self.assertEqual(list(spans), ["Pay"])
        self.assertEqual(spans["Pay"]["parentSpanId"], "00f067aa0ba902b7")
        self.assertEqual((spans["Pay"]["flags"], spans["Pay"]["status"]["code"]), (0x301, 2))
        self.assertEqual(part.id, "4bf92f3577b34da6a3ce929d0e0e4736")

    def test_a_wrong_header_and_a_plain_client(self):
        self.client = plain = self.make()
        with self.assertLogs("waymark", "WARNING") as said:
            for header in ("00-0-0-0", 7, HEADER.replace("00-", "ff-", 1)):
                plain.start_trace("a", "t", traceparent=header).end()
            self.assertIsNone(plain.start_trace("a", "t").traceparent)
        self.assertEqual(len(said.output), 2)
        self.assertTrue(plain.flush())
        self.assertEqual({path for _, path, _ in self.stub.requests[:1]}, {"/api/v1/traces"})

    def test_faults_and_refusals(self):
        partial = {"partialSuccess": {"rejectedSpans": "1", "errorMessage": "full"}}
        self.answers = [(503, {}, {}), "drop", (200, {}, partial)]
        self.client.start_trace("a", "t").end()
        self.assertFalse(self.client.flush())
        self.assertEqual([(loss.spans, loss.reason) for loss in self.losses], [(1, "full")])
        self.answers = [(400, {}, {"code": 3, "message": "no"})] * 3
        with self.client.start_trace("a", "t") as trace:
            trace.span("x").end()
        self.assertFalse(self.client.flush())
        self.assertEqual(sum(loss.spans for loss in self.losses), 3)

    @unittest.skipUnless(otel, "the API of OpenTelemetry is not installed")
    def test_the_span_of_opentelemetry_is_the_parent_and_becomes_one(self):
        outer = otel.NonRecordingSpan(otel.SpanContext(0xA, 0xB, is_remote=False, trace_flags=otel.TraceFlags(1)))
        with otel.use_span(outer):
            with self.client.start_trace("a", "t") as trace, trace.span("inner") as inner:
                below = otel.get_current_span().get_span_context()
                self.assertEqual(f"{below.span_id:016x}", inner.traceparent.split("-")[2])
            self.assertIs(otel.get_current_span(), outer)
        spans, _ = self.spans()
        self.assertEqual((spans["t"]["parentSpanId"], int(trace.id, 16)), (f"{0xB:016x}", 0xA))


if __name__ == "__main__":
    unittest.main()

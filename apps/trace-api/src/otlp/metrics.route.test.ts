import { describe, expect, it } from "@jest/globals";
import { loadOtlpMessages } from "@waymark/traces/otlp";
import request from "supertest";
import { useApp } from "../app.fixture.js";
import { jsonOf, sendOtlp } from "./otlp.fixture.js";

const messages = loadOtlpMessages("metrics");
const points = (count: number) => ({
  dataPoints: Array.from({ length: count }, () => ({ asInt: "7", timeUnixNano: "1" })),
});
const body = {
  resourceMetrics: [
    {
      resource: { attributes: [{ key: "service.name", value: { stringValue: "shop" } }] },
      scopeMetrics: [
        {
          metrics: [
            { name: "tokens", sum: points(3) },
            { name: "cost", gauge: points(1) },
          ],
        },
        { metrics: [{ name: "latency", histogram: points(2) }, { name: "nothing" }] },
      ],
    },
    {},
  ],
};
const kept = "Metrics are not kept: send traces to /v1/traces and logs to /v1/logs";

describe("POST /v1/metrics", () => {
  const test = useApp();

  describe("200", () => {
    it("says in JSON how many data points are not kept", async () => {
      const account = await test.makeAccount("free");
      const bytes = Buffer.from(JSON.stringify(body));
      const answer = await sendOtlp(account, bytes, "application/json", { path: "/v1/metrics" }).expect(200);
      expect(jsonOf(answer)).toEqual({ partialSuccess: { rejectedDataPoints: "6", errorMessage: kept } });
      const empty = Buffer.from('{"resourceMetrics":[]}');
      const quiet = await sendOtlp(account, empty, "application/json", { path: "/v1/metrics" }).expect(200);
      expect(jsonOf(quiet)).toEqual({});
    });

    it("says the same in protobuf, for a body in gzip too", async () => {
      const account = await test.makeAccount("pro");
      const bytes = Buffer.from(messages.request.encode(messages.request.fromObject(body)).finish());
      for (const encoding of [undefined, "gzip"] as const) {
        const sent = sendOtlp(account, bytes, "application/x-protobuf", { path: "/v1/metrics", encoding });
        const answer = await sent.expect(200).expect("Content-Type", "application/x-protobuf");
        const { partialSuccess } = messages.response.toObject(messages.response.decode(answer.body), { longs: Number });
        expect(partialSuccess).toEqual({ rejectedDataPoints: 6, errorMessage: kept });
      }
    });
  });

  it("answers 400 to a body that is no request, as google.rpc.Status", async () => {
    const account = await test.makeAccount("pro");
    const wrong = Buffer.from('{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"sum":{"dataPoints":{}}}]}]}]}');
    const answer = await sendOtlp(account, wrong, "application/json", { path: "/v1/metrics" }).expect(400);
    expect(jsonOf(answer)).toMatchObject({ code: 3, message: "dataPoints must be an array" });
    await sendOtlp(account, Buffer.from([255]), "application/x-protobuf", { path: "/v1/metrics" }).expect(400);
  });

  it("answers 401 without a key", async () => {
    const answer = await request(test.app).post("/v1/metrics").send(body).expect(401);
    expect(answer.body).toMatchObject({ code: 16, message: "Invalid API key" });
  });
});

import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import { spanBody, type TestAccount, useApp } from "../app.fixture.js";
import { sendJson } from "../otlp/otlp.fixture.js";

const june = { from: "2026-06-01T00:00:00.000Z", to: "2026-07-01T00:00:00.000Z" };

const test = useApp();

async function list(account: TestAccount, query: Record<string, string | number> = june) {
  const { body } = await account.get("/api/v1/failures").query(query).expect(200);
  return body;
}

interface ReadSpan {
  id: string;
  name: string;
  status: string;
  started_at: string;
  ended_at: string | null;
  error: string | null;
  parent_span_id: string | null;
}

/** The innermost failing span by another way than the service's SQL. */
function innermost(spans: readonly ReadSpan[]): ReadSpan | undefined {
  const failing = spans.filter(({ status }) => status === "error");
  const parents = new Set(failing.flatMap(({ id, parent_span_id }) => (parent_span_id === id ? [] : [parent_span_id])));
  const keyOf = (span: ReadSpan) =>
    [parents.has(span.id), span.ended_at ?? span.started_at, span.started_at, span.id].join();
  return failing.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))[0];
}

async function recount(account: TestAccount, traceIds: readonly string[]) {
  const counts = new Map<string, number>();
  for (const id of traceIds) {
    const { body } = await account.get(`/api/v1/traces/${id}`).expect(200);
    if (!["error", "timeout"].includes(body.status)) continue;
    const span = innermost(body.spans);
    const key = JSON.stringify([body.agent_id, span?.name ?? null, span?.error ?? null]);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return Object.fromEntries(counts);
}

async function countsOf(account: TestAccount) {
  const { failures } = await list(account);
  const entries = failures.map((each: Record<string, unknown>) => [
    JSON.stringify([each["agent_id"], each["span_name"], each["error"]]),
    each["count"],
  ]);
  return Object.fromEntries(entries);
}

describe("GET /api/v1/failures", () => {
  describe("200", () => {
    it("lists groups, most frequent first", async () => {
      const account = await test.makeAccount("pro");
      for (const order of [7, 1042]) {
        const id = await account.makeTrace();
        await account
          .post(
            `/api/v1/traces/${id}/spans`,
            spanBody({ status: "error", name: "get_order", error: `Order ${order}?` }),
          )
          .expect(201);
        await account.patch(`/api/v1/traces/${id}`, { status: "error", ended_at: `2026-06-01T12:00:0${order % 5}Z` });
      }
      const last = await account.makeTrace({ status: "timeout", ended_at: "2026-06-02T00:00:00Z" });
      expect(await list(account)).toEqual({
        failures: [
          {
            id: expect.any(String),
            agent_id: "agent",
            span_name: "get_order",
            error: "Order N?",
            count: 2,
            first_at: "2026-06-01T12:00:02.000Z",
            last_at: "2026-06-01T12:00:02.000Z",
            trace_id: expect.any(String),
            muted_until: null,
          },
          expect.objectContaining({ span_name: null, error: null, count: 1, trace_id: last }),
        ],
        next_cursor: null,
      });
    });

    it("agrees with a recount of the traces after any changes", async () => {
      const step = fc.record({
        what: fc.constantFrom("trace", "span", "status", "change", "read"),
        trace: fc.nat({ max: 3 }),
        span: fc.nat({ max: 3 }),
        status: fc.constantFrom("running", "success", "error", "timeout"),
        isError: fc.boolean(),
        name: fc.constantFrom("plan", "call"),
        error: fc.constantFrom(null, "HTTP 500", "HTTP 502"),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
          const account = await test.makeAccount("pro");
          const traces: { id: string; spans: string[] }[] = [];
          for (const { what, status, isError, name, error, ...at } of steps) {
            const trace = traces[at.trace];
            if (what === "trace" || !trace) {
              traces.push({ id: await account.makeTrace({ agent_id: name, status }), spans: [] });
              continue;
            }
            const path = `/api/v1/traces/${trace.id}`;
            const span = { status: isError ? "error" : "ok", error };
            const parent_span_id = trace.spans[at.span] ?? null;
            if (what === "span") {
              const { body } = await account
                .post(`${path}/spans`, spanBody({ ...span, name, parent_span_id }))
                .expect(201);
              trace.spans.push(body.span_id);
            }
            if (what === "change" && parent_span_id)
              await account.patch(`${path}/spans/${parent_span_id}`, span).expect(200);
            if (what === "status") await account.patch(path, { status }).expect(200);
            if (what === "read") await list(account);
          }
          const ids = traces.map(({ id }) => id);
          expect(await countsOf(account)).toEqual(await recount(account, ids));
        }),
        randomRuns(8),
      );
    });

    it("follows spans of OpenTelemetry that come after the root", async () => {
      const account = await test.makeAccount("pro");
      const send = (spanId: string, parentSpanId: string | undefined, name: string, message: string) => {
        const start = { startTimeUnixNano: "1780315200000000000", endTimeUnixNano: "1780315201000000000" };
        const span = { traceId: "a".repeat(32), spanId, parentSpanId, name, ...start, status: { code: 2, message } };
        const resource = { attributes: [{ key: "service.name", value: { stringValue: "shop" } }] };
        return sendJson(account, { resourceSpans: [{ resource, scopeSpans: [{ spans: [span] }] }] }).expect(200);
      };
      await send("1".repeat(16), undefined, "root", "failed");
      expect((await list(account)).failures).toMatchObject([{ agent_id: "shop", span_name: "root", error: "failed" }]);
      await send("2".repeat(16), "1".repeat(16), "call", "HTTP 500");
      expect((await list(account)).failures).toMatchObject([
        { agent_id: "shop", span_name: "call", error: "HTTP 500" },
      ]);
    });

    it("takes a range, an agent and pages", async () => {
      const account = await test.makeAccount("pro");
      for (const agent_id of ["a", "b", "c", "c"]) await account.makeTrace({ agent_id, status: "error" });
      await account.makeTrace({ agent_id: "a", status: "error", started_at: june.to });
      expect((await list(account, { ...june, agent_id: "a" })).failures).toMatchObject([{ agent_id: "a", count: 1 }]);
      const first = await list(account, { ...june, limit: 2 });
      expect(first.failures).toMatchObject([{ agent_id: "c", count: 2 }, { count: 1 }]);
      const second = await list(account, { ...june, limit: 2, cursor: first.next_cursor });
      expect(second).toMatchObject({ failures: [{ count: 1 }], next_cursor: null });
      expect(second.failures[0].agent_id).not.toBe(first.failures[1].agent_id);
    });

    it("covers the last 30 days by default", async () => {
      const account = await test.makeAccount("pro");
      test.setNow(new Date("2026-07-01T00:00:00Z"));
      await account.makeTrace({ agent_id: "in", status: "error", started_at: "2026-06-01T00:00:00Z" });
      await account.makeTrace({ agent_id: "out", status: "error", started_at: "2026-05-31T23:59:59Z" });
      expect((await list(account, {})).failures).toMatchObject([{ agent_id: "in" }]);
    });

    it("has nothing of another account, and nothing of a deleted trace", async () => {
      const [account, other] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
      const id = await other.makeTrace({ status: "error" });
      expect((await list(account)).failures).toEqual([]);
      expect((await list(other)).failures).toHaveLength(1);
      await other.delete(`/api/v1/traces/${id}`).expect(200);
      expect((await list(other)).failures).toEqual([]);
      const { rowCount } = await test.pool.query("SELECT FROM trace_failure WHERE trace_id = $1", [id]);
      expect(rowCount).toBe(0);
    });
  });

  describe("400", () => {
    it.each([
      ["from=yesterday", "from"],
      ["from=2026-06-02T00:00:00Z&to=2026-06-01T00:00:00Z", "to"],
      ["limit=0", "limit"],
      ["cursor=abc", "cursor"],
      ["cursor=MCAwMDAwMDAwMC0wMDAwLTAwMDAtMDAwMC0wMDAwMDAwMDAwMDA", "cursor"],
      ["agent_id=", "agent_id"],
      ["agent=a", "agent"],
    ])("%s", async (query, field) => {
      const account = await test.makeAccount("free");
      const { body } = await account.get(`/api/v1/failures?${query}`).expect(400);
      expect(Object.keys(body.fields)).toEqual([field]);
    });
  });

  it("answers 401 without a key", async () => {
    const account = await test.makeAccount("free");
    await account.get("/api/v1/failures").set("Authorization", "Bearer none").expect(401);
  });
});

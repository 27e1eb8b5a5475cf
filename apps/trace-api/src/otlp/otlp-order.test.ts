import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import { type TestAccount, useApp } from "../app.fixture.js";
import { readTraces, sendJson, withoutIds } from "./otlp.fixture.js";

interface Step {
  parent: number;
  startMs: number;
  name: string;
  service: string;
  isError: boolean;
  /** Whether its flags say that its parent is another process's. */
  isRemote?: boolean;
}

const step: fc.Arbitrary<Step> = fc.record({
  parent: fc.nat({ max: 20 }),
  startMs: fc.nat({ max: 3 }),
  name: fc.constantFrom("plan", "call", "é", "\u{1f600}", "\uffee"),
  service: fc.constantFrom("shop", "bank"),
  isError: fc.boolean(),
  isRemote: fc.boolean(),
});

/** A trace, and the requests of each of its spans. */
const scenario = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 8 }),
  roots: fc.nat({ max: 2 }),
  requests: fc.array(fc.array(fc.nat({ max: 7 }), { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 5 }),
  order: fc.infiniteStream(fc.nat({ max: 1000 })),
});

const startNanos = 1_780_315_200_000_000_000n;

function spansOf(trace: string, steps: readonly Step[], roots: number) {
  return steps.map(({ parent, startMs, name, service, isError, isRemote }, n) => {
    const start = startNanos + BigInt(startMs) * 1_000_000n;
    const span = {
      traceId: trace,
      spanId: (n + 1).toString(16).padStart(16, "0"),
      ...(n >= roots && { parentSpanId: ((parent % 9) + 1).toString(16).padStart(16, "0") }),
      flags: isRemote ? 0x301 : 0x101,
      name,
      startTimeUnixNano: String(start),
      endTimeUnixNano: String(start + BigInt(n + 1) * 1_000n),
      status: { code: isError ? 2 : 1 },
      attributes: [
        { key: "input.value", value: { stringValue: `in ${n}` } },
        { key: "n", value: { intValue: String(n) } },
      ],
    };
    const resource = { attributes: [{ key: "service.name", value: { stringValue: service } }] };
    return { resource, scopeSpans: [{ spans: [span] }] };
  });
}

describe("the spans of a trace", () => {
  const test = useApp();
  const read = async (account: TestAccount) =>
    [...(await readTraces(account, (text, values) => test.pool.query(text, values))).values()].map(withoutIds);
  const count = async (table: "trace_usage" | "alert" | "agent", { id }: TestAccount) => {
    const what = table === "trace_usage" ? "COALESCE(sum(traces), 0)" : "count(*)";
    const { rows } = await test.pool.query(`SELECT ${what}::int AS n FROM ${table} WHERE account_id = $1`, [id]);
    return rows[0].n;
  };

  it("make the same trace, split over requests in any way, doubled, in any order, over two instances at once", async () => {
    const second = await test.startInstance();
    let traces = 0;
    await fc.assert(
      fc.asyncProperty(scenario, async ({ steps, roots, requests, order }) => {
        const trace = (++traces).toString(16).padStart(32, "0");
        const spans = spansOf(trace, steps, roots);
        const [whole, split] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
        await sendJson(whole, { resourceSpans: spans }).expect(200);
        const parts = requests.map((places) => places.flatMap((place) => spans[place] ?? []));
        const missing = spans.filter((_, n) => !requests.some((places) => places.includes(n)));
        const shuffled = [...parts, ...missing.map((one) => [one])]
          .map((part) => ({ part, place: order.next().value }))
          .sort((a, b) => a.place - b.place);
        const senders = [split, second(split)];
        await Promise.all(
          shuffled.map(({ part, place }) => sendJson(senders[place % 2] ?? split, { resourceSpans: part }).expect(200)),
        );
        expect(await read(split)).toEqual(await read(whole));
        expect(await count("trace_usage", split)).toBe(1);
        const rootSteps = steps.filter(({ isRemote }, n) => n < roots || isRemote);
        const alerts = rootSteps.some(({ isError }) => isError) ? 1 : 0;
        expect([await count("alert", split), await count("alert", whole)]).toEqual([alerts, alerts]);
        if (rootSteps.length === 1 && roots === 1) expect(await count("agent", split)).toBe(1);
      }),
      randomRuns(12),
    );
  });

  it.each(["earlier root first", "later root first", "both roots at once"])(
    "make a failure of a later failed root, told once and kept from repeats: %s",
    async (order) => {
      const account = await test.makeAccount("pro");
      const step = { parent: 0, startMs: 0, name: "run", service: "shop", isError: false };
      const [earlier, later] = spansOf(
        order.length.toString(16).padStart(32, "b"),
        [step, { ...step, startMs: 1, isError: true }],
        2,
      );
      const requests = { "earlier root first": [[earlier], [later]], "later root first": [[later], [earlier]] }[order];
      const send = async () => {
        for (const resourceSpans of requests ?? [[earlier, later]])
          await sendJson(account, { resourceSpans }).expect(200);
      };
      await send();
      await send();
      const [trace] = await read(account);
      expect(trace).toMatchObject({ status: "error", started_at: "2026-06-01T12:00:00.000Z" });
      expect(await count("alert", account)).toBe(1);
      const { body } = await account.get("/api/v1/traces").expect(200);
      await account.patch(`/api/v1/traces/${body.traces[0].id}`, { status: "success" }).expect(200);
      await send();
      expect(await read(account)).toMatchObject([{ status: "success" }]);
      expect(await count("alert", account)).toBe(1);
    },
  );
});

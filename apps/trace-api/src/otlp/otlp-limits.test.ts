import { describe, expect, it } from "@jest/globals";
import { type TestAccount, traceBody, useApp } from "../app.fixture.js";
import { jsonOf, sendJson } from "./otlp.fixture.js";

const hex = (n: number, digits: number) => n.toString(16).padStart(digits, "0");
const attribute = (key: string, stringValue: string) => ({ key, value: { stringValue } });

interface Sent {
  trace: number;
  service: string;
  /** The agent of a root span; without it the span has a parent. */
  root?: string;
  failed?: boolean;
}

let nextSpan = 1;
const resourceSpansOf = ({ trace, service, root, failed }: Sent) => ({
  resource: { attributes: [attribute("service.name", service)] },
  scopeSpans: [
    {
      spans: [
        {
          traceId: hex(trace, 32),
          spanId: hex(nextSpan++, 16),
          ...(root === undefined && { parentSpanId: "f".repeat(16) }),
          name: "step",
          startTimeUnixNano: "1795271640000000000",
          endTimeUnixNano: "1795271641000000000",
          ...(root && { attributes: [attribute("gen_ai.agent.name", root)] }),
          ...(failed && { status: { code: 2 } }),
        },
      ],
    },
  ],
});
const send = (account: TestAccount, ...sent: Sent[]) => sendJson(account, { resourceSpans: sent.map(resourceSpansOf) });

describe("the agents of a Free account that OpenTelemetry names", () => {
  const test = useApp();

  /** Usage, the list of agents, the list of traces and each trace. */
  async function agentsOf(account: TestAccount) {
    const { body: usage } = await account.get("/api/v1/usage").expect(200);
    const { body: agents } = await account.get("/api/v1/agents?from=2026-01-01T00:00:00Z").expect(200);
    const { body: list } = await account.get("/api/v1/traces").expect(200);
    const { traces } = list as { traces: { id: string; agent_id: string }[] };
    const read = await Promise.all(traces.map(({ id }) => account.get(`/api/v1/traces/${id}`).expect(200)));
    const ofTraces = [...traces, ...read.map(({ body }) => body as { agent_id: string })];
    return {
      used: usage.agents.current,
      agents: agents.agents.map(({ id }: { id: string }) => id),
      ofTraces: [...new Set(ofTraces.map(({ agent_id }) => agent_id))],
    };
  }

  it("are one, however many spans with a parent name others: in a request, one after the other and at once", async () => {
    const services = ["a", "b", "c", "d", "e"];
    for (const how of ["together", "in turn", "at once"]) {
      const account = await test.makeAccount("free");
      const sent = services.map((service, n) => ({ trace: n + 1, service }));
      if (how === "together") await send(account, ...sent).expect(200);
      if (how === "in turn") for (const each of sent) await send(account, each).expect(200);
      if (how === "at once") await Promise.all(sent.map((each) => send(account, each).expect(200)));
      const { used, agents, ofTraces } = await agentsOf(account);
      expect({ how, used, agents: agents.length }).toEqual({ how, used: 1, agents: 1 });
      expect(ofTraces).toEqual(agents);
      // One root claims the agent, other roots are refused, and all traces have that agent.
      await send(account, { trace: 2, service: "b", root: "chosen" }).expect(200);
      await send(account, { trace: 3, service: "c", root: "other" }).expect(403);
      await account.post("/api/v1/traces", traceBody({ agent_id: "third" })).expect(403);
      expect(await agentsOf(account)).toEqual({ used: 1, agents: ["chosen"], ofTraces: ["chosen"] });
    }
  });

  it("take the spans of a trace whose root names another agent than its service, in any order", async () => {
    const account = await test.makeAccount("free");
    for (const trace of [1, 2, 3]) {
      await send(account, { trace, service: "shop" }).expect(200);
      await send(account, { trace, service: "shop", root: "clerk" }).expect(200);
      await send(account, { trace, service: "shop" }).expect(200);
      expect(await agentsOf(account)).toEqual({ used: 1, agents: ["clerk"], ofTraces: ["clerk"] });
    }
    await send(account, { trace: 4, service: "shop" }, { trace: 4, service: "shop", root: "thief" }).expect(403);
    expect(await agentsOf(account)).toEqual({ used: 1, agents: ["clerk"], ofTraces: ["clerk"] });
  });

  it("give way to the agent of a trace that is created by POST", async () => {
    const account = await test.makeAccount("free");
    await send(account, { trace: 1, service: "shop" }).expect(200);
    expect(await agentsOf(account)).toEqual({ used: 1, agents: ["shop"], ofTraces: ["shop"] });
    await account.makeTrace({ agent_id: "clerk" });
    expect(await agentsOf(account)).toEqual({ used: 1, agents: ["clerk"], ofTraces: ["clerk"] });
    await account.post("/api/v1/traces", traceBody({ agent_id: "shop" })).expect(403);
    await send(account, { trace: 1, service: "shop", root: "clerk" }).expect(200);
  });

  it("stay for good once a trace is theirs, also one of a time with a plan without the limit", async () => {
    const account = await test.makeAccount("free");
    await send(account, { trace: 1, service: "shop" }).expect(200);
    const setPlan = (plan: string) => test.pool.query("UPDATE account SET plan = $2 WHERE id = $1", [account.id, plan]);
    await setPlan("pro");
    const there = (await test.startInstance())(account);
    await there.makeTrace({ agent_id: "shop" });
    await setPlan("free");
    const again = (await test.startInstance())(account);
    await send(again, { trace: 2, service: "shop", root: "clerk" }).expect(403);
    expect(await agentsOf(again)).toEqual({ used: 1, agents: ["shop"], ofTraces: ["shop"] });
  });
});

describe("a month that is used up", () => {
  const test = useApp();

  it.each([
    [25_000, "of the account's agent"],
    [15_000, "of an agent each"],
    [25_000, "without a root"],
  ])("costs a request of %i new traces %s few statements", async (count, which) => {
    const account = await test.makeAccount("free");
    await account.makeTrace({ agent_id: "agent" });
    await send(account, { trace: 1, service: "agent" }).expect(200);
    await test.pool.query("UPDATE trace_usage SET traces = 1000 WHERE account_id = $1", [account.id]);
    const traces = Array.from({ length: count }, (_, n) => ({
      traceId: hex(n + 2, 32),
      spanId: hex(1, 16),
    }));
    const resourceSpans =
      which === "of an agent each"
        ? traces.map((span, n) => ({
            resource: { attributes: [attribute("service.name", `${n}`)] },
            scopeSpans: [{ spans: [span] }],
          }))
        : [
            {
              resource: { attributes: [attribute("service.name", "agent")] },
              scopeSpans: [
                {
                  spans:
                    which === "without a root" ? traces.map((s) => ({ ...s, parentSpanId: "f".repeat(16) })) : traces,
                },
              ],
            },
          ];
    let statements = 0;
    const { query } = test.pool;
    test.pool.query = ((...args: Parameters<typeof query>) => {
      statements++;
      return query.apply(test.pool, args);
    }) as typeof query;
    try {
      const body = { resourceSpans: [...resourceSpans, resourceSpansOf({ trace: 1, service: "agent" })] };
      const { partialSuccess } = jsonOf(await sendJson(account, body).expect(200)) as {
        partialSuccess: Record<string, string>;
      };
      expect(partialSuccess["rejectedSpans"]).toBe(String(count));
      expect(statements).toBeLessThan(80);
      await sendJson(account, { resourceSpans }).expect(which === "of an agent each" ? 403 : 429);
    } finally {
      test.pool.query = query;
    }
    const { rows } = await test.pool.query("SELECT count(*)::int AS spans FROM span WHERE account_id = $1", [
      account.id,
    ]);
    expect(rows).toEqual([{ spans: 2 }]);
  });
});

describe("a deleted OpenTelemetry trace", () => {
  const test = useApp();

  it("does not come back, counts once and gets no second alert when its exporter repeats the batch", async () => {
    const account = await test.makeAccount("pro");
    const run = { trace: 1, service: "shop", root: "clerk", failed: true };
    await send(account, run).expect(200);
    const { body } = await account.get("/api/v1/traces").expect(200);
    await account.delete(`/api/v1/traces/${body.traces[0].id}`).expect(200);
    const queued = test.queued.length;
    const again = await send(account, run, { ...run, trace: 2 }).expect(200);
    expect(jsonOf(again)).toEqual({});
    await send((await test.startInstance())(account), run).expect(200);
    const { body: after } = await account.get("/api/v1/traces").expect(200);
    expect(after.traces).toHaveLength(1);
    const { rows } = await test.pool.query(
      `SELECT (SELECT traces FROM trace_usage WHERE account_id = $1) AS counted,
         (SELECT count(*)::int FROM span WHERE account_id = $1) AS spans,
         (SELECT count(*)::int FROM alert WHERE account_id = $1) AS alerts`,
      [account.id],
    );
    expect(rows).toEqual([{ counted: 2, spans: 1, alerts: 1 }]);
    expect(test.queued.length).toBeLessThanOrEqual(queued + 1);
    // Another account's trace with the same id is its own.
    const other = await test.makeAccount("pro");
    await send(other, run).expect(200);
    expect((await other.get("/api/v1/traces").expect(200)).body.traces).toHaveLength(1);
  });
});

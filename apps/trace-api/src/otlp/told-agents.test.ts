import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import { type TestAccount, useApp } from "../app.fixture.js";
import { jsonOf, keyValues, sendJson } from "./otlp.fixture.js";

interface Step {
  role: "root" | "local root" | "agent" | "model" | "other";
  startMs: number;
  name: string;
  agent?: string | undefined;
  asks?: string | undefined;
}

const maybe = (...texts: string[]) => fc.option(fc.constantFrom(...texts), { nil: undefined });
const step: fc.Arbitrary<Step> = fc.record({
  role: fc.constantFrom<Step["role"]>("root", "local root", "agent", "model", "other"),
  startMs: fc.nat({ max: 3 }),
  name: fc.constantFrom("POST /api/chat", "invoke_agent", "plan é", "\u{1f600}"),
  agent: maybe("support", "billing", "\u{1f600}"),
  asks: maybe("Refund order 7", "Hello", " "),
});
const scenario = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 8 }),
  requests: fc.array(fc.array(fc.nat({ max: 7 }), { minLength: 1, maxLength: 4 }), { maxLength: 5 }),
});

const idOf = (n: number) => (n + 1).toString(16).padStart(16, "0");
const startNanos = 1_780_315_200_000_000_000n;
const operations: Partial<Record<Step["role"], string>> = { agent: "invoke_agent", model: "chat" };

function spanOf(traceId: string, { role, startMs, name, agent, asks }: Step, n: number) {
  const start = startNanos + BigInt(startMs) * 1_000_000n;
  const operation = operations[role];
  const span = {
    traceId,
    spanId: idOf(n),
    ...(role !== "root" && { parentSpanId: "f".repeat(16), flags: role === "local root" ? 0x301 : 0x101 }),
    name,
    startTimeUnixNano: String(start),
    endTimeUnixNano: String(start + 1_000n),
    attributes: keyValues({
      ...(operation && { "gen_ai.operation.name": operation }),
      ...(agent && { "gen_ai.agent.name": agent }),
      ...(asks && { "gen_ai.input.messages": JSON.stringify([{ role: "user", content: asks }]) }),
    }),
  };
  return { resource: { attributes: keyValues({ "service.name": "web" }) }, scopeSpans: [{ spans: [span] }] };
}

/** The rule, over all spans at once: candidates by rank, then by start and id. */
function expected(steps: readonly Step[]) {
  const inOrder = steps.map((each, n) => ({ ...each, n })).sort((a, b) => a.startMs - b.startMs || a.n - b.n);
  const first = (...picks: ((each: Step) => string | false | undefined)[]) =>
    picks.flatMap((pick) => inOrder.flatMap((each) => pick(each) || []))[0];
  const isGeneric = ({ name }: Step) => name === "POST /api/chat" || name === "invoke_agent";
  const said = ({ asks }: Step) => asks?.trim();
  const own = (role: Step["role"]) => (each: Step) => each.role === role && (isGeneric(each) ? said(each) : each.name);
  const agent = first(
    ({ role, agent: told }) => role === "root" && told,
    ({ role, agent: told }) => role === "local root" && told,
    ({ agent: told }) => told,
  );
  const name = first(
    own("root"),
    own("local root"),
    (each) => (each.role === "agent" || each.role === "model") && said(each),
    ({ role, name: given }) => role === "root" && given,
    ({ role, name: given }) => role === "local root" && given,
    ({ name: given }) => given,
  );
  return { agent_id: agent ?? "web", name };
}

describe("an agent below a root", () => {
  const test = useApp();
  const read = async (account: TestAccount, otel: string) => {
    const sql = "SELECT agent_id, name FROM trace WHERE account_id = $1 AND otel_trace_id = decode($2, 'hex')";
    return (await test.pool.query(sql, [account.id, otel])).rows[0];
  };
  const agentsOf = async (account: TestAccount) =>
    (await test.pool.query("SELECT id FROM agent WHERE account_id = $1 ORDER BY id", [account.id])).rows.map(
      ({ id }) => id,
    );

  it("is the trace's, and its user's words the name, in any order and pieces, doubled, over two instances at once", async () => {
    const second = await test.startInstance();
    let traces = 0;
    await fc.assert(
      fc.asyncProperty(scenario, async ({ steps, requests }) => {
        const account = await test.makeAccount("pro");
        const otel = (++traces).toString(16).padStart(32, "0");
        const spans = steps.map((each, n) => spanOf(otel, each, n));
        const all = [
          ...requests.map((ns) => ns.flatMap((n) => spans[n] ?? [])),
          ...spans.map((span) => [span]).reverse(),
        ];
        await Promise.all(
          all.map((resourceSpans, n) => sendJson(n % 2 ? second(account) : account, { resourceSpans }).expect(200)),
        );
        expect(await read(account, otel)).toEqual(expected(steps));
        const hasRoot = steps.some(({ role }) => role === "root" || role === "local root");
        if (hasRoot) expect(await agentsOf(account)).toContain(expected(steps).agent_id);
      }),
      randomRuns(40),
    );
  });

  const root: Step = { role: "root", startMs: 0, name: "POST /api/chat" };
  const support: Step = { role: "agent", startMs: 1, name: "invoke_agent support", agent: "support", asks: "Refund 7" };
  const orders = [["root", "agent"], ["agent", "root"], ["both"]] as const;
  const send = async (account: TestAccount, otel: string, order: readonly string[]) => {
    const spans = { root: [spanOf(otel, root, 0)], agent: [spanOf(otel, support, 1)] };
    const answers = [];
    for (const one of order) {
      const resourceSpans = spans[one as keyof typeof spans] ?? [...spans.agent, ...spans.root];
      answers.push(jsonOf(await sendJson(account, { resourceSpans })));
    }
    return answers;
  };

  it.each(orders)("counts within the limit of a Free account: %s %s", async (...order) => {
    const account = await test.makeAccount("free");
    await send(account, "a1".repeat(16), order);
    const isLate = order[0] === "root";
    const agent_id = isLate ? "web" : "support";
    expect(await read(account, "a1".repeat(16))).toEqual({ agent_id, name: "Refund 7" });
    expect(await agentsOf(account)).toEqual([agent_id]);
    await send(account, "a2".repeat(16), ["both"]);
    expect(await read(account, "a2".repeat(16))).toEqual({ agent_id, name: "Refund 7" });
    expect(await agentsOf(account)).toEqual([agent_id]);
  });

  it("leaves a Free account its service, and refuses a root of neither", async () => {
    const account = await test.makeAccount("free");
    await account.makeTrace({ agent_id: "web" });
    for (const [n, order] of orders.entries()) {
      const otel = `b${n}`.repeat(16);
      for (const answer of await send(account, otel, order)) expect(answer).toEqual({});
      expect(await read(account, otel)).toEqual({ agent_id: "web", name: "Refund 7" });
    }
    const other = await test.makeAccount("free");
    await other.makeTrace({ agent_id: "mine" });
    const [answer] = await send(other, "c1".repeat(16), ["both"]);
    expect(answer).toMatchObject({ error: "Free plan limited to 1 agent" });
    expect(await agentsOf(other)).toEqual(["mine"]);
  });
});

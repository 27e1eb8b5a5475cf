import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import { spanBody, type TestAccount, useApp } from "../app.fixture.js";
import { senders, transports, useLabelledRuns } from "../otlp/labelled-runs.fixture.js";

type Labels = Record<"session_id" | "user_id" | "environment" | "release", string | null>;

interface Run {
  sender: "json" | (typeof senders)[number];
  transport: (typeof transports)[number];
  agent_id: string;
  labels: Labels;
  tags: string[];
  status: "success" | "error";
  /** Given by a PATCH afterwards. */
  later: Labels | undefined;
  isDeleted: boolean;
  day: number;
  /** Calls on a day from 1 to 5, of which the range has 2 to 4. */
  calls: { model: string; input: number; output: number; cached: number; day: number }[];
}

const word = fc.constantFrom("a", "b", "c");
const text = fc.option(word, { nil: null });
const labelsOf = fc.record({ session_id: text, user_id: text, environment: text, release: text });
const sent: fc.Arbitrary<Run> = fc.record({
  sender: fc.constantFrom("json", ...senders),
  transport: fc.constantFrom(...transports),
  agent_id: word,
  labels: labelsOf,
  tags: fc.uniqueArray(word, { maxLength: 3 }),
  status: fc.constantFrom("success", "error"),
  later: fc.option(labelsOf, { nil: undefined, freq: 2 }),
  isDeleted: fc.nat({ max: 3 }).map((n) => n === 0),
  day: fc.integer({ min: 1, max: 5 }),
  calls: fc.array(
    fc.record({
      model: fc.constantFrom("gpt-4o", "house"),
      input: fc.integer({ min: 100, max: 999 }),
      output: fc.nat({ max: 999 }),
      cached: fc.nat({ max: 99 }),
      day: fc.integer({ min: 1, max: 5 }),
    }),
    { maxLength: 3 },
  ),
});
/** An agent's event always names its session; Codex tells of no failed run, and finds a call's prompt before it. */
const run = sent.map((each) => {
  if (each.sender !== "claude" && each.sender !== "codex") return each;
  const labels = { ...each.labels, session_id: each.labels.session_id ?? "a" };
  if (each.sender === "claude") return { ...each, labels };
  const calls = each.calls.map((call) => ({ ...call, day: Math.max(call.day, each.day) }));
  return { ...each, labels, calls, status: "success" as const };
});
const days = "from=2026-06-02T00:00:00Z&to=2026-06-05T00:00:00Z";
const isInRange = ({ day }: { day: number }) => day >= 2 && day <= 4;

type Sums = Record<"traces" | "failures" | "input_tokens" | "output_tokens" | "cached_input_tokens", number>;
const none: Sums = { traces: 0, failures: 0, input_tokens: 0, output_tokens: 0, cached_input_tokens: 0 };

/** The sums of each value; `valuesOf` gives those of a trace without a call, and of a call. */
function recount(runs: readonly Run[], valuesOf: (run: Run, model?: string) => (string | null)[]) {
  const sums = new Map<string | null, Sums>();
  const add = (value: string | null, part: Partial<Sums>) => {
    const sum = sums.get(value) ?? { ...none };
    for (const name of Object.keys(part) as (keyof Sums)[]) sum[name] += part[name] ?? 0;
    sums.set(value, sum);
  };
  for (const each of runs) {
    const calls = each.calls.filter(isInRange);
    for (const { model, input, output, cached } of calls)
      for (const value of valuesOf(each, model))
        add(value, { input_tokens: input, output_tokens: output, cached_input_tokens: cached });
    if (each.isDeleted || !isInRange(each)) continue;
    const values = calls.length > 0 ? calls.flatMap(({ model }) => valuesOf(each, model)) : valuesOf(each);
    for (const value of new Set(values)) add(value, { traces: 1, failures: each.status === "success" ? 0 : 1 });
  }
  return sums;
}

const labelOf =
  (name: keyof Labels) =>
  ({ labels, later = labels, isDeleted }: Run) => [isDeleted ? null : later[name]];
const rules: [dimension: string, valuesOf: (run: Run, model?: string) => (string | null)[]][] = [
  ["release", labelOf("release")],
  ["session", labelOf("session_id")],
  ["user", labelOf("user_id")],
  ["environment", labelOf("environment")],
  ["tag", ({ tags, isDeleted }) => (isDeleted || tags.length === 0 ? [null] : tags)],
  ["agent", ({ agent_id }) => [agent_id]],
  ["model", (_, model) => [model ?? null]],
];

describe("GET /api/v1/usage/by", () => {
  const test = useApp();
  const exportRun = useLabelledRuns(test);
  const sumBy = async (account: TestAccount, dimension: string, query = days) =>
    (await account.get(`/api/v1/usage/by?dimension=${dimension}&${query}`).expect(200)).body;

  const attributesOf = ({ model, input, output, cached }: Run["calls"][number]) => ({
    "gen_ai.request.model": model,
    "gen_ai.usage.input_tokens": input,
    "gen_ai.usage.output_tokens": output,
    "gen_ai.usage.cache_read.input_tokens": cached,
  });

  async function make(account: TestAccount, { agent_id, tags, status, labels, day, calls }: Run): Promise<string> {
    const id = await account.makeTrace({ agent_id, tags, status, started_at: `2026-06-0${day}T12:00:00Z`, ...labels });
    for (const call of calls) {
      const body = spanBody({ started_at: `2026-06-0${call.day}T23:59:59Z`, attributes: attributesOf(call) });
      await account.post(`/api/v1/traces/${id}/spans`, body).expect(201);
    }
    return id;
  }

  async function send(account: TestAccount, each: Run, n = 0) {
    const { sender, labels, tags, day, calls } = each;
    const told = {
      ...each,
      labels: { ...labels, tags },
      at: `2026-06-0${day}T12:00:00.000Z`,
      calls: calls.map((call) => ({ at: `2026-06-0${call.day}T23:59:59.000Z`, attributes: attributesOf(call) })),
    };
    const id = await (sender === "json" ? make(account, each) : exportRun(account, { ...told, sender }, `run ${n}`));
    if (each.later !== undefined) await account.patch(`/api/v1/traces/${id}`, each.later).expect(200);
    // Sums take the calls in while their trace is there.
    await sumBy(account, "model");
    if (each.isDeleted) await account.delete(`/api/v1/traces/${id}`).expect(200);
  }

  it("sums as a recount does by each dimension, and to the sums of /usage/models, also after changes and deletions", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(run, { minLength: 1, maxLength: 6 }), async (runs) => {
        const account = await test.makeAccount("pro");
        for (const [n, each] of runs.entries()) await send(account, each, n);
        const usage = (await account.get(`/api/v1/usage/models?${days}`).expect(200)).body;
        for (const [dimension, valuesOf] of rules) {
          const { rows, from, to } = await sumBy(account, dimension);
          expect([from, to]).toEqual([usage.from, usage.to]);
          const expected = recount(runs, valuesOf);
          const found = new Map(
            rows.map(({ value, cost_usd, ...sums }: Sums & { value: string | null; cost_usd: string | null }) => [
              value,
              sums,
            ]),
          );
          expect(found).toEqual(expected);
          if (dimension === "tag") continue;
          const sum = (list: { input_tokens: number; cost_usd: string | null }[]) =>
            list.reduce<[number, number]>(
              ([tokens, cost], row) => [tokens + row.input_tokens, cost + Number(row.cost_usd)],
              [0, 0],
            );
          const [[tokens, cost], [allTokens, allCost]] = [sum(rows), sum(usage.models)];
          expect(tokens).toBe(allTokens);
          expect(cost).toBeCloseTo(allCost, 9);
        }
      }),
      randomRuns(12),
    );
  });

  it("orders by cost, then traces, and leaves out another account", async () => {
    const [account, other] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
    const labels = (release: string | null) => ({ session_id: null, user_id: null, environment: null, release });
    const base: Run = {
      sender: "json",
      transport: "json",
      agent_id: "x",
      labels: labels("cheap"),
      tags: [],
      status: "error",
      later: undefined,
      isDeleted: false,
      day: 3,
      calls: [],
    };
    const call = (input: number) => [{ model: "gpt-4o", input, output: 0, cached: 0, day: 3 }];
    const dear = { ...base, labels: labels("dear"), calls: call(100) };
    for (const each of [base, base, { ...base, labels: labels(null) }, dear]) await send(account, each);
    await send(other, { ...base, labels: labels("foreign"), calls: call(100_000) });
    const zeros = { input_tokens: 0, output_tokens: 0, cached_input_tokens: 0, cost_usd: null };
    expect((await sumBy(account, "release")).rows).toEqual([
      { value: "dear", traces: 1, failures: 1, ...zeros, input_tokens: 100, cost_usd: "0.00025" },
      { value: "cheap", traces: 2, failures: 2, ...zeros },
      { value: null, traces: 1, failures: 1, ...zeros },
    ]);
  });

  it("answers 400 without a dimension, or with an unknown one", async () => {
    const account = await test.makeAccount("pro");
    for (const query of ["", "dimension=country"])
      expect((await account.get(`/api/v1/usage/by?${query}`).expect(400)).body.fields).toHaveProperty("dimension");
  });
});

import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import { spanBody, type TestAccount, useApp } from "../app.fixture.js";

interface Run {
  agent_id: string;
  release: string | null;
  tags: string[];
  status: "success" | "error" | "timeout";
  /** Given by a PATCH afterwards. */
  later: string | null | undefined;
  isDeleted: boolean;
  day: number;
  /** Calls on a day from 1 to 5, of which the range has 2 to 4. */
  calls: { model: string; tokens: number; day: number }[];
}

const word = fc.constantFrom("a", "b", "c");
const run: fc.Arbitrary<Run> = fc.record({
  agent_id: word,
  release: fc.option(word, { nil: null }),
  tags: fc.uniqueArray(word, { maxLength: 3 }),
  status: fc.constantFrom("success", "error", "timeout"),
  later: fc.option(fc.option(word, { nil: null }), { nil: undefined, freq: 2 }),
  isDeleted: fc.nat({ max: 3 }).map((n) => n === 0),
  day: fc.integer({ min: 1, max: 5 }),
  calls: fc.array(
    fc.record({
      model: fc.constantFrom("gpt-4o", "house"),
      tokens: fc.nat({ max: 999 }),
      day: fc.integer({ min: 1, max: 5 }),
    }),
    { maxLength: 3 },
  ),
});
const days = "from=2026-06-02T00:00:00Z&to=2026-06-05T00:00:00Z";
const isInRange = ({ day }: { day: number }) => day >= 2 && day <= 4;

type Sums = Record<"traces" | "failures" | "input_tokens", number>;

/** The sums of each value; `valuesOf` gives those of a trace without a call, and of a call. */
function recount(runs: readonly Run[], valuesOf: (run: Run, model?: string) => (string | null)[]) {
  const sums = new Map<string | null, Sums>();
  const add = (value: string | null, part: Partial<Sums>) => {
    const sum = sums.get(value) ?? { traces: 0, failures: 0, input_tokens: 0 };
    for (const name of Object.keys(part) as (keyof Sums)[]) sum[name] += part[name] ?? 0;
    sums.set(value, sum);
  };
  for (const each of runs) {
    const calls = each.calls.filter(isInRange);
    for (const { model, tokens } of calls)
      for (const value of valuesOf(each, model)) add(value, { input_tokens: tokens });
    if (each.isDeleted || !isInRange(each)) continue;
    const values = calls.length > 0 ? calls.flatMap(({ model }) => valuesOf(each, model)) : valuesOf(each);
    for (const value of new Set(values)) add(value, { traces: 1, failures: each.status === "success" ? 0 : 1 });
  }
  return sums;
}

const releaseOf = ({ release, later, isDeleted }: Run) => [isDeleted ? null : later === undefined ? release : later];
const rules: [dimension: string, valuesOf: (run: Run, model?: string) => (string | null)[]][] = [
  ["release", releaseOf],
  ["session", releaseOf],
  ["user", releaseOf],
  ["environment", releaseOf],
  ["tag", ({ tags, isDeleted }) => (isDeleted || tags.length === 0 ? [null] : tags)],
  ["agent", ({ agent_id }) => [agent_id]],
  ["model", (_, model) => [model ?? null]],
];

describe("GET /api/v1/usage/by", () => {
  const test = useApp();
  const sumBy = async (account: TestAccount, dimension: string, query = days) =>
    (await account.get(`/api/v1/usage/by?dimension=${dimension}&${query}`).expect(200)).body;

  async function send(account: TestAccount, each: Run) {
    const { agent_id, release, tags, status, later, isDeleted, day, calls } = each;
    const labels = (text: string | null) => ({ session_id: text, user_id: text, environment: text, release: text });
    const started_at = `2026-06-0${day}T12:00:00Z`;
    const id = await account.makeTrace({ agent_id, tags, status, started_at, ...labels(release) });
    for (const call of calls) {
      const attributes = { "gen_ai.request.model": call.model, "gen_ai.usage.input_tokens": call.tokens };
      const body = spanBody({ started_at: `2026-06-0${call.day}T23:59:59Z`, attributes });
      await account.post(`/api/v1/traces/${id}/spans`, body).expect(201);
    }
    if (later !== undefined) await account.patch(`/api/v1/traces/${id}`, labels(later)).expect(200);
    // Sums take the calls in while their trace is there.
    await sumBy(account, "model");
    if (isDeleted) await account.delete(`/api/v1/traces/${id}`).expect(200);
  }

  it("sums as a recount does by each dimension, and to the sums of /usage/models, also after changes and deletions", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(run, { minLength: 1, maxLength: 6 }), async (runs) => {
        const account = await test.makeAccount("pro");
        for (const each of runs) await send(account, each);
        const usage = (await account.get(`/api/v1/usage/models?${days}`).expect(200)).body;
        for (const [dimension, valuesOf] of rules) {
          const { rows, from, to } = await sumBy(account, dimension);
          expect([from, to]).toEqual([usage.from, usage.to]);
          const expected = recount(runs, valuesOf);
          const found = new Map(
            rows.map(({ value, traces, failures, input_tokens }: Sums & { value: string | null }) => [
              value,
              { traces, failures, input_tokens },
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
      randomRuns(8),
    );
  });

  it("orders by cost, then traces, and leaves out another account", async () => {
    const [account, other] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
    const base: Run = {
      agent_id: "x",
      release: "cheap",
      tags: [],
      status: "error",
      later: undefined,
      isDeleted: false,
      day: 3,
      calls: [],
    };
    const call = (tokens: number) => [{ model: "gpt-4o", tokens, day: 3 }];
    for (const each of [base, base, { ...base, release: null }, { ...base, release: "dear", calls: call(100) }])
      await send(account, each);
    await send(other, { ...base, release: "foreign", calls: call(100_000) });
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

import { randomBytes } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import { rebuildUsage } from "@waymark/traces";
import fc from "fast-check";
import { spanBody, type TestAccount, useApp } from "../app.fixture.js";
import { sendJson } from "../otlp/otlp.fixture.js";

const models = ["gpt-4o", "claude-sonnet-4-5", "no-such-model"];
const days = ["2026-06-01", "2026-06-02"];

/** A span of a random trace. */
interface Step {
  /** The number of an earlier step, or -1. */
  parent: number;
  model: number;
  day: number;
  /** Undefined for a span that reports none. */
  input: number | undefined;
  output: number;
  /** Never sent: a gap. */
  isMissing: boolean;
}

const step = (n: number) =>
  fc.record({
    parent: fc.integer({ min: -1, max: n - 1 }),
    model: fc.nat({ max: models.length - 1 }),
    day: fc.nat({ max: days.length - 1 }),
    input: fc.option(fc.nat({ max: 5_000 }), { nil: undefined }),
    output: fc.nat({ max: 500 }),
    isMissing: fc.boolean().map((isMissing) => isMissing && n % 5 === 4),
  });
const trace = fc
  .integer({ min: 1, max: 12 })
  .chain((size) => fc.tuple(...Array.from({ length: size }, (_, n) => step(n))));

interface Sums {
  models: Record<string, [calls: number, input: number, output: number]>;
  days: Record<string, [input: number, output: number]>;
}

/** The rule, word by word: a span's tokens count unless a descendant reports tokens too. */
function recount(traces: readonly (readonly Step[])[]): Sums {
  const sums: Sums = { models: {}, days: {} };
  for (const steps of traces) {
    const isBelow = (n: number, above: number): boolean => {
      const parent = steps[n]?.parent ?? -1;
      if (parent === above) return true;
      return parent >= 0 && !steps[parent]?.isMissing && isBelow(parent, above);
    };
    const reports = (n: number) => steps[n]?.input !== undefined && !steps[n]?.isMissing;
    steps.forEach(({ model, day, input, output }, n) => {
      if (!reports(n) || steps.some((_, other) => reports(other) && isBelow(other, n))) return;
      const [calls, ofModel, byModel] = sums.models[models[model] ?? ""] ?? [0, 0, 0];
      const [ofDay, byDay] = sums.days[days[day] ?? ""] ?? [0, 0];
      sums.models[models[model] ?? ""] = [calls + 1, ofModel + (input ?? 0), byModel + output];
      sums.days[days[day] ?? ""] = [ofDay + (input ?? 0), byDay + output];
    });
  }
  return sums;
}

async function readSums(account: TestAccount, query = ""): Promise<Sums> {
  const { body } = await account
    .get(`/api/v1/usage/models?from=2026-06-01T00:00:00Z&to=2026-06-03T00:00:00Z${query}`)
    .expect(200);
  const sums: Sums = { models: {}, days: {} };
  for (const { model, calls, input_tokens, output_tokens } of body.models)
    sums.models[model] = [calls, input_tokens, output_tokens];
  for (const { day, input_tokens, output_tokens } of body.series) sums.days[day] = [input_tokens, output_tokens];
  return sums;
}

const attributesOf = ({ model, input, output }: Step): Record<string, string | number> =>
  input === undefined
    ? { note: "no model" }
    : {
        "gen_ai.response.model": models[model] ?? "",
        "gen_ai.usage.input_tokens": input,
        "gen_ai.usage.output_tokens": output,
      };

/** The spans of a trace as OpenTelemetry sends them. */
function otlpSpans(steps: readonly Step[]) {
  const traceId = randomBytes(16).toString("hex");
  const ids = steps.map(() => randomBytes(8).toString("hex"));
  return steps.flatMap((each, n) => {
    if (each.isMissing) return [];
    const start = BigInt(Date.parse(`${days[each.day]}T10:00:00Z`)) * 1_000_000n + BigInt(n);
    const value = (attribute: string | number) =>
      typeof attribute === "number" ? { intValue: String(attribute) } : { stringValue: attribute };
    return [
      {
        traceId,
        spanId: ids[n],
        ...(each.parent >= 0 && { parentSpanId: ids[each.parent] }),
        name: `step ${n}`,
        startTimeUnixNano: String(start),
        endTimeUnixNano: String(start + 1_000n),
        attributes: Object.entries(attributesOf(each)).map(([key, attribute]) => ({ key, value: value(attribute) })),
      },
    ];
  });
}

const inOrder = <T>(items: readonly T[], seed: number) =>
  items
    .map((item, n) => ({ item, key: (n * 7919 + seed * 104_729) % 1_009 }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item);

describe("the sums of model calls", () => {
  const test = useApp();

  const expectNoDifference = async (account: TestAccount) => {
    const now = new Date("2026-06-03T00:00:00Z");
    expect(await rebuildUsage(test.pool, account.id, { isCheck: true, now })).toEqual({ calls: 0, sums: [] });
  };
  /** As if the time had passed after which gaps are looked at again. */
  const passTime = (account: TestAccount) =>
    test.pool.query("UPDATE model_call SET settle_at = now() WHERE account_id = $1 AND settle_at > now()", [
      account.id,
    ]);

  it("are those of the rule, for spans of OpenTelemetry in any order, from two instances, read in between", async () => {
    const on = await test.startInstance();
    const property = fc.asyncProperty(
      fc.array(trace, { minLength: 1, maxLength: 4 }),
      fc.nat({ max: 1_000 }),
      fc.integer({ min: 1, max: 6 }),
      async (traces, seed, together) => {
        const account = await test.makeAccount("pro");
        const other = on(account);
        const spans = inOrder(traces.flatMap(otlpSpans), seed);
        const requests: Promise<unknown>[] = [];
        for (let n = 0; n < spans.length; n += together) {
          const request = { resourceSpans: [{ scopeSpans: [{ spans: spans.slice(n, n + together) }] }] };
          requests.push(
            sendJson(n % 2 === 0 ? account : other, request)
              .expect(200)
              .then(),
          );
          if (seed % 3 === 0) await requests.at(-1);
          if ((seed + n) % 5 === 0) requests.push(readSums(other));
        }
        await Promise.all(requests);
        await passTime(account);
        expect(await readSums(account)).toEqual(recount(traces));
        await expectNoDifference(account);
      },
    );
    await fc.assert(property, randomRuns(8));
  });

  it("follow the attributes of spans, changed in any order, at once", async () => {
    const on = await test.startInstance();
    const changes = fc.array(fc.tuple(fc.nat(), fc.option(fc.nat({ max: 900 }), { nil: undefined })), { maxLength: 8 });
    const property = fc.asyncProperty(trace, changes, fc.boolean(), async (steps, patches, isAtOnce) => {
      const account = await test.makeAccount("pro");
      const instances = [account, on(account)];
      const traceId = await account.makeTrace();
      const present: Step[] = steps.map((each) => ({ ...each, isMissing: false }));
      const spans = present.map((each, n) =>
        spanBody({
          ref: `${n}`,
          ...(each.parent >= 0 && { parent_ref: `${each.parent}` }),
          started_at: `${days[each.day]}T10:00:00.000Z`,
          attributes: attributesOf(each),
        }),
      );
      const { body } = await account.post(`/api/v1/traces/${traceId}/spans/batch`, { spans }).expect(201);
      // Changes of one span are sent one after the other, those of several at once.
      const bySpan = new Map<number, (number | undefined)[]>();
      for (const [at, input] of patches) {
        const n = at % present.length;
        bySpan.set(n, [...(bySpan.get(n) ?? []), input]);
      }
      const work = [...bySpan].map(([n, inputs]) => async () => {
        for (const [turn, input] of inputs.entries()) {
          const before = present[n];
          if (!before) continue;
          present[n] = { ...before, input };
          const instance = instances[(n + turn) % 2] ?? account;
          const attributes = input === undefined ? null : attributesOf(present[n]);
          await instance.patch(`/api/v1/traces/${traceId}/spans/${body.span_ids[n]}`, { attributes }).expect(200);
          if (turn % 2 === 1) await readSums(instance);
        }
      });
      if (isAtOnce) await Promise.all(work.map((run) => run()));
      else for (const run of work) await run();
      expect(await readSums(account)).toEqual(recount([present]));
      await expectNoDifference(account);
    });
    await fc.assert(property, randomRuns(8));
  });
});

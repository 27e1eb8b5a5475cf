import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import { rebuildUsage } from "@waymark/traces";
import { loadOtlpMessages, spanUuid } from "@waymark/traces/otlp";
import fc from "fast-check";
import { spanBody, type TestAccount, useApp } from "../app.fixture.js";
import { sendJson, sendProtobuf } from "../otlp/otlp.fixture.js";

/** A span of a random trace. */
interface Step {
  /** The number of an earlier step, or -1. */
  parent: number;
  isListed: boolean;
  /** Undefined for a span that reports none. */
  tokens: number | undefined;
  /** The sender's cost in cents; undefined for none. */
  told: number | undefined;
}

const step = (n: number) =>
  fc.record({
    parent: fc.integer({ min: -1, max: n - 1 }),
    isListed: fc.boolean(),
    tokens: fc.option(fc.nat({ max: 5_000 }), { nil: undefined }),
    told: fc.option(fc.nat({ max: 900 }), { nil: undefined, freq: 2 }),
  });
const trace = fc
  .integer({ min: 1, max: 9 })
  .chain((size) => fc.tuple(...Array.from({ length: size }, (_, n) => step(n))))
  .map((steps): Step[] => steps);

interface Money {
  input_tokens: number;
  /** In dollars times 10^12; null if no cost counts. */
  cost: bigint | null;
}

const nothing: Money = { input_tokens: 0, cost: null };
const addCost = (a: bigint | null, b: bigint | null) => (a === null || b === null ? (a ?? b) : a + b);
const add = (a: Money, b: Money): Money => ({
  input_tokens: a.input_tokens + b.input_tokens,
  cost: addCost(a.cost, b.cost),
});

/** The money of a span and all below it, by the rule, from the leaves upwards. */
function weigh(steps: readonly Step[], n: number): Money & { hasTokens: boolean } {
  const { isListed, tokens, told } = steps[n] as Step;
  const below = steps.flatMap((each, child) => (each.parent === n ? [weigh(steps, child)] : []));
  const sum = below.reduce(add, nothing);
  const hasTokensBelow = below.some(({ hasTokens }) => hasTokens);
  const hasTokens = hasTokensBelow || tokens !== undefined;
  const own = tokens === undefined || hasTokensBelow ? 0 : tokens;
  // gpt-4o takes 2.5 dollars for a million tokens.
  const price = tokens === undefined || hasTokensBelow || !isListed ? null : BigInt(tokens) * 2_500_000n;
  const cost = told === undefined ? addCost(sum.cost, price) : (sum.cost ?? BigInt(told) * 10n ** 10n);
  return { input_tokens: sum.input_tokens + own, cost, hasTokens };
}

/** The money of the steps that have arrived; others report nothing, and of OpenTelemetry they are gaps. */
function recount(steps: readonly Step[], arrived: ReadonlySet<number>, isOtlp: boolean): Money {
  const stored = steps.map((each, n) => ({
    ...(arrived.has(n) ? each : { ...each, tokens: undefined, told: undefined }),
    parent: isOtlp && !arrived.has(each.parent) ? -1 : each.parent,
  }));
  const roots = stored.flatMap(({ parent }, n) => (parent === -1 ? [weigh(stored, n)] : []));
  return roots.reduce<Money>((sum, root) => add(sum, root), nothing);
}

const attributesOf = ({ isListed, tokens, told }: Step) => ({
  "gen_ai.response.model": isListed ? "gpt-4o" : "house-model",
  ...(tokens !== undefined && { "gen_ai.usage.input_tokens": tokens }),
  ...(told !== undefined && { "gen_ai.usage.cost": (told / 100).toFixed(2) }),
});

const moneyOf = ({ input_tokens, cost_usd }: { input_tokens: number; cost_usd: string | null }): Money => {
  const [whole = "", places = ""] = cost_usd?.split(".") ?? [];
  return { input_tokens, cost: cost_usd === null ? null : BigInt(whole + places.padEnd(12, "0")) };
};

/** An account's entrances, the trace to come, and a random order. */
interface Sending {
  instances: readonly TestAccount[];
  steps: readonly Step[];
  seed: number;
  /** Called before each request, once the trace is known. */
  tick(traceId: string): void;
}

/** Sends a trace. @returns the numbers of the steps whose report was stored; undefined where the answers do not tell it */
type Send = (sending: Sending) => Promise<Set<number> | undefined>;

const instanceOf = ({ instances }: Sending, n: number) => instances[n % instances.length] as TestAccount;
const shuffled = (size: number, seed: number) =>
  Array.from({ length: size }, (_, n) => n).sort(
    (a, b) => ((a * 7_919 + seed * 104_729) % 1_009) - ((b * 7_919 + seed * 104_729) % 1_009),
  );

const single: Send = async (sending) => {
  const { steps, tick } = sending;
  const traceId = await instanceOf(sending, 0).makeTrace();
  const stored = new Set<number>();
  const ids: Promise<string | undefined>[] = [];
  steps.forEach((each, n) => {
    const post = async () => {
      const parent = each.parent < 0 ? null : await ids[each.parent];
      if (parent === undefined) return undefined;
      tick(traceId);
      const body = spanBody({ parent_span_id: parent, attributes: attributesOf(each) });
      const answer = await instanceOf(sending, n).post(`/api/v1/traces/${traceId}/spans`, body);
      expect([201, 404]).toContain(answer.status);
      if (answer.status === 201) stored.add(n);
      return answer.body.span_id;
    };
    ids.push(post());
  });
  await Promise.all(ids);
  return stored;
};

const batch: Send = async (sending) => {
  const { steps, tick, seed } = sending;
  const traceId = await instanceOf(sending, 0).makeTrace();
  const stored = new Set<number>();
  // A later batch names its parents by their ids, those of the first one have them from within.
  const middle = seed % (steps.length + 1);
  let ids: string[] = [];
  for (const [from, to] of [
    [0, middle],
    [middle, steps.length],
  ] as const) {
    if (from === to) continue;
    const spans = steps.slice(from, to).map((each, n) => {
      const isWithin = each.parent >= from;
      const parent = isWithin ? { parent_ref: `${each.parent}` } : { parent_span_id: ids[each.parent] ?? null };
      return spanBody({ ref: `${from + n}`, ...(each.parent >= 0 && parent), attributes: attributesOf(each) });
    });
    tick(traceId);
    const answer = await instanceOf(sending, from).post(`/api/v1/traces/${traceId}/spans/batch`, { spans });
    if (answer.status !== 201) break;
    ids = [...ids, ...answer.body.span_ids];
    for (let n = from; n < to; n++) stored.add(n);
  }
  return stored;
};

const patch: Send = async (sending) => {
  const { steps, tick, seed } = sending;
  const traceId = await instanceOf(sending, 0).makeTrace();
  const spans = steps.map(({ parent }, n) =>
    spanBody({ ref: `${n}`, ...(parent >= 0 && { parent_ref: `${parent}` }) }),
  );
  const { body } = await instanceOf(sending, 0).post(`/api/v1/traces/${traceId}/spans/batch`, { spans }).expect(201);
  const stored = new Set<number>();
  const changes = shuffled(steps.length, seed).map(async (n) => {
    tick(traceId);
    const attributes = attributesOf(steps[n] as Step);
    const path = `/api/v1/traces/${traceId}/spans/${body.span_ids[n]}`;
    const { status } = await instanceOf(sending, n).patch(path, { attributes });
    expect([200, 404]).toContain(status);
    if (status === 200) stored.add(n);
  });
  await Promise.all(changes);
  return stored;
};

const { request: requestType } = loadOtlpMessages("traces");
const post = {
  json: (account: TestAccount, request: object) => sendJson(account, request),
  protobuf: (account: TestAccount, request: object) => {
    const toBytes = (_: string, value: unknown) =>
      typeof value === "object" && value !== null && !Array.isArray(value)
        ? Object.fromEntries(
            Object.entries(value).map(([key, each]) => [key, /Id$/.test(key) ? Buffer.from(each, "hex") : each]),
          )
        : value;
    const read = JSON.parse(JSON.stringify(request), toBytes);
    return sendProtobuf(account, Buffer.from(requestType.encode(requestType.fromObject(read)).finish()));
  },
};

/** In any order and some of it twice, over several requests; a deleted trace's spans are answered 200 and dropped. */
const otlp =
  (form: keyof typeof post): Send =>
  async (sending) => {
    const { steps, seed, tick } = sending;
    const otelId = randomBytes(16).toString("hex");
    const ids = steps.map(() => randomBytes(8).toString("hex"));
    const value = (attribute: string | number) =>
      typeof attribute === "number" ? { intValue: String(attribute) } : { stringValue: attribute };
    const spans = steps.map((each, n) => ({
      traceId: otelId,
      spanId: ids[n],
      ...(each.parent >= 0 && { parentSpanId: ids[each.parent] }),
      name: `step ${n}`,
      startTimeUnixNano: String(1_780_308_000_000_000_000n + BigInt(n) * 1_000n),
      endTimeUnixNano: String(1_780_308_001_000_000_000n),
      attributes: Object.entries(attributesOf(each)).map(([key, attribute]) => ({ key, value: value(attribute) })),
    }));
    const order = shuffled(steps.length, seed).map((n) => spans[n]);
    const together = (seed % 4) + 1;
    const requests: Promise<unknown>[] = [];
    let traceId: string | undefined;
    for (let at = 0; at < order.length; at += together) {
      const again = seed % 3 === 0 ? order.slice(Math.max(at - 1, 0), at) : [];
      const request = { resourceSpans: [{ scopeSpans: [{ spans: [...again, ...order.slice(at, at + together)] }] }] };
      if (traceId) tick(traceId);
      requests.push(post[form](instanceOf(sending, at), request).expect(200).then());
      if (at > 0 && seed % 2 === 0) continue;
      await requests.at(-1);
      const { body } = await instanceOf(sending, 0).get("/api/v1/traces").expect(200);
      traceId ??= body.traces[0]?.id;
    }
    await Promise.all(requests);
    return undefined;
  };

const ways: Record<string, Send> = { single, batch, patch, json: otlp("json"), protobuf: otlp("protobuf") };

describe("the money of nested spans", () => {
  const test = useApp();

  /** As if the time had passed after which gaps are looked at again. */
  const passTime = (account: TestAccount) =>
    test.pool.query("UPDATE model_call SET settle_at = now() WHERE account_id = $1 AND settle_at > now()", [
      account.id,
    ]);
  const sumsOf = async (account: TestAccount): Promise<Money> => {
    const range = "from=2026-06-01T00:00:00Z&to=2026-06-03T00:00:00Z";
    const { body } = await account.get(`/api/v1/usage/models?${range}`).expect(200);
    return (body.models as Parameters<typeof moneyOf>[0][]).map(moneyOf).reduce(add, nothing);
  };
  /** The steps of an OpenTelemetry trace with stored reports: their spans may be gone. */
  const storedSteps = async (account: TestAccount): Promise<Set<number>> => {
    const sql =
      "SELECT extract(microseconds FROM started_at)::int AS n FROM model_call WHERE account_id = $1 AND model <> ''";
    return new Set((await test.pool.query<{ n: number }>(sql, [account.id])).rows.map(({ n }) => n));
  };
  const all = (steps: readonly Step[]) => new Set(steps.keys());
  const expectNoDifference = async ({ id }: TestAccount) => {
    const now = new Date("2026-06-03T00:00:00Z");
    expect(await rebuildUsage(test.pool, id, { isCheck: true, now })).toEqual({ calls: 0, sums: [] });
  };

  it.each(Object.keys(ways))("is that of the rule, through %s", async (way) => {
    const on = await test.startInstance();
    const property = fc.asyncProperty(trace, fc.nat({ max: 1_000 }), async (steps, seed) => {
      const account = await test.makeAccount("pro");
      const instances = [account, on(account)];
      const stored = await ways[way]?.({ instances, steps, seed, tick: () => undefined });
      await passTime(account);
      const expected = recount(steps, stored ?? all(steps), false);
      expect(await sumsOf(account)).toEqual(expected);
      const { traces } = (await account.get("/api/v1/traces").expect(200)).body;
      const { body } = await account.get(`/api/v1/traces/${traces[0].id}?include=usage`).expect(200);
      expect(moneyOf(body.usage)).toEqual(expected);
      await expectNoDifference(account);
    });
    await fc.assert(property, randomRuns(4));
  });

  it.each(Object.keys(ways))("stays when the trace is deleted meanwhile, through %s", async (way) => {
    const on = await test.startInstance();
    const property = fc.asyncProperty(
      trace,
      fc.nat({ max: 1_000 }),
      fc.nat({ max: 9 }),
      async (random, seed, moment) => {
        const account = await test.makeAccount("pro");
        const instances = [account, on(account)];
        // All report, so that the stored reports tell which steps have arrived.
        const steps = random.map((each) => ({ ...each, tokens: each.tokens ?? 1 }));
        let deletion: Promise<unknown> | undefined;
        let ticks = 0;
        const tick = (traceId: string) => {
          if (ticks++ === moment) deletion = account.delete(`/api/v1/traces/${traceId}`).expect(200).then();
        };
        const stored = await ways[way]?.({ instances, steps, seed, tick });
        await deletion;
        await passTime(account);
        await sumsOf(account);
        const arrived = stored ?? (await storedSteps(account));
        expect(await sumsOf(account)).toEqual(recount(steps, arrived, stored === undefined));
        await expectNoDifference(account);
      },
    );
    await fc.assert(property, randomRuns(4));
  });
});

describe("a deletion", () => {
  const test = useApp({ lockTimeoutMs: 9_000 });
  const used = (tokens: number) => ({ "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": tokens });

  /** Waits until so many statements wait for locks, or one of the requests has ended. */
  async function untilWaiting(count: number, ...requests: Promise<unknown>[]): Promise<void> {
    let hasEnded = false;
    for (const each of requests) void each.then(() => (hasEnded = true));
    const sql =
      "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND application_name = 'test'";
    for (const until = Date.now() + 120_000; !hasEnded && Date.now() < until; await pause(5))
      if (((await test.pool.query(sql)).rowCount ?? 0) >= count) return;
    if (!hasEnded) throw new Error("The statements did not come to wait");
  }

  /** Deletes the trace while the request waits for the held rows, and returns both answers and the counted tokens. */
  async function deleteBeside(
    account: TestAccount,
    traceId: string,
    { hold, values, send }: { hold: string; values: unknown[]; send(): PromiseLike<{ status: number }> },
  ) {
    const held = await test.hold(hold, values);
    const sent = Promise.resolve(send()).then(({ status }) => status);
    await untilWaiting(1, sent);
    const removed = account.delete(`/api/v1/traces/${traceId}`).then(({ status }) => status);
    await untilWaiting(2, removed);
    await held.rollback();
    const statuses = [await sent, await removed];
    const range = "from=2026-06-01T00:00:00Z&to=2026-06-03T00:00:00Z";
    const { body } = await account.get(`/api/v1/usage/models?${range}`).expect(200);
    return { statuses, tokens: body.models.map(({ input_tokens }: { input_tokens: number }) => input_tokens) };
  }

  it("waits for spans under way, and keeps what they cost", async () => {
    const account = await test.makeAccount("pro");
    const traceId = await account.makeTrace();
    const hold = `INSERT INTO idempotency_key (account_id, key, request_hash, ids) VALUES ($1, 'k', decode(repeat('00', 32), 'hex'), '{}')`;
    const body = spanBody({ attributes: used(7) });
    const send = () => account.post(`/api/v1/traces/${traceId}/spans`, body).set("Idempotency-Key", "k");
    expect(await deleteBeside(account, traceId, { hold, values: [account.id], send })).toEqual({
      statuses: [201, 200],
      tokens: [7],
    });
  });

  it("waits for changes of spans under way, and keeps what they cost", async () => {
    const account = await test.makeAccount("pro");
    const traceId = await account.makeTrace();
    const path = `/api/v1/traces/${traceId}/spans`;
    const { body } = await account.post(path, spanBody()).expect(201);
    const hold = "SELECT FROM span WHERE id = $1 FOR UPDATE";
    const send = () => account.patch(`${path}/${body.span_id}`, { attributes: used(8) });
    expect(await deleteBeside(account, traceId, { hold, values: [body.span_id], send })).toEqual({
      statuses: [200, 200],
      tokens: [8],
    });
  });

  it("waits for OpenTelemetry's spans under way, and keeps what they cost", async () => {
    const account = await test.makeAccount("pro");
    const ids = { traceId: "7".repeat(32), startTimeUnixNano: "1780308000000000000", name: "s" };
    const attributes = [{ key: "gen_ai.usage.input_tokens", value: { intValue: "9" } }];
    const request = (span: object) => ({ resourceSpans: [{ scopeSpans: [{ spans: [{ ...ids, ...span }] }] }] });
    await sendJson(account, request({ spanId: "1".repeat(16) })).expect(200);
    const [{ id: traceId }] = (await account.get("/api/v1/traces").expect(200)).body.traces;
    const hold = `INSERT INTO span (account_id, trace_id, id, name, status, started_at) VALUES ($1, $2, $3, 's', 'ok', now())`;
    const send = () => sendJson(account, request({ spanId: "2".repeat(16), parentSpanId: "1".repeat(16), attributes }));
    const values = [account.id, traceId, spanUuid(traceId, "2".repeat(16))];
    expect(await deleteBeside(account, traceId, { hold, values, send })).toEqual({ statuses: [200, 200], tokens: [9] });
  });

  it("is waited for by spans of its trace alone, which are then not found", async () => {
    const [account, other] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
    const [traceId, otherTrace] = [await account.makeTrace(), await other.makeTrace()];
    const held = await test.hold("DELETE FROM trace WHERE id = $1", [traceId]);
    const send = (of: TestAccount, id: string) =>
      of.post(`/api/v1/traces/${id}/spans`, spanBody({ attributes: used(1) })).then(({ status }) => status);
    const waiting = send(account, traceId);
    await test.untilLockWaits();
    expect(await send(other, otherTrace)).toBe(201);
    await held.commit();
    expect(await waiting).toBe(404);
  });
});

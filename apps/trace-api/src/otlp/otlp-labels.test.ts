import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import { type TestAccount, useApp } from "../app.fixture.js";
import { sendJson } from "./otlp.fixture.js";

interface Step {
  isRoot: boolean;
  session?: string | undefined;
  environment?: string | undefined;
  tags?: string[] | undefined;
}

const word = fc.option(fc.constantFrom("a", "é", "\u{1f600}", "\uffee", "b"), { nil: undefined });
const step: fc.Arbitrary<Step> = fc.record({
  isRoot: fc.boolean(),
  session: word,
  environment: word,
  tags: fc.option(
    fc.array(
      fc.nat({ max: 40 }).map((n) => `t${n}`),
      { maxLength: 15 },
    ),
    { nil: undefined },
  ),
});
const scenario = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 8 }),
  requests: fc.array(fc.array(fc.nat({ max: 7 }), { minLength: 1, maxLength: 4 }), { maxLength: 5 }),
});

const text = (key: string, value: string | undefined) =>
  value === undefined ? [] : [{ key, value: { stringValue: value } }];

function spanOf(traceId: string, { isRoot, session, environment, tags }: Step, n: number) {
  const values = tags?.map((tag) => ({ stringValue: tag }));
  const span = {
    traceId,
    spanId: (n + 1).toString(16).padStart(16, "0"),
    ...(!isRoot && { parentSpanId: "f".repeat(16) }),
    name: "step",
    startTimeUnixNano: "1780315200000000000",
    endTimeUnixNano: "1780315201000000000",
    attributes: [
      ...text("session.id", session),
      ...(values ? [{ key: "tag.tags", value: { arrayValue: { values } } }] : []),
    ],
  };
  const attributes = text("deployment.environment.name", environment);
  return { resource: { attributes }, scopeSpans: [{ spans: [span] }] };
}

const bytesFirst = (texts: readonly string[]) =>
  texts.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));

/** The rule, over all spans at once. */
function expected(steps: readonly Step[]) {
  const best = (read: (step: Step) => string | undefined) => {
    const of = (some: readonly Step[]) => bytesFirst(some.flatMap((each) => read(each) ?? []))[0];
    return of(steps.filter(({ isRoot }) => isRoot)) ?? of(steps) ?? null;
  };
  const tags = bytesFirst([...new Set(steps.flatMap((each) => each.tags ?? []))]).slice(0, 20);
  return { session_id: best(({ session }) => session), environment: best(({ environment }) => environment), tags };
}

describe("labels from spans", () => {
  const test = useApp();
  const read = async (account: TestAccount, otel: string) => {
    const sql = "SELECT id FROM trace WHERE account_id = $1 AND otel_trace_id = decode($2, 'hex')";
    const { rows } = await test.pool.query(sql, [account.id, otel]);
    return (await account.get(`/api/v1/traces/${rows[0].id}?include=labels`).expect(200)).body;
  };

  it("are the same split over requests in any way, doubled, in any order, over two instances at once", async () => {
    const second = await test.startInstance();
    const account = await test.makeAccount("pro");
    let traces = 0;
    await fc.assert(
      fc.asyncProperty(scenario, async ({ steps, requests }) => {
        const otel = (++traces).toString(16).padStart(32, "0");
        const spans = steps.map((each, n) => spanOf(otel, each, n));
        const all = [
          ...requests.map((ns) => ns.flatMap((n) => spans[n] ?? [])),
          ...spans.map((span) => [span]).reverse(),
        ];
        await Promise.all(
          all.map((resourceSpans, n) => sendJson(n % 2 ? second(account) : account, { resourceSpans }).expect(200)),
        );
        expect(await read(account, otel)).toMatchObject(expected(steps));
      }),
      randomRuns(40),
    );
  });

  it("do not replace those of a PATCH, cleared ones either, and write nothing where nothing changes", async () => {
    const account = await test.makeAccount("pro");
    const otel = "ab".repeat(16);
    const child = spanOf(otel, { isRoot: false, session: "b", environment: "e", tags: ["x"] }, 0);
    await sendJson(account, { resourceSpans: [child] }).expect(200);
    const { id } = await read(account, otel);
    await account.patch(`/api/v1/traces/${id}`, { session_id: "mine", environment: null, tags: ["mine"] }).expect(200);
    const root = spanOf(otel, { isRoot: true, session: "a", environment: "a", tags: ["a"] }, 1);
    await sendJson(account, { resourceSpans: [root] }).expect(200);
    const kept = { session_id: "mine", environment: null, tags: ["mine"], status: "success" };
    expect(await read(account, otel)).toMatchObject(kept);
    const placeOf = async () => (await test.pool.query("SELECT ctid FROM trace WHERE id = $1", [id])).rows[0].ctid;
    const before = await placeOf();
    await sendJson(account, { resourceSpans: [child, root] }).expect(200);
    expect(await placeOf()).toBe(before);
  });
});

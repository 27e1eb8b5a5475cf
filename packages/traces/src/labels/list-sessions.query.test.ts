import { describe, expect, it } from "@jest/globals";
import { createUuidV7 } from "@waymark/database";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import { storeBlocks } from "../blocks/store-blocks.query.js";
import { useTraces } from "../traces.fixture.js";
import { listSessions, listUsers, sessionQuerySchema, sumsToList } from "./list-sessions.query.js";
import { oldestCursor, readSession } from "./read-session.query.js";

interface Run {
  id: string;
  agent: string;
  status: string;
  /** Minutes after the first start. */
  start: number;
  minutes: number | null;
  session: string | null;
  user: string | null;
  environment: string | null;
  release: string | null;
  tags: string[];
  calls: { model: string; input: number; output: number; cost: number | null }[];
}

const pick = (...texts: string[]) => fc.option(fc.constantFrom(...texts), { freq: 3 });
const call = fc.record({
  model: fc.constantFrom("", "m1", "m2"),
  input: fc.nat({ max: 1_000 }),
  output: fc.nat({ max: 1_000 }),
  cost: fc.option(fc.nat({ max: 100 })),
});
const run = fc.record({
  agent: fc.constantFrom("a", "b"),
  status: fc.constantFrom("running", "success", "error", "timeout"),
  start: fc.nat({ max: 20 }),
  minutes: fc.option(fc.nat({ max: 5 })),
  session: pick("s1", "s2", "é", "s 4"),
  user: pick("u1", "u2", "s1"),
  environment: pick("live", "test"),
  release: pick("1", "2"),
  tags: fc.uniqueArray(fc.constantFrom("x", "y", "z"), { maxLength: 3 }),
  calls: fc.array(call, { maxLength: 2 }),
});
const filter = fc.record(
  {
    agent_id: fc.constantFrom("a", "b"),
    user_id: fc.constantFrom("u1", "u2", "nobody"),
    environment: fc.constantFrom("live", "test"),
    from: fc.nat({ max: 20 }),
    to: fc.nat({ max: 20 }),
  },
  { requiredKeys: [] },
);
type Filter = { [Name in "agent_id" | "user_id" | "environment"]?: string } & { [Name in "from" | "to"]?: number };

/** Enough for blocks, and some after them. */
const scenario = fc.record({
  runs: fc.array(run, { minLength: 300, maxLength: 400, size: "max" }),
  changes: fc.array(fc.record({ at: fc.nat({ max: 299 }), session: pick("s1", "new") }), { maxLength: 20 }),
  deletions: fc.array(fc.nat({ max: 299 }), { maxLength: 40 }),
  filters: fc.array(filter, { minLength: 6, maxLength: 6 }),
});

const firstStart = Date.parse("2026-06-01T12:00:00Z");
const timeOf = (minute: number) => new Date(firstStart + minute * 60_000).toISOString();
const from = timeOf(0);

function totals(runs: readonly Run[]) {
  const calls = runs.flatMap((each) => each.calls);
  const costs = calls.flatMap(({ cost }) => cost ?? []);
  const add = (numbers: number[]) => numbers.reduce((sum, each) => sum + each, 0);
  return {
    traces: runs.length,
    failures: runs.filter(({ status }) => status === "error" || status === "timeout").length,
    input_tokens: add(calls.map(({ input }) => input)),
    output_tokens: add(calls.map(({ output }) => output)),
    cost_usd: costs.length > 0 ? String(add(costs)) : null,
  };
}

const endOf = ({ start, minutes }: Run) => start + (minutes ?? 0);
const inOrder = (runs: readonly Run[]) => runs.toSorted((a, b) => a.start - b.start || (a.id < b.id ? -1 : 1));

function groups(runs: readonly Run[], groupOf: (each: Run) => string | null) {
  const found = new Map<string | null, Run[]>();
  for (const each of runs) found.set(groupOf(each), [...(found.get(groupOf(each)) ?? []), each]);
  return found;
}

describe("conversations and users", () => {
  const test = useTraces();

  async function store(accountId: string, runs: readonly Run[]) {
    await test.pool.query(
      `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, ended_at, session_id, user_id, environment, release, tags, written_at)
       SELECT $1, (r->>'id')::uuid, r->>'agent', 'run', r->>'status', $2::timestamptz + (r->>'start')::int * interval '1 min',
         $2::timestamptz + ((r->>'start')::int + (r->>'minutes')::int) * interval '1 min', r->>'session', r->>'user', r->>'environment', r->>'release',
         ARRAY(SELECT json_array_elements_text(r->'tags')), now() - interval '2 hours'
       FROM json_array_elements($3::json) r`,
      [accountId, from, JSON.stringify(runs)],
    );
    await test.pool.query(
      `INSERT INTO model_call (account_id, trace_id, span_id, started_at, model, input_tokens, output_tokens, cached_input_tokens,
         cache_write_tokens, reasoning_tokens, cost)
       SELECT $1, (r->>'id')::uuid, gen_random_uuid(), $2, c->>'model', (c->>'input')::int, (c->>'output')::int, 1, 0, 0, (c->>'cost')::int
       FROM json_array_elements($3::json) r, json_array_elements(r->'calls') c`,
      [accountId, from, JSON.stringify(runs)],
    );
  }

  /** Stores runs, puts them into blocks, changes and deletes some. */
  async function make({
    runs,
    changes,
    deletions,
  }: {
    runs: Omit<Run, "id">[];
    changes: { at: number; session: string | null }[];
    deletions: number[];
  }) {
    const accountId = await test.makeAccount();
    const uuid = createUuidV7(() => Date.now() - 3 * 3_600_000);
    let all: Run[] = runs.map((each) => ({ ...each, id: uuid() }));
    await store(accountId, all);
    expect(await storeBlocks(test.pool, accountId, () => false)).toBeGreaterThan(0);
    for (const { at, session } of changes) {
      const id = all[at]?.id;
      await test.pool.query("UPDATE trace SET session_id = $3 WHERE account_id = $1 AND id = $2", [
        accountId,
        id,
        session,
      ]);
      all = all.map((each) => (each.id === id ? { ...each, session } : each));
    }
    const gone = deletions.map((n) => all[n]?.id);
    await test.pool.query("DELETE FROM trace WHERE account_id = $1 AND id = ANY ($2)", [accountId, gone]);
    return { accountId, runs: all.filter(({ id }) => !gone.includes(id)) };
  }

  async function checkOwners(accountId: string, all: readonly Run[], { from: first, to: last, ...texts }: Filter) {
    const runs = all.filter(
      ({ agent, user, environment, start }) =>
        agent === (texts.agent_id ?? agent) &&
        user === (texts.user_id ?? user) &&
        environment === (texts.environment ?? environment) &&
        start >= (first ?? start) &&
        (last === undefined || start < last),
    );
    const asked = {
      ...texts,
      ...(first !== undefined && { from: timeOf(first) }),
      ...(last !== undefined && { to: timeOf(last) }),
    };
    const pages: { id: string }[] = [];
    for (let cursor: string | undefined; ; ) {
      const query = sessionQuerySchema.parse({ ...asked, limit: "2", cursor });
      const page = await listSessions(test.pool, sumsToList(accountId, query));
      pages.push(...page.sessions);
      if (page.next_cursor === null) break;
      cursor = page.next_cursor;
    }
    const summaryOf = (own: readonly Run[]) => ({
      ...totals(own),
      first_at: timeOf(Math.min(...own.map(({ start }) => start))),
      last_at: timeOf(Math.max(...own.map(endOf))),
    });
    const sessions = [...groups(runs, ({ session }) => session)].flatMap(([id, own]) => {
      const user_id = inOrder(own).findLast(({ user }) => user !== null)?.user ?? null;
      return id === null ? [] : [{ id, user_id, ...summaryOf(own) }];
    });
    const latest = <Owner extends { id: string; last_at: string }>(owners: Owner[]) =>
      owners.sort((a, b) =>
        a.last_at === b.last_at ? Buffer.compare(Buffer.from(b.id), Buffer.from(a.id)) : a.last_at < b.last_at ? 1 : -1,
      );
    expect(pages).toEqual(latest(sessions));
    const users = [...groups(runs, ({ user }) => user)].flatMap(([id, own]) => {
      const count = new Set(own.flatMap(({ session }) => session ?? [])).size;
      return id === null ? [] : [{ id, sessions: count, ...summaryOf(own) }];
    });
    const read = await listUsers(test.pool, sumsToList(accountId, sessionQuerySchema.parse(asked)));
    expect(read).toEqual({ users: latest(users), next_cursor: null });
  }

  async function checkSessions(accountId: string, runs: readonly Run[]) {
    for (const id of groups(runs, ({ session }) => session).keys()) {
      if (id === null) continue;
      const session = await readSession(test.pool, { accountId, sessionId: id, after: oldestCursor, limit: 200 });
      expect(session?.traces.map((trace) => trace.id)).toEqual(
        inOrder(runs.filter((each) => each.session === id))
          .map((each) => each.id)
          .slice(0, 200),
      );
    }
  }

  it("agree with a recount, whatever is asked, after changes and deletions, in blocks and out of them", async () => {
    await fc.assert(
      fc.asyncProperty(scenario, async (each) => {
        const { accountId, runs } = await make(each);
        const isOrdered = ({ from: first = 0, to: last = 21 }: Filter) => first < last;
        for (const asked of [{}, ...each.filters.filter(isOrdered)]) await checkOwners(accountId, runs, asked);
        await checkSessions(accountId, runs);
      }),
      randomRuns(3),
    );
  }, 240_000);

  it("are empty for another account", async () => {
    const other = await test.makeAccount();
    const query = sumsToList(other, sessionQuerySchema.parse({}));
    expect(await listSessions(test.pool, query)).toEqual({ sessions: [], next_cursor: null });
    expect(
      await readSession(test.pool, { accountId: other, sessionId: "s1", after: oldestCursor, limit: 1 }),
    ).toBeUndefined();
  });
});

import { describe, expect, it } from "@jest/globals";
import { createUuidV7 } from "@waymark/database";
import { randomRuns } from "@waymark/testing";
import { listTraces, newestCursor, type TracesToFind } from "@waymark/traces";
import fc from "fast-check";
import { type SignedIn, useDashboard } from "../dashboard.fixture.js";
import type { TraceChangesAnswer, TraceList, TraceRow } from "./traces.route.js";

const dashboard = useDashboard();
const { pool } = dashboard;
const uuid = createUuidV7();
const statuses = ["running", "success", "error", "timeout"] as const;

interface Made {
  status: (typeof statuses)[number];
  agent: string;
  name: string;
  seconds: number;
  durationMs: number;
}

const made = fc.array(
  fc.record<Made>({
    status: fc.constantFrom(...statuses),
    agent: fc.constantFrom("writer", "reader"),
    name: fc.constantFrom("refund", "Refund 7", "ship", "ünïcode"),
    seconds: fc.integer({ min: 0, max: 20 }),
    durationMs: fc.integer({ min: 0, max: 5_000 }),
  }),
  { minLength: 12, maxLength: 40 },
);

async function insert(accountId: string, traces: readonly Partial<Made>[]): Promise<string[]> {
  const ids = traces.map(() => uuid());
  for (const [index, trace] of traces.entries()) {
    const { status = "success", agent = "writer", name = "a trace", seconds = 0, durationMs = 10 } = trace;
    await pool.query(
      `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, ended_at)
       VALUES ($1, $2, $3, $4, $5, '2026-06-01'::timestamptz + $6 * interval '1 s',
         CASE WHEN $5 <> 'running' THEN '2026-06-01'::timestamptz + $6 * interval '1 s' + $7 * interval '1 ms' END)`,
      [accountId, ids[index], agent, name, status, seconds, durationMs],
    );
  }
  return ids;
}

async function walk(person: SignedIn, query: string): Promise<TraceRow[]> {
  const rows: TraceRow[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const more: string = cursor === "" ? "" : `&cursor=${cursor}`;
    const body: TraceList = (await person.get(`/traces?limit=7${query}${more}`).expect(200)).body;
    rows.push(...body.traces);
    cursor = body.nextCursor;
  }
  return rows;
}

describe("GET /traces", () => {
  it("has the API's rows for every filter, and its pages make one list", async () => {
    await fc.assert(
      fc.asyncProperty(made, async (traces) => {
        const accountId = await dashboard.makeAccount();
        await insert(accountId, traces);
        const person = await dashboard.signIn(accountId, "member");
        const filters: [string, Partial<TracesToFind>][] = [
          ["", {}],
          ["&status=error,timeout", { statuses: ["error", "timeout"] }],
          ["&status=running", { statuses: ["running"] }],
          ["&name=REFUND&agent_id=writer", { name: "REFUND", agentId: "writer" }],
          ["&min_duration_ms=2500", { minDurationMs: 2_500 }],
          ["&from=2026-06-01T00:00:10Z", { from: "2026-06-01T00:00:10Z" }],
        ];
        for (const [query, filter] of filters) {
          const all = await listTraces(pool, { accountId, after: newestCursor, limit: 200, ...filter });
          const rows = await walk(person, query);
          expect(rows).toMatchObject(
            all.traces.map(({ id, agent_id, name, status, started_at, ended_at, duration_ms }) => {
              return { id, agent_id, name, status, started_at, ended_at, duration_ms };
            }),
          );
        }
      }),
      randomRuns(4),
    );
  });

  it("finds words in contents, of the own account alone", async () => {
    const [accountId, other] = [await dashboard.makeAccount(), await dashboard.makeAccount()];
    for (const each of [accountId, other]) {
      const [id] = await insert(each, [{ name: "by input" }, {}]);
      await pool.query(
        `INSERT INTO span (account_id, trace_id, id, name, status, started_at, input)
         VALUES ($1, $2, $3, 'call', 'ok', now(), '"Stra\\u00dfe 7"')`,
        [each, id, uuid()],
      );
    }
    const person = await dashboard.signIn(accountId, "member");
    expect((await walk(person, "&q=STRASSE")).map(({ name }) => name)).toEqual(["by input"]);
  });

  it("shows nothing of another account", async () => {
    await insert(await dashboard.makeAccount(), [{ status: "error" }]);
    const person = await dashboard.signIn(await dashboard.makeAccount());
    await person.get("/traces").expect(200, { traces: [], nextCursor: null });
    await person.get("/traces/agents").expect(200, { agents: [] });
  });

  it("has the error and the mail of a failed trace, and the agents to choose from", async () => {
    const accountId = await dashboard.makeAccount();
    const [id] = await insert(accountId, [{ status: "error" }]);
    await pool.query(
      `INSERT INTO span (account_id, trace_id, id, name, status, started_at, error)
       VALUES ($1, $2, $3, 'call', 'error', now(), 'Connection refused')`,
      [accountId, id, uuid()],
    );
    const alert = "INSERT INTO alert (account_id, id, trace_id, status, sent_at) VALUES ($1, $2, $3, 'error', now())";
    await pool.query(alert, [accountId, uuid(), id]);
    for (const agent of ["writer", "reader"])
      await pool.query("INSERT INTO agent (account_id, id) VALUES ($1, $2)", [accountId, agent]);
    const person = await dashboard.signIn(accountId);
    const { body } = await person.get("/traces").expect(200);
    expect(body.traces).toMatchObject([{ id, error: "Connection refused", isMailed: true }]);
    await person.get("/traces/agents").expect(200, { agents: ["reader", "writer"] });
  });

  it("answers 400 for a malformed filter, and 401 without a session", async () => {
    const person = await dashboard.signIn(await dashboard.makeAccount());
    for (const query of ["status=done", "limit=201", "cursor=x", "min_duration_ms=-1"])
      await person.get(`/traces?${query}`).expect(400);
    await dashboard.anonymous().get("/traces").expect(401);
    await dashboard.anonymous().get("/traces/changes").expect(401);
  });
});

describe("GET /traces/otel/:otel_trace_id", () => {
  it("has the id of the own account's trace, in either case", async () => {
    const [accountId, digits] = [await dashboard.makeAccount(), "4bf92f3577b34da6a3ce929d0e0e4736"];
    const [id] = await insert(accountId, [{}]);
    await pool.query("UPDATE trace SET otel_trace_id = decode($2, 'hex') WHERE id = $1", [id, digits]);
    const member = await dashboard.signIn(accountId, "member");
    await member.get(`/traces/otel/${digits}`).expect(200, { id });
    await member.get(`/traces/otel/${digits.toUpperCase()}`).expect(200, { id });
    const stranger = await dashboard.signIn(await dashboard.makeAccount());
    for (const unknown of [digits, digits.slice(1), "x"]) await stranger.get(`/traces/otel/${unknown}`).expect(404);
    await dashboard.anonymous().get(`/traces/otel/${digits}`).expect(401);
  });
});

describe("GET /traces/changes", () => {
  it("has new and changed traces of the own account only", async () => {
    const accountId = await dashboard.makeAccount();
    const [first] = await insert(accountId, [{ status: "running" }]);
    const person = await dashboard.signIn(accountId, "member");
    const stranger = await dashboard.signIn(await dashboard.makeAccount());
    const path = `/traces/changes?after=${first}&ids=${first}`;
    const before: TraceChangesAnswer = (await person.get(path).expect(200)).body;
    expect(before).toMatchObject({ created: [], changed: [{ id: first }], gone: [], hasMore: false });
    const [second] = await insert(accountId, [{}]);
    await pool.query("UPDATE trace SET status = 'timeout', written_at = now() WHERE id = $1", [first]);
    const after = (await person.get(`${path}&since=${before.at}`).expect(200)).body;
    expect(after).toMatchObject({
      created: [{ id: second }],
      changed: [{ id: first, status: "timeout", error: null }],
    });
    const foreign = (await stranger.get(path).expect(200)).body;
    expect(foreign).toMatchObject({ created: [], changed: [], gone: [first] });
  });

  it("answers 400 for more than 100 ids and for malformed ones", async () => {
    const person = await dashboard.signIn(await dashboard.makeAccount());
    const ids = Array.from({ length: 101 }, () => uuid());
    await person.get(`/traces/changes?ids=${ids.slice(1).join()}`).expect(200);
    await person.get(`/traces/changes?ids=${ids.join()}`).expect(400);
    for (const query of ["ids=x", "after=x", "since=yesterday"])
      await person.get(`/traces/changes?${query}`).expect(400);
  });
});

describe("DELETE /traces/:trace_id", () => {
  it("removes a trace with its spans for an owner, and records it", async () => {
    const accountId = await dashboard.makeAccount();
    const [id, kept] = await insert(accountId, [{ name: "refund" }, {}]);
    await pool.query(
      "INSERT INTO span (account_id, trace_id, id, name, status, started_at) VALUES ($1, $2, $3, 'call', 'ok', now())",
      [accountId, id, uuid()],
    );
    const owner = await dashboard.signIn(accountId);
    await owner.delete(`/traces/${id?.toUpperCase()}`).expect(200);
    const { body } = await owner.get("/traces").expect(200);
    expect(body.traces).toMatchObject([{ id: kept }]);
    expect((await pool.query("SELECT FROM span WHERE trace_id = $1", [id])).rowCount).toBe(0);
    const audit = (await owner.get("/audit").expect(200)).body.entries;
    expect(audit).toMatchObject([{ action: "trace_deleted", subject: `refund (${id})`, person: "A owner" }]);
    await owner.delete(`/traces/${id}`).expect(404);
  });

  it("refuses a member with 403, and another account's owner with 404", async () => {
    const accountId = await dashboard.makeAccount();
    const [id] = await insert(accountId, [{}]);
    const member = await dashboard.signIn(accountId, "member");
    const stranger = await dashboard.signIn(await dashboard.makeAccount());
    await member.delete(`/traces/${id}`).expect(403);
    await stranger.delete(`/traces/${id}`).expect(404);
    await stranger.delete("/traces/unknown").expect(404);
    expect((await member.get("/traces").expect(200)).body.traces).toHaveLength(1);
  });
});

describe("GET /traces/:id/last-success", () => {
  const success = async (person: SignedIn, id: string | undefined) =>
    (await person.get(`/traces/${id}/last-success`).expect(200)).body.trace?.id;

  it("answers the newest success of the agent before the trace, rather of its name, else one after it", async () => {
    const viewer = await dashboard.signIn(await dashboard.makeAccount());
    const [failed, older, named, , , , later] = await insert(viewer.accountId, [
      { status: "error", name: "refund", seconds: 10 },
      { name: "refund", seconds: 1 },
      { name: "refund", seconds: 5 },
      { name: "ship", seconds: 8 },
      { name: "refund", seconds: 9, agent: "reader" },
      { name: "refund", seconds: 9, status: "timeout" },
      { name: "refund", seconds: 12 },
      { name: "ship", seconds: 13 },
    ]);
    expect(await success(viewer, failed)).toBe(named);
    expect(await success(viewer, named)).toBe(older);
    expect(await success(viewer, older)).toBe(later);
  });

  it("answers null without any, and 404 for another account's trace", async () => {
    const viewer = await dashboard.signIn(await dashboard.makeAccount());
    const [failed] = await insert(viewer.accountId, [{ status: "error" }, { agent: "reader" }]);
    expect(await success(viewer, failed)).toBe(undefined);
    const other = await dashboard.signIn(await dashboard.makeAccount());
    for (const id of [failed, "none"]) {
      const { body } = await other.get(`/traces/${id}/last-success`).expect(404);
      expect(body).toEqual({ error: "Trace not found" });
    }
  });
});

import { describe, expect, it } from "@jest/globals";
import { useDashboard } from "../dashboard.fixture.js";
import { insertTrace } from "../traces/traces.fixture.js";
import type { TraceList } from "../traces/traces.route.js";
import type { MuteList } from "./failure-marks.route.js";
import type { FailureDetail, FailureList } from "./failures.route.js";

const dashboard = useDashboard();
const { pool } = dashboard;
const nobody = "00000000-0000-7000-8000-000000000000";

async function open() {
  const accountId = await dashboard.makeAccount();
  const failed = (agent: string, error: string, ago: number) =>
    insertTrace(pool, accountId, { agent, status: "error", error, ago });
  await failed("writer", "Order 7 not found", 600);
  const newest = await failed("writer", "Order 1042 not found", 60);
  await failed("reader", "refused", 30);
  await insertTrace(pool, accountId, { status: "success" });
  const member = await dashboard.signIn(accountId, "member");
  const list = async (query = "") => (await member.get(`/failures${query}`).expect(200)).body as FailureList;
  const mutes = async () => ((await member.get("/mutes").expect(200)).body as MuteList).mutes;
  return { accountId, member, newest, list, mutes };
}

describe("GET /failures", () => {
  it("200: groups what went wrong, most frequent first, with the newest trace", async () => {
    const { newest, list } = await open();
    const { failures, next_cursor } = await list();
    expect(next_cursor).toBeNull();
    expect(failures).toMatchObject([
      {
        agent_id: "writer",
        span_name: "call",
        error: "Order N not found",
        count: 2,
        trace_id: newest,
        muted_until: null,
      },
      { agent_id: "reader", error: "refused", count: 1 },
    ]);
    const page = await list("?limit=1");
    expect(page.failures).toHaveLength(1);
    const rest = await list(`?limit=1&cursor=${page.next_cursor}`);
    expect(rest).toMatchObject({ failures: [{ error: "refused" }], next_cursor: null });
    expect((await list("?agent_id=reader")).failures).toHaveLength(1);
  });

  it("200: has nothing of another account", async () => {
    await open();
    const other = await dashboard.signIn(await dashboard.makeAccount());
    expect((await other.get("/failures").expect(200)).body.failures).toEqual([]);
    expect((await other.get("/mutes").expect(200)).body.mutes).toEqual([]);
  });

  it("400: names a wrong parameter", async () => {
    const { member } = await open();
    expect(Object.keys((await member.get("/failures?from=x").expect(400)).body.fields)).toEqual(["from"]);
  });
});

describe("PUT and DELETE /failures/:failure_id/mute", () => {
  it("404: for what is no failure, such as a NUL", async () => {
    const { member } = await open();
    for (const id of [nobody, "x", "%00"]) {
      await member.put(`/failures/${id}/mute`, { until: null }).expect(404);
      await member.delete(`/failures/${id}/mute`).expect(404);
    }
  });

  it("200: mute for a time or for good, and end it", async () => {
    const { member, list, mutes } = await open();
    const [{ id } = { id: "" }] = (await list()).failures;
    const until = new Date(Date.now() + 3_600_000).toISOString();
    await member.put(`/failures/${id}/mute`, { until }).expect(200);
    expect((await list()).failures[0]).toMatchObject({ id, muted_until: until });
    expect(await mutes()).toMatchObject([{ id, state: "active", until, muted: 0 }]);
    await member.put(`/failures/${id}/mute`, { until: null }).expect(200);
    expect((await list()).failures[0]?.muted_until).toMatch(/^9999/);
    await member.delete(`/failures/${id}/mute`).expect(200);
    expect((await list()).failures[0]?.muted_until).toBeNull();
    expect(await mutes()).toEqual([]);
    await member.delete(`/failures/${id}/mute`).expect(404);
  });

  it("400 and 404: refuse a time that is past, an unknown failure, and another account's", async () => {
    const { member, list } = await open();
    const [{ id } = { id: "" }] = (await list()).failures;
    const past = await member.put(`/failures/${id}/mute`, { until: "2020-01-01T00:00:00Z" }).expect(400);
    expect(past.body.fields).toEqual({ until: "Must be a time to come" });
    await member.put(`/failures/${id}/mute`, {}).expect(400);
    for (const each of [nobody, "x"]) await member.put(`/failures/${each}/mute`, { until: null }).expect(404);
    await member.put(`/failures/${id}/mute`, { until: null }).expect(200);
    const other = await dashboard.signIn(await dashboard.makeAccount());
    await other.put(`/failures/${id}/mute`, { until: null }).expect(404);
    await other.delete(`/failures/${id}/mute`).expect(404);
  });
});

describe("GET /failures/:failure_id", () => {
  async function openOne() {
    const opened = await open();
    const [{ id } = { id: "" }] = (await opened.list()).failures;
    const path = `/failures/${id}`;
    const { accountId, member, list } = opened;
    const read = async (query = "") => (await member.get(path + query).expect(200)).body as FailureDetail;
    const fail = (ago: number) =>
      insertTrace(pool, accountId, { agent: "writer", status: "error", error: "Order 9 not found", ago, seconds: 0 });
    const ids = async (state: string) => (await list(`?state=${state}`)).failures.map((failure) => failure.id);
    return { ...opened, id, path, read, fail, ids };
  }

  it("200: has the latest text as it was sent, its days, and whether it is new", async () => {
    const { id, newest, read, fail } = await openOne();
    const today = new Date().toISOString().slice(0, 10);
    expect(await read()).toMatchObject({
      id,
      agent_id: "writer",
      span_name: "call",
      text: "Order 1042 not found",
      trace_id: newest,
      count: 2,
      is_new: true,
      resolved_at: null,
      assignedTo: null,
    });
    const old = 12 * 86_400;
    await fail(old);
    const [month, week, day] = [await read("?days=30"), await read("?days=7"), await read("?days=1")];
    expect(month).toMatchObject({ count: 3, is_new: true });
    expect(month.days.map(({ count }) => count).reduce((a, b) => a + b)).toBe(3);
    expect(month.days[0]).toEqual({ day: new Date(Date.now() - old * 1_000).toISOString().slice(0, 10), count: 1 });
    expect(week.is_new).toBe(false);
    expect(day).toMatchObject({ from: today, is_new: false, first_at: month.first_at });
  });

  it("200: lists its traces, newest first and by pages, also those that nobody has grouped", async () => {
    const { path, member, fail } = await openOne();
    for (let n = 0; n < 7; n++) await fail(n);
    const pages: string[][] = [];
    let query = "?limit=4";
    for (;;) {
      const { traces, nextCursor } = (await member.get(`${path}/traces${query}`).expect(200)).body as TraceList;
      expect(traces.every(({ agent_id, error }) => agent_id === "writer" && /^Order/.test(error ?? ""))).toBe(true);
      pages.push(traces.map(({ started_at }) => started_at));
      if (nextCursor === null) break;
      query = `?limit=4&cursor=${nextCursor}`;
    }
    expect(pages.map((page) => page.length)).toEqual([4, 4, 1]);
    expect(pages.flat()).toEqual(pages.flat().sort().reverse());
  });

  it("200: is resolved until a trace fails so afterwards", async () => {
    const { id, path, member, read, fail, ids } = await openOne();
    expect([await ids("open"), await ids("resolved")]).toEqual([[id, expect.anything()], []]);
    await member.put(`${path}/resolved`).expect(200);
    const { resolved_at } = await read();
    expect(Math.abs(Date.parse(resolved_at ?? "") - Date.now())).toBeLessThan(60_000);
    expect([await ids("open"), await ids("resolved")]).toEqual([[expect.not.stringMatching(id)], [id]]);
    await fail(30);
    expect((await read()).resolved_at).toBe(resolved_at);
    await fail(-5);
    await pool.query("UPDATE failure SET resolved_at = now() - interval '1 minute' WHERE id = $1", [id]);
    expect((await read()).resolved_at).toBeNull();
    expect([await ids("open"), await ids("resolved")]).toEqual([[id, expect.anything()], []]);
    await member.put(`${path}/resolved`).expect(200);
    expect(await ids("resolved")).toEqual([id]);
    await member.delete(`${path}/resolved`).expect(200);
    expect((await read()).resolved_at).toBeNull();
  });

  it("200: is resolved though the clock of the sender is ahead", async () => {
    const { path, member, read, fail } = await openOne();
    const ahead = "UPDATE trace SET ended_at = now() + interval '10 minutes' WHERE id = $1";
    await pool.query(ahead, [await fail(1)]);
    await read();
    await member.put(`${path}/resolved`).expect(200);
    expect((await read()).resolved_at).not.toBeNull();
    await pool.query(ahead, [await fail(1)]);
    expect((await read()).resolved_at).toBeNull();
  });

  it("200: is a person's until the person leaves; 400 for somebody else", async () => {
    const { accountId, path, member, read } = await openOne();
    const other = await dashboard.signIn(accountId);
    await member.put(`${path}/assignee`, { personId: other.personId }).expect(200);
    expect((await read()).assignedTo).toBe(other.personId);
    await pool.query("DELETE FROM membership WHERE person_id = $1", [other.personId]);
    expect((await read()).assignedTo).toBeNull();
    const foreign = await dashboard.signIn(await dashboard.makeAccount());
    for (const personId of [other.personId, foreign.personId, "x", 7]) {
      const { body } = await member.put(`${path}/assignee`, { personId }).expect(400);
      expect(Object.keys(body.fields)).toEqual(["personId"]);
    }
    await member.put(`${path}/assignee`, { personId: member.personId }).expect(200);
    await member.put(`${path}/assignee`, { personId: null }).expect(200);
    expect((await read()).assignedTo).toBeNull();
  });

  it("200: muting and resolving change nothing of each other, nor of its traces", async () => {
    const { path, member, read } = await openOne();
    await member.put(`${path}/mute`, { until: null }).expect(200);
    await member.put(`${path}/resolved`).expect(200);
    expect(await read()).toMatchObject({ count: 2, muted_until: expect.stringMatching(/^9999/) });
    await member.delete(`${path}/mute`).expect(200);
    expect(await read()).toMatchObject({ muted_until: null, resolved_at: expect.any(String) });
  });

  it("200: has no last trace once its traces are gone", async () => {
    const { accountId, path, member, read } = await openOne();
    await member.put(`${path}/resolved`).expect(200);
    await pool.query("DELETE FROM trace WHERE account_id = $1", [accountId]);
    expect(await read()).toMatchObject({ count: 0, is_new: false, last_at: null, text: "Order N not found", days: [] });
    expect((await member.get(`${path}/traces`).expect(200)).body).toEqual({ traces: [], nextCursor: null });
  });

  it("400: names a wrong parameter", async () => {
    const { path, member } = await openOne();
    for (const [query, name] of [
      ["?days=2", "days"],
      ["/traces?limit=201", "limit"],
      ["/traces?cursor=x", "cursor"],
    ])
      expect(Object.keys((await member.get(path + query).expect(400)).body.fields)).toEqual([name]);
    expect(Object.keys((await member.get("/failures?state=x").expect(400)).body.fields)).toEqual(["state"]);
  });

  it("404: for another account's failure, an unknown one, and what is no id", async () => {
    const { id, read } = await openOne();
    const other = await dashboard.signIn(await dashboard.makeAccount());
    for (const each of [id, nobody, "x", "%00"]) {
      await other.get(`/failures/${each}`).expect(404);
      await other.get(`/failures/${each}/traces`).expect(404);
      await other.put(`/failures/${each}/resolved`).expect(404);
      await other.delete(`/failures/${each}/resolved`).expect(404);
      await other.put(`/failures/${each}/assignee`, { personId: other.personId }).expect(404);
    }
    expect(await read()).toMatchObject({ resolved_at: null, assignedTo: null });
  });
});

describe("POST /failure-marks", () => {
  it("200: mutes, resolves and assigns the chosen failures, and says of each whether it did", async () => {
    const { member, list, mutes } = await open();
    const ids = (await list()).failures.map(({ id }) => id);
    const results = [...ids.map((id) => ({ id, isDone: true })), { id: nobody, isDone: false }];
    const mark = async (body: object) =>
      (await member.post("/failure-marks", { ids: [...ids, nobody], ...body }).expect(200)).body.results;
    const until = new Date(Date.now() + 3_600_000).toISOString();
    expect(await mark({ mark: "mute", until })).toEqual(results);
    expect((await mutes()).map((mute) => mute.until)).toEqual([until, until]);
    expect(await mark({ mark: "mute", until: null })).toEqual(results);
    expect((await mutes()).map((mute) => mute.until)).toEqual([null, null]);
    expect(await mark({ mark: "assign", personId: member.personId })).toEqual(results);
    expect(await mark({ mark: "resolve" })).toEqual(results);
    expect((await list("?state=resolved")).failures.map(({ id }) => id)).toEqual(ids);
    for (const id of ids)
      expect((await member.get(`/failures/${id}`).expect(200)).body).toMatchObject({ assignedTo: member.personId });
    await mark({ mark: "assign", personId: null });
    expect((await member.get(`/failures/${ids[0]}`).expect(200)).body.assignedTo).toBeNull();
  });

  it("200: changes nothing of another account", async () => {
    const { list, mutes } = await open();
    const ids = (await list()).failures.map(({ id }) => id);
    const other = await dashboard.signIn(await dashboard.makeAccount());
    for (const mark of [{ mark: "mute", until: null }, { mark: "resolve" }, { mark: "assign", personId: null }]) {
      const { body } = await other.post("/failure-marks", { ids, ...mark }).expect(200);
      expect(body.results).toEqual(ids.map((id) => ({ id, isDone: false })));
    }
    expect([await mutes(), (await list()).failures.map(({ id }) => id)]).toEqual([[], ids]);
  });

  it("400: names what is wrong, and marks none", async () => {
    const { member, list, mutes } = await open();
    const ids = (await list()).failures.map(({ id }) => id);
    const stranger = await dashboard.signIn(await dashboard.makeAccount());
    for (const [field, body] of [
      ["ids", { ids: [], mark: "resolve" }],
      ["ids", { ids: Array.from({ length: 101 }, () => nobody), mark: "resolve" }],
      ["mark", { ids, mark: "delete" }],
      ["until", { ids, mark: "mute", until: "2020-01-01T00:00:00Z" }],
      ["until", { ids, mark: "mute" }],
      ["personId", { ids, mark: "assign", personId: stranger.personId }],
    ] as const)
      expect(Object.keys((await member.post("/failure-marks", body).expect(400)).body.fields)).toEqual([field]);
    expect(await mutes()).toEqual([]);
  });

  it("409: mutes none where not all have room", async () => {
    const { accountId, member, list, mutes } = await open();
    const ids = (await list()).failures.map(({ id }) => id);
    await pool.query(
      "INSERT INTO mute (account_id, failure_id) SELECT $1, gen_random_uuid() FROM generate_series(1, 999)",
      [accountId],
    );
    await member.post("/failure-marks", { ids, mark: "mute", until: null }).expect(409);
    expect(await mutes()).toEqual([]);
    await member.post("/failure-marks", { ids: [ids[0]], mark: "mute", until: null }).expect(200);
  });
});

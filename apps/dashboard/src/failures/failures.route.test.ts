import { describe, expect, it } from "@jest/globals";
import { useDashboard } from "../dashboard.fixture.js";
import { insertTrace } from "../traces/traces.fixture.js";
import type { FailureList, MuteList } from "./failures.route.js";

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

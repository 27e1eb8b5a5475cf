import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it, jest } from "@jest/globals";
import { type TestAccount, traceBody, useApp } from "../app.fixture.js";
import { eventId } from "./frames.js";
import { openStream, type StreamClient } from "./stream.fixture.js";

describe("GET /traces/stream", () => {
  const test = useApp();
  let server: Server;
  let url = "";
  const open = new Set<StreamClient>();
  beforeAll(async () => {
    server = createServer(test.app);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    for (const stream of open) await stream.close();
    await new Promise((resolve) => server.close(resolve));
  });
  async function listen({ key }: TestAccount, options: { lastId?: string | undefined; query?: string } = {}) {
    const stream = await openStream(url, { key, ...options });
    open.add(stream);
    return stream;
  }
  const told = (stream: StreamClient) => stream.events.map(({ data }) => `${data.name} ${data.status}`);
  const finish = (account: TestAccount, id: string, status: string) =>
    account.patch(`/api/v1/traces/${id}`, { status }).expect(200);

  it("tells new traces and changes of status from now on, with the list's entries", async () => {
    const account = await test.makeAccount("pro");
    await account.makeTrace({ name: "before" });
    const stream = await listen(account);
    expect(stream.status).toBe(200);
    expect(stream.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(stream.headers.get("x-accel-buffering")).toBe("no");
    const id = await account.makeTrace({ name: "one" });
    await stream.until(1);
    await finish(account, id, "error");
    await stream.until(2);
    // Neither changes the status.
    await finish(account, id, "error");
    await account.patch(`/api/v1/traces/${id}`, { ended_at: "2026-06-01T12:00:09Z" }).expect(200);
    await account.makeTrace({ name: "two" });
    await stream.until(3);
    expect(told(stream)).toEqual(["one running", "one error", "two running"]);
    expect(stream.events.every(({ event, id: eventsId }) => event === "trace" && eventsId)).toBe(true);
    const { body } = await account.get("/api/v1/traces?name=two");
    expect(stream.events[2]?.data).toEqual(body.traces[0]);
  });

  it("tells nothing of another account, and nobody without a key", async () => {
    const [own, foreign] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
    const stream = await listen(own);
    const other = await listen(foreign);
    await foreign.makeTrace({ name: "foreign" });
    await own.makeTrace({ name: "own" });
    await stream.until(1);
    await other.until(1);
    expect([told(stream), told(other)]).toEqual([["own running"], ["foreign running"]]);
    // Another account's id reads the own account.
    const resumed = await listen(own, { lastId: eventId({ base: "3:3:" }, Date.now()) });
    await resumed.until(1);
    expect(told(resumed)).toEqual(["own running"]);
    expect((await openStream(url, { key: "wmk_trace_none" })).status).toBe(401);
  });

  it("goes on after each of its ids without gap or repeat, with commits that come late", async () => {
    const account = await test.makeAccount("pro");
    const stream = await listen(account);
    const beginning = stream.lastId;
    const late = await test.hold(
      `INSERT INTO trace (account_id, id, agent_id, name, status, started_at)
       VALUES ($1, gen_random_uuid(), 'agent', 'late', 'running', now())`,
      [account.id],
    );
    const names = ["a", "b", "c", "d"];
    const ids = await Promise.all(names.map((name) => account.makeTrace({ name })));
    await stream.until(4);
    await late.commit();
    await stream.until(5);
    await finish(account, ids[0] ?? "", "success");
    await stream.until(6);
    const all = [...stream.events];
    const lines = told(stream);
    expect(all[4]?.data.name).toBe("late");
    expect(new Set(all.map(({ id }) => id)).size).toBe(6);
    // `a` has changed since: a stream from before its change tells it once, as it is now.
    const expected = (from: number) => {
      const rest = lines.slice(from);
      return rest.filter((line) => line !== "a running" || !rest.includes("a success")).sort();
    };
    for (const [from, lastId] of [beginning, ...all.map(({ id }) => id)].entries()) {
      const again = await listen(account, { lastId });
      await account.makeTrace({ name: `after ${from}` });
      await again.until(expected(from).length + from + 1);
      const fresh = told(again).filter((line) => !line.startsWith("after "));
      expect(fresh.sort()).toEqual(expected(from));
      expect(new Set(again.events.map(({ id }) => id)).size).toBe(again.events.length);
      await again.close();
    }
  });

  it("filters as the list does, and refuses what is no filter", async () => {
    const account = await test.makeAccount("pro");
    const stream = await listen(account, { query: "?status=error,timeout&agent_id=agent&name=IMPORT" });
    const good = await account.makeTrace({ name: "an import" });
    const other = await account.makeTrace({ name: "an import", agent_id: "other" });
    for (const id of [other, good]) await finish(account, id, "error");
    await stream.until(1);
    await account.makeTrace({ name: "IMPORT", status: "timeout" });
    await stream.until(2);
    expect(told(stream)).toEqual(["an import error", "IMPORT timeout"]);
    for (const query of ["?limit=5", "?cursor=x", "?status=gone", "?from=x"]) {
      expect((await openStream(url, { key: account.key, query })).status).toBe(400);
    }
  });

  it("resets ids that are malformed, older than a day or of another database, and goes on from now", async () => {
    const account = await test.makeAccount("pro");
    await account.makeTrace({ name: "before" });
    const dayAgo = Date.now() - 24 * 3_600_000;
    const lost = [
      ["1", "malformed"],
      ["x".repeat(5_000), "malformed"],
      [`${eventId({ base: "9:8:" }, Date.now())}`, "malformed"],
      [`${eventId({ base: "5:9:7,6" }, Date.now())}`, "malformed"],
      [`${eventId({ base: "5:9:" }, Date.now())}.5:9:.7.no-uuid`, "malformed"],
      [`${eventId({ base: "5:9:" }, Date.now())};DROP TABLE trace`, "malformed"],
      [eventId({ base: "5:9:" }, dayAgo - 2_000), "too_old"],
      [eventId({ base: "999999999:999999999:" }, Date.now()), "unknown"],
    ] as const;
    for (const [lastId, reason] of lost) {
      const stream = await listen(account, { lastId });
      await stream.until(1);
      expect(stream.events[0]).toMatchObject({ event: "reset", data: { reason } });
      expect(stream.lastId).not.toBe(lastId);
      await stream.close();
    }
    const young = await listen(account, { lastId: eventId({ base: "3:3:" }, dayAgo + 60_000) });
    await young.until(1);
    expect(told(young)).toEqual(["before running"]);
    const reset = await listen(account, { lastId: "1" });
    await account.makeTrace({ name: "after" });
    await reset.until(2);
    expect(reset.events[1]?.data.name).toBe("after");
  });

  it("tells thousands of traces once, in pages", async () => {
    const account = await test.makeAccount("pro");
    const stream = await listen(account);
    const beginning = stream.lastId;
    await test.pool.query(
      `INSERT INTO trace (account_id, id, agent_id, name, status, started_at)
       SELECT $1, gen_random_uuid(), 'agent', 'bulk', 'running', now() FROM generate_series(1, 1300)`,
      [account.id],
    );
    for (let n = 0; n < 20; n++) await account.makeTrace();
    await stream.until(1_320);
    const again = await listen(account, { lastId: beginning });
    const middle = await listen(account, { lastId: stream.events[699]?.id });
    await again.until(1_320);
    await middle.until(620);
    const ids = (events: StreamClient["events"]) => events.map(({ data }) => data.id).sort();
    expect(new Set(ids(stream.events)).size).toBe(1_320);
    expect(ids(again.events)).toEqual(ids(stream.events));
    expect(ids([...stream.events.slice(0, 700), ...middle.events])).toEqual(ids(stream.events));
  });

  it("takes no place among the requests in hand, and frees its own when the client leaves", async () => {
    const [account, ...others] = await Promise.all(Array.from({ length: 15 }, () => test.makeAccount("pro")));
    if (!account) throw new Error("No account");
    const accounts = [account, ...others];
    const streams = await Promise.all(accounts.flatMap((each) => Array.from({ length: 20 }, () => listen(each))));
    expect(streams.every(({ status }) => status === 200)).toBe(true);
    await Promise.all(accounts.map((each) => each.post("/api/v1/traces", traceBody()).expect(201)));
    await Promise.all(streams.map((stream) => stream.until(1)));
    const count = async () => (await test.registry.getSingleMetric("waymark_trace_streams")?.get())?.values[0]?.value;
    const before = (await count()) ?? 0;
    await Promise.all(streams.map((stream) => stream.close()));
    for (const end = Date.now() + 120_000; (await count()) !== before - 300 && Date.now() < end; ) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(await count()).toBe(before - 300);
    await account.head("/api/v1/traces/stream").expect(200);
  });

  it("refuses the 21st stream of an account, and no other account's", async () => {
    const [account, other] = [await test.makeAccount("free"), await test.makeAccount("free")];
    const streams = await Promise.all(Array.from({ length: 20 }, () => listen(account)));
    const refused = await account.get("/api/v1/traces/stream").expect(429);
    expect(refused.body).toEqual({
      error: "Too much in progress for this account",
      reason: "At most 20 live streams may be open of one account",
    });
    streams.push(await listen(other));
    expect(streams.every(({ status }) => status === 200)).toBe(true);
    await Promise.all(streams.map((stream) => stream.close()));
  });

  it("asks the database once a second, however many listen", async () => {
    const accounts = [await test.makeAccount("pro"), await test.makeAccount("pro")];
    const streams = await Promise.all(accounts.flatMap((account) => Array.from({ length: 20 }, () => listen(account))));
    const queries = jest.spyOn(test.pool, "query");
    const startedAt = Date.now();
    await Promise.all(accounts.map((account) => account.makeTrace()));
    await Promise.all(streams.map((stream) => stream.until(1)));
    await Promise.all(accounts.map((account) => account.makeTrace()));
    await Promise.all(streams.map((stream) => stream.until(2)));
    const names = queries.mock.calls.map(([query]) => (query as unknown as { name?: string }).name);
    const polls = names.filter((name) => name === "read-stream").length;
    queries.mockRestore();
    expect(polls).toBeGreaterThan(0);
    expect(polls).toBeLessThanOrEqual((Date.now() - startedAt) / 1_000 + 1);
    await Promise.all(streams.map((stream) => stream.close()));
  });

  it("ends when the key is revoked", async () => {
    const account = await test.makeAccount("pro");
    const stream = await listen(account);
    await test.pool.query("UPDATE api_key SET revoked_at = now() WHERE account_id = $1", [account.id]);
    await stream.ended;
    expect(stream.comments).toBeGreaterThan(0);
  });
});

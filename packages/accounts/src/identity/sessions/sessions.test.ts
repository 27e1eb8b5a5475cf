import { randomUUID } from "node:crypto";
import { afterAll, describe, expect, it } from "@jest/globals";
import { useDatabase } from "@waymark/testing";
import type pg from "pg";
import { pino } from "pino";
import { hashToken } from "../token.js";
import { startSession } from "./session.query.js";
import { createSessionCookie, createSessions, type SessionCache } from "./sessions.js";

const database = useDatabase();
const url = new URL("http://localhost:4000");
const log = pino({ level: "silent" });
const running: SessionCache[] = [];
afterAll(() => Promise.all(running.map((each) => each.stop())));

/** A cache over a pool that counts its statements. */
function useCache(
  options: Partial<
    Pick<Parameters<typeof createSessions>[0], "connectionString" | "operators" | "maxEntries" | "slots">
  > = {},
) {
  let queries = 0;
  const pool = {
    query: (...args: [string]) => {
      queries++;
      return database.pool.query(...args);
    },
  } as unknown as pg.Pool;
  let now = Date.now();
  const cache = createSessions({
    url,
    pool,
    connectionString: options.connectionString ?? database.directUrl,
    operators: options.operators ?? [],
    log,
    now: () => new Date(now),
    ...(options.slots && { slots: options.slots }),
    ...(options.maxEntries !== undefined && { maxEntries: options.maxEntries }),
  });
  running.push(cache);
  return {
    async find(token: string) {
      // Lets notifications in.
      await new Promise((resolve) => setImmediate(resolve));
      return cache.find(`a=b; waymark=${token}; c=d`);
    },
    forget: cache.forget,
    pass(ms: number) {
      now += ms;
    },
    get queries() {
      return queries;
    },
  };
}

async function addSession() {
  const [personId, accountId] = [randomUUID(), randomUUID()];
  const { pool } = database;
  await pool.query("INSERT INTO account (id, email, plan) VALUES ($1, $2, 'pro')", [
    accountId,
    `${accountId}@x.example`,
  ]);
  await pool.query("INSERT INTO person (id, email, name) VALUES ($1, $2, 'Ada')", [personId, `${personId}@x.example`]);
  await pool.query("INSERT INTO membership (account_id, person_id, role) VALUES ($1, $2, 'owner')", [
    accountId,
    personId,
  ]);
  const token = await startSession(pool, { personId, accountId, now: new Date() });
  return { token, personId, accountId, email: `${personId}@x.example` };
}

/** Waits for a listener: from then on entries stay. */
async function untilCached(cache: ReturnType<typeof useCache>, token: string): Promise<void> {
  for (let before = -1; before !== cache.queries; ) {
    await cache.find(token);
    before = cache.queries;
    cache.pass(2_000);
    await cache.find(token);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

describe("the cache of sessions", () => {
  it("asks once in 30 seconds, and at once after a change of role, of any session's end or of the membership", async () => {
    const { token, personId, accountId } = await addSession();
    const cache = useCache();
    await untilCached(cache, token);
    const before = cache.queries;
    await cache.find(token);
    expect(cache.queries).toBe(before);
    cache.pass(31_000);
    await cache.find(token);
    expect(cache.queries).toBe(before + 1);
    await database.pool.query("UPDATE membership SET role = 'member' WHERE person_id = $1", [personId]);
    for (let role = "owner"; role !== "member"; ) role = (await cache.find(token))?.role ?? "";
    await database.pool.query("UPDATE session SET expires_at = now() WHERE account_id = $1", [accountId]);
    cache.pass(2_000);
    for (let found = true; found; ) found = (await cache.find(token)) !== undefined;
  });

  it("lives a second at most without a listener", async () => {
    const { token } = await addSession();
    const cache = useCache({ connectionString: "postgres://127.0.0.1:1/none" });
    await cache.find(token);
    const before = cache.queries;
    cache.pass(1_001);
    await cache.find(token);
    expect(cache.queries).toBe(before + 1);
  });

  it("holds no more than its maximum", async () => {
    const [first, second] = [await addSession(), await addSession()];
    const cache = useCache({ maxEntries: 1 });
    await untilCached(cache, first.token);
    await cache.find(second.token);
    const before = cache.queries;
    await cache.find(first.token);
    expect(cache.queries).toBe(before + 1);
  });

  it("knows who runs the installation", async () => {
    const [operator, other] = [await addSession(), await addSession()];
    const cache = useCache({ operators: [operator.email] });
    expect(await cache.find(operator.token)).toMatchObject({ isOperator: true });
    expect(await cache.find(other.token)).toMatchObject({ isOperator: false });
  });

  it("sends no statement for a session of another cell, and finds those of its own and of earlier releases", async () => {
    const { token, accountId } = await addSession();
    const secret = token.replace("00.", "");
    await database.pool.query("UPDATE session SET token = $2 WHERE account_id = $1", [
      accountId,
      hashToken(secret).toString("base64url"),
    ]);
    const [here, elsewhere] = [useCache({ slots: new Set(["00"]) }), useCache({ slots: new Set(["01", "02"]) })];
    expect(await here.find(secret)).toMatchObject({ accountId });
    for (const text of [secret, token]) expect(await elsewhere.find(text)).toBeUndefined();
    expect(elsewhere.queries).toBe(0);
  });

  it("sends no statement for text that is no token", async () => {
    const cache = useCache();
    const secret = "a".repeat(43);
    const malformed = [`${secret}a`, `0.${secret}`, `A0.${secret}`, `.${secret}`, `00.${secret}.`, `00.00.${secret}`];
    for (const text of ["", "x", "00.", `${"a".repeat(42)}%`, ...malformed])
      expect(await cache.find(text)).toBeUndefined();
    expect(cache.queries).toBe(0);
  });
});

describe("the cookie", () => {
  it("is found among others by its whole name", () => {
    const { read } = createSessionCookie(url);
    expect(read("xwaymark=1; waymark=2; waymark2=3")).toBe("2");
    expect(read("other=1")).toBeUndefined();
    expect(read(undefined)).toBeUndefined();
  });
});

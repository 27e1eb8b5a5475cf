import { once } from "node:events";
import { createServer, get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { type SignedIn, useDashboard } from "../dashboard.fixture.js";
import { insertTrace } from "./traces.fixture.js";
import type { TraceList } from "./traces.route.js";

const dashboard = useDashboard();
const { pool } = dashboard;

/** Traces a second apart, the newest first, with names that the database repeats. */
async function insertMany(accountId: string, count: number, name = "many"): Promise<void> {
  await pool.query(
    `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, ended_at)
     SELECT $1, gen_random_uuid(), 'writer', $3 || ' ' || n, 'success', at, at + interval '1 s'
     FROM generate_series(1, $2::int) n, LATERAL (SELECT now() - n * interval '1 s' AS at) moment`,
    [accountId, count, name],
  );
}

const linesOf = (text: string) => text.trimEnd().split("\n");

async function exportNdjson(person: SignedIn, query = "") {
  const { text } = await person.get(`/traces/export?format=ndjson${query}`).expect(200);
  const lines = linesOf(text).map((line) => JSON.parse(line));
  return { rows: lines.slice(0, -1), end: lines.at(-1) };
}

async function walk(person: SignedIn, query = "") {
  const rows: TraceList["traces"][number][] = [];
  for (let more = ""; ; ) {
    const { body }: { body: TraceList } = await person
      .get(`/traces?limit=200&include=labels,usage,preview,models,scores${query}${more}`)
      .expect(200);
    rows.push(...body.traces);
    if (body.nextCursor === null) return rows;
    more = `&cursor=${body.nextCursor}`;
  }
}

/** Sends a request to the app on a port, for clients that leave or do not read. */
async function withServer(work: (ask: (path: string) => Promise<IncomingMessage>) => Promise<void>, person: SignedIn) {
  const server = createServer(dashboard.app).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const ask = async (path: string) => {
    const asked = get({ port, path: `/dashboard/api${path}`, headers: { Cookie: person.cookie } });
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    return answer.on("error", () => undefined);
  };
  try {
    await work(ask);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** Counts statements until none came for a while. */
async function untilQuiet(quietMs = 500): Promise<number> {
  let [count, last] = [0, performance.now()];
  const note = () => {
    count++;
    last = performance.now();
  };
  pool.on("acquire", note);
  while (performance.now() - last < quietMs) await pause(20);
  pool.off("acquire", note);
  return count;
}

describe("GET /traces/export", () => {
  it("has the list's rows and order over several pages, and their number last", async () => {
    const accountId = await dashboard.makeAccount();
    await insertMany(accountId, 450);
    await insertTrace(pool, accountId, { status: "error", error: "Refused", isMailed: true, tags: ["a", "b"] });
    const person = await dashboard.signIn(accountId, "member");
    const { rows, end } = await exportNdjson(person);
    expect(rows).toEqual(await walk(person));
    expect(end).toEqual({ rows: 451 });
    const answer = await person.get("/traces/export?format=csv").expect(200);
    expect(answer.headers).toMatchObject({
      "content-type": "text/csv; charset=utf-8; header=present",
      "content-disposition": expect.stringMatching(/^attachment; filename="traces-\d{4}-\d\d-\d\d\.csv"$/),
    });
    const lines = answer.text.split("\r\n");
    expect(lines[0]).toBe(
      Object.keys(rows[0])
        .map((name) => `"${name}"`)
        .join(),
    );
    expect(lines.slice(1, -2).map((line) => line.slice(1, 37))).toEqual(rows.map(({ id }) => id));
    expect(lines.at(-2)).toBe(`"rows: 451"${",".repeat(Object.keys(rows[0]).length - 1)}`);
  });

  it("follows the list's filters and search", async () => {
    const accountId = await dashboard.makeAccount();
    await insertMany(accountId, 230);
    for (const status of ["error", "timeout", "running"] as const)
      await insertTrace(pool, accountId, { status, agent: "reader", name: `Refund ${status}`, tags: ["vip"] });
    const person = await dashboard.signIn(accountId);
    const from = new Date(Date.now() - 100_000).toISOString();
    for (const query of ["&status=error,timeout", "&agent_id=writer", "&name=REFUND", "&q=refund", "&tag=vip"]) {
      const { rows, end } = await exportNdjson(person, query);
      expect([query, rows]).toEqual([query, await walk(person, query)]);
      expect(end).toEqual({ rows: rows.length });
      expect(rows.length).toBeGreaterThan(1);
    }
    expect((await exportNdjson(person, `&from=${from}`)).rows).toEqual(await walk(person, `&from=${from}`));
  });

  it("has each trace of its start once while others arrive", async () => {
    const accountId = await dashboard.makeAccount();
    await insertMany(accountId, 1_000);
    const person = await dashboard.signIn(accountId);
    const before = (await walk(person)).map(({ id }) => id);
    let isOver = false;
    const arrive = async () => {
      while (!isOver) await insertTrace(pool, accountId, { name: "came in" });
    };
    const arriving = arrive();
    const { rows, end } = await exportNdjson(person);
    isOver = true;
    await arriving;
    const ids = rows.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.filter((id) => before.includes(id))).toEqual(before);
    expect(end).toEqual({ rows: ids.length });
  });

  it("of an empty list is the count, below a header in CSV, and shows nothing of another account", async () => {
    await insertTrace(pool, await dashboard.makeAccount(), {});
    const person = await dashboard.signIn(await dashboard.makeAccount());
    expect((await person.get("/traces/export?format=ndjson").expect(200)).text).toBe('{"rows":0}\n');
    const { text } = await person.get("/traces/export?format=csv").expect(200);
    expect(text).toMatch(/^"id","agent_id","name".+\r\n"rows: 0",+\r\n$/);
  });

  it("keeps a hostile name in one cell that is no formula", async () => {
    const accountId = await dashboard.makeAccount();
    const hostile: readonly [name: string, cell: string][] = [
      ['=HYPERLINK("http://evil.example","x")', `"'=HYPERLINK(""http://evil.example"",""x"")"`],
      ["a,b;c\r\n+1", '"a,b;c\r\n+1"'],
      ["-2+3", `"'-2+3"`],
      ["@SUM(A1)", `"'@SUM(A1)"`],
      ["\n=1", `"'\n=1"`],
      ["日本 مرحبا", '"日本 مرحبا"'],
    ];
    for (const [name] of hostile) await insertTrace(pool, accountId, { name, tags: ["=1", 'x"y'] });
    const person = await dashboard.signIn(accountId);
    const { text } = await person.get("/traces/export?format=csv").expect(200);
    for (const [, cell] of hostile) expect(text).toContain(`"writer",${cell},"success",`);
    expect(text).toContain(`,"[""=1"",""x\\""y""]",`);
    expect(text).toContain(",false\r\n");
  });

  it("ends early and says so once its session is over", async () => {
    const accountId = await dashboard.makeAccount();
    await insertMany(accountId, 10_000, "x".repeat(900));
    const person = await dashboard.signIn(accountId);
    await withServer(async (ask) => {
      const answer = await ask("/traces/export?format=ndjson");
      await untilQuiet();
      await person.post("/sign-out").expect(200);
      let text = "";
      for await (const part of answer.setEncoding("utf8")) text += part;
      const lines = linesOf(text);
      const end = JSON.parse(lines.at(-1) ?? "");
      expect(end).toEqual({ rows: lines.length - 1, endedEarly: "The session ended or went to another account" });
      expect(end.rows).toBeLessThan(10_000);
    }, person);
  });

  it("reads no further while its client takes nothing, nor once the client is gone", async () => {
    const accountId = await dashboard.makeAccount();
    await insertMany(accountId, 20_000, "x".repeat(900));
    const person = await dashboard.signIn(accountId);
    await withServer(async (ask) => {
      const waiting = [await ask("/traces/export?format=ndjson"), await ask("/traces/export?format=csv")];
      await untilQuiet();
      const { body } = await person.get("/traces/export?format=csv").expect(429);
      expect(body.reason).toBe("At most 2 exports may be under way of one account");
      for (const answer of waiting) answer.destroy();
      expect(await untilQuiet()).toBeLessThan(20);
      const other = await ask("/traces/export?format=csv");
      expect(other.statusCode).toBe(200);
    }, person);
  });

  it("answers 400 for another format or filter, and 401 without a session", async () => {
    const person = await dashboard.signIn(await dashboard.makeAccount());
    for (const query of ["", "format=xlsx", "format=csv&limit=5", "format=csv&status=done", "format=csv&cursor=x"])
      await person.get(`/traces/export?${query}`).expect(400);
    await dashboard.anonymous().get("/traces/export?format=csv").expect(401);
  });
});

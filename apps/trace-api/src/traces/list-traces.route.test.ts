import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import type { ListedTrace } from "@waymark/traces";
import fc from "fast-check";
import type pg from "pg";
import request from "supertest";
import { type TestAccount, useApp } from "../app.fixture.js";

interface Page {
  traces: ListedTrace[];
  next_cursor: string | null;
}

/** Asks for a page. */
async function list(account: TestAccount, query: Record<string, string | number> = {}): Promise<Page> {
  const answer = await account.get("/api/v1/traces").query(query);
  expect([answer.status, answer.body.fields]).toEqual([200, undefined]);
  return answer.body;
}

/** Reads a list to its end. */
async function listAll(account: TestAccount, query: Record<string, string | number>): Promise<ListedTrace[]> {
  const traces: ListedTrace[] = [];
  let page = await list(account, query);
  for (let pages = 1; pages < 1_000; pages++) {
    traces.push(...page.traces);
    if (page.next_cursor === null) return traces;
    page = await list(account, { ...query, cursor: page.next_cursor });
  }
  throw new Error("The list does not end");
}

/** The ids, in their order. */
const ids = (traces: readonly { id: string }[]) => traces.map(({ id }) => id);

/** A time, so many minutes after another. */
const minute = (n: number) => `2026-06-01T12:${String(n).padStart(2, "0")}:00.000Z`;

/** Traces `run 1`, `run 2` and so on, several with one start. */
async function insertTraces(pool: pg.Pool, account: TestAccount, count: number): Promise<void> {
  await pool.query(
    `INSERT INTO trace (account_id, id, agent_id, name, status, started_at)
       SELECT $1, gen_random_uuid(), 'agent', 'run ' || n, 'success', '2026-06-01T12:00:00Z'::timestamptz + n / 3 * interval '1 second'
       FROM generate_series(1, $2::int) n`,
    [account.id, count],
  );
}

describe("GET /api/v1/traces", () => {
  const test = useApp();

  /** Traces that start a minute after each other; each is given its number. */
  async function makeTraces(account: TestAccount, count: number, changesOf = (_n: number): object => ({})) {
    const made: string[] = [];
    for (let n = 0; n < count; n++) made.push(await account.makeTrace({ started_at: minute(n), ...changesOf(n) }));
    return made;
  }

  describe("200", () => {
    it("shows each trace with the contract's fields and its duration", async () => {
      const account = await test.makeAccount("pro");
      const open = await account.makeTrace({ agent_id: "a", name: "open", started_at: minute(1) });
      const ended = await account.makeTrace({
        agent_id: "b",
        name: 'ended "so"',
        status: "success",
        started_at: "2026-06-01T14:00:00+02:00",
        ended_at: "2026-06-01T12:00:04.250001Z",
        metadata: { not: "listed" },
      });
      expect(await list(account)).toEqual({
        traces: [
          {
            id: open,
            agent_id: "a",
            name: "open",
            status: "running",
            started_at: minute(1),
            ended_at: null,
            duration_ms: null,
          },
          {
            id: ended,
            agent_id: "b",
            name: 'ended "so"',
            status: "success",
            started_at: minute(0),
            ended_at: "2026-06-01T12:00:04.250001Z",
            duration_ms: 4_250.001,
          },
        ],
        next_cursor: null,
      });
    });

    it("is empty where there are no traces, for Free accounts too", async () => {
      expect(await list(await test.makeAccount("free"))).toEqual({ traces: [], next_cursor: null });
    });

    it("goes by when traces started, then by id, whenever they were received", async () => {
      const account = await test.makeAccount("pro");
      const starts = [3, 1, 2, 1, 3];
      const made: { id: string; start: number }[] = [];
      for (const start of starts) made.push({ id: await account.makeTrace({ started_at: minute(start) }), start });
      const expected = made.toSorted((a, b) => b.start - a.start || (a.id < b.id ? 1 : -1));
      expect(ids((await list(account)).traces)).toEqual(ids(expected));
      expect(ids(await listAll(account, { limit: 1 }))).toEqual(ids(expected));
    });

    it("answers HEAD as GET, without a body", async () => {
      const account = await test.makeAccount("free");
      const answer = await account.head("/api/v1/traces?limit=1").expect(200);
      expect(answer.text).toBeUndefined();
      expect(Number(answer.headers["content-length"])).toBeGreaterThan(0);
    });

    it.each([
      [1, 1, false],
      [3, 4, true],
      [4, 4, false],
      [5, 4, false],
    ])("with limit %i of %i traces, goes on: %s", async (limit, count, goesOn) => {
      const account = await test.makeAccount("free");
      await makeTraces(account, count);
      const page = await list(account, { limit });
      expect(page.traces).toHaveLength(Math.min(limit, count));
      expect(page.next_cursor !== null).toBe(goesOn);
    });

    it("has 50 traces where no limit is given, and 200 at most", async () => {
      const account = await test.makeAccount("pro");
      await insertTraces(test.pool, account, 201);
      expect((await list(account)).traces).toHaveLength(50);
      expect((await list(account, { limit: 200 })).traces).toHaveLength(200);
    });
  });

  describe("filters", () => {
    it("by agent, exactly", async () => {
      const account = await test.makeAccount("pro");
      const made = await makeTraces(account, 4, (n) => ({ agent_id: ["a", "A", "ab", "a"][n] }));
      expect(ids((await list(account, { agent_id: "a" })).traces)).toEqual([made[3], made[0]]);
      expect((await list(account, { agent_id: "%" })).traces).toEqual([]);
    });

    it("by one status or several", async () => {
      const account = await test.makeAccount("pro");
      const statuses = ["running", "success", "error", "timeout"];
      const made = await makeTraces(account, 4, (n) => ({ status: statuses[n] }));
      for (const [n, status] of statuses.entries())
        expect(ids((await list(account, { status })).traces)).toEqual([made[n]]);
      expect(ids((await list(account, { status: "error,success,error" })).traces)).toEqual([made[2], made[1]]);
    });

    it.each([
      ["refund", "Refund order 1042"],
      ["REFUND ORDER", "Refund order 1042"],
      ["42", "Refund order 1042"],
      ["100%", "costs 100% more"],
      ["a_b", "a_b"],
      ["\\", "back\\slash"],
      ["'; --", "it's'; -- fine"],
      ["ÜBER", "weiter über alles"],
      ["über", "WEITER ÜBER ALLES"],
      ["é.*[(+?^{}|)$]\\", "CAFÉ.*[(+?^{}|)$]\\ closed"],
      ["***:é", "***:é"],
      ["привет", "ПРИВЕТ, мир"],
      ["日本", "東京、日本"],
      ["🎉 é", "party 🎉 É"],
      ["straße", "Hauptstraße"],
      ["é\t\n1_-]^", "É\t\n1_-]^"],
    ])("by name, %j finds %j and not the others", async (name, found) => {
      const account = await test.makeAccount("pro");
      const others = ["unlike", "1O0", "axb", "a", "CAFEXX", "ber", "e", "x".repeat(1_000)];
      for (const other of others) await account.makeTrace({ name: other });
      const id = await account.makeTrace({ name: found });
      expect(ids((await list(account, { name })).traces)).toEqual([id]);
    });

    it("by name, any text finds itself, and none breaks the search", async () => {
      const account = await test.makeAccount("pro");
      const text = fc
        .string({ minLength: 1, maxLength: 60, unit: "grapheme" })
        .filter((each) => !each.includes("\u0000"));
      await fc.assert(
        fc.asyncProperty(text, fc.string({ unit: "grapheme", maxLength: 20 }), async (name, around) => {
          const id = await account.makeTrace({ name: `${around}${name}${around}`.replaceAll("\u0000", "") });
          expect(ids((await list(account, { name })).traces)).toContain(id);
          await list(account, { name: name.toUpperCase().slice(0, 200).toWellFormed() });
        }),
        randomRuns(20),
      );
      await list(account, { name: "é".repeat(200) });
      await list(account, { name: "é(((((".repeat(33) });
    });

    it("by start, from included and to excluded", async () => {
      const account = await test.makeAccount("pro");
      const made = await makeTraces(account, 4);
      const between = { from: minute(1), to: minute(3) };
      expect(ids((await list(account, between)).traces)).toEqual([made[2], made[1]]);
      expect(ids(await listAll(account, { ...between, limit: 1 }))).toEqual([made[2], made[1]]);
      expect(ids((await list(account, { from: "2026-06-01T14:03:00+02:00" })).traces)).toEqual([made[3]]);
      expect(ids((await list(account, { to: "2026-06-01T12:00:00.000001Z" })).traces)).toEqual([made[0]]);
      expect((await list(account, { from: "9999-12-31T23:59:59.999999Z" })).traces).toEqual([]);
      expect((await list(account, { to: "0001-01-01T00:00:00Z" })).traces).toEqual([]);
    });

    it("by duration, of traces that ended", async () => {
      const account = await test.makeAccount("pro");
      const ends = ["2026-06-01T12:00:00.999999Z", "2026-06-01T12:00:01Z", null, "2026-06-01T11:00:00Z"];
      const made = await makeTraces(account, 4, (n) => ({ started_at: minute(0), ended_at: ends[n] }));
      expect(ids((await list(account, { min_duration_ms: 1_000 })).traces)).toEqual([made[1]]);
      expect(ids((await list(account, { min_duration_ms: 0 })).traces)).toEqual([made[1], made[0]]);
      expect((await list(account, { min_duration_ms: 999_999_999_999 })).traces).toEqual([]);
    });

    it("together", async () => {
      const account = await test.makeAccount("pro");
      const made = await makeTraces(account, 8, (n) => ({
        agent_id: n & 1 ? "a" : "b",
        status: n & 2 ? "error" : "success",
        name: n & 4 ? "refund" : "other",
        ended_at: minute(n + 1),
      }));
      const query = { agent_id: "a", status: "error", name: "Refund", min_duration_ms: 60_000, from: minute(0) };
      expect(ids((await list(account, { ...query, to: minute(9) })).traces)).toEqual([made[7]]);
      expect((await list(account, { ...query, to: minute(7) })).traces).toEqual([]);
    });

    it("show no trace of another account", async () => {
      const [owner, other] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
      await makeTraces(owner, 3, () => ({ status: "error", ended_at: minute(30) }));
      const page = await list(owner, { limit: 1 });
      const queries = [{}, { agent_id: "agent" }, { status: "error" }, { name: "run" }, { min_duration_ms: 1 }];
      for (const query of [...queries, { cursor: page.next_cursor ?? "" }, { from: minute(0), to: minute(30) }])
        expect(await list(other, query)).toEqual({ traces: [], next_cursor: null });
    });
  });

  describe("next_cursor", () => {
    it("goes on while traces arrive, with no repeats and no gaps of what was there", async () => {
      const account = await test.makeAccount("pro");
      await insertTraces(test.pool, account, 500);
      const before = ids(await listAll(account, { limit: 200 }));
      expect(before).toHaveLength(500);
      let isDone = false;
      const arriving = (async () => {
        while (!isDone) {
          const started_at = minute(Math.floor(Math.random() * 60));
          await Promise.all([account.makeTrace(), account.makeTrace({ started_at })]);
        }
      })();
      const seen = ids(await listAll(account, { limit: 7 }));
      isDone = true;
      await arriving;
      expect(new Set(seen).size).toBe(seen.length);
      const known = new Set(before);
      expect(seen.filter((id) => known.has(id))).toEqual(before);
    });

    it("goes on where the trace that it names is deleted", async () => {
      const account = await test.makeAccount("pro");
      const made = await makeTraces(account, 3);
      const page = await list(account, { limit: 2 });
      await test.pool.query("DELETE FROM trace WHERE id = $1", [made[1]]);
      expect(ids((await list(account, { cursor: page.next_cursor ?? "" })).traces)).toEqual([made[0]]);
    });

    it("holds under other filters, and does not leave from and to", async () => {
      const account = await test.makeAccount("pro");
      const made = await makeTraces(account, 5);
      const cursor = (await list(account, { limit: 2 })).next_cursor ?? "";
      expect(ids((await list(account, { cursor, to: minute(2) })).traces)).toEqual([made[1], made[0]]);
      expect(ids((await list(account, { cursor, to: minute(9), from: minute(2) })).traces)).toEqual([made[2]]);
    });
  });

  it("is described with the time that a search takes at most", async () => {
    const { body } = await request(test.app).get("/openapi.json").expect(200);
    const { description } = body.paths["/api/v1/traces"].get;
    expect(description).toContain("pauses after 500 milliseconds");
  });

  describe("400", () => {
    it("answers a parameter that there is not, and names the nearest", async () => {
      const account = await test.makeAccount("pro");
      const { body } = await account.get("/api/v1/traces?agent=x").expect(400);
      expect(body).toEqual({
        error: "Validation failed",
        fields: { agent: "Unknown parameter; did you mean agent_id?" },
      });
    });

    it.each([
      ["limit=0", "limit", /1 to 200/],
      ["limit=201", "limit", /1 to 200/],
      ["limit=", "limit", /1 to 200/],
      ["limit=1e2", "limit", /1 to 200/],
      ["limit=5&limit=6", "limit", /1 to 200/],
      ["status=failed", "status", /running, success, error, timeout/],
      ["status=", "status", /running, success, error, timeout/],
      ["status=error,", "status", /running, success, error, timeout/],
      ["status=error&status=timeout", "status", /running, success, error, timeout/],
      ["agent_id=", "agent_id", /empty/],
      [`agent_id=${"a".repeat(256)}`, "agent_id", /255/],
      ["agent_id=%00", "agent_id", /NUL/],
      ["name=", "name", /empty/],
      [`name=${"a".repeat(201)}`, "name", /200/],
      ["name=a%00", "name", /NUL/],
      ["from=yesterday", "from", /ISO 8601/],
      ["from=", "from", /ISO 8601/],
      ["to=2026-02-30T00:00:00Z", "to", /exist/],
      ["to=2026-06-01T00:00:00", "to", /ISO 8601/],
      ["from=2026-06-01T00:00:00Z&to=2026-06-01T00:00:00Z", "to", /after from/],
      ["from=2026-06-02T00:00:00Z&to=2026-06-01T00:00:00Z", "to", /after from/],
      ["min_duration_ms=-1", "min_duration_ms", /whole number/],
      ["min_duration_ms=1.5", "min_duration_ms", /whole number/],
      ["min_duration_ms=1000000000000", "min_duration_ms", /12 digits/],
      ["cursor=", "cursor", /next_cursor/],
      ["cursor=x", "cursor", /next_cursor/],
      ["cursor=x&cursor=y", "cursor", /next_cursor/],
    ])("says what is allowed for %s", async (query, field, message) => {
      const account = await test.makeAccount("free");
      const answer = await account.get(`/api/v1/traces?${query}`).expect(400);
      expect(answer.body).toEqual({ error: "Validation failed", fields: { [field]: expect.stringMatching(message) } });
    });

    it("is the answer to each cursor that was not given out, never 5xx", async () => {
      const account = await test.makeAccount("free");
      const encode = (text: string) => Buffer.from(text).toString("base64url");
      const id = "019c13f2-6c00-7cc3-98c4-dc0c0c07398f";
      const hostile = fc.oneof(
        fc.string({ minLength: 1 }),
        fc.string({ minLength: 1, unit: "binary" }).map(encode),
        fc.tuple(fc.string(), fc.string()).map(([a, b]) => encode(`${a} ${b}`)),
        fc.string().map((text) => encode(`${text} ${id}`)),
        fc.string().map((text) => encode(`${minute(0)} ${text}`)),
        fc
          .constantFrom("infinity", "-infinity", "now", "epoch", "0001-01-01 BC")
          .map((word) => encode(`${word} ${id}`)),
        fc.constant(`${encode(`${minute(0)} ${id}`)}=`),
      );
      await fc.assert(
        fc.asyncProperty(hostile, async (cursor) => {
          const answer = await account.get("/api/v1/traces").query({ cursor });
          expect([answer.status, Object.keys(answer.body.fields ?? {})]).toEqual([400, ["cursor"]]);
        }),
        randomRuns(60),
      );
    });

    it("is the answer to any other query that is not served, never 5xx", async () => {
      const account = await test.makeAccount("free");
      const names = ["agent_id", "status", "name", "from", "to", "min_duration_ms", "limit", "cursor", "other"];
      const query = fc.dictionary(
        fc.constantFrom(...names),
        fc.string({ unit: "binary" }).map((text) => text.toWellFormed()),
      );
      await fc.assert(
        fc.asyncProperty(query, async (parameters) => {
          const answer = await account.get("/api/v1/traces").query(parameters);
          expect([200, 400]).toContain(answer.status);
        }),
        randomRuns(60),
      );
    });
  });

  it("answers 405 with Allow for methods that lists do not have", async () => {
    const account = await test.makeAccount("free");
    const answer = await account.patch("/api/v1/traces").expect(405);
    expect(answer.headers["allow"]?.split(", ").sort()).toEqual(["GET", "HEAD", "POST"]);
  });

  it("leaves connections to writes while more lists are asked for than the pool has connections", async () => {
    const account = await test.makeAccount("pro");
    const client = await test.pool.connect();
    try {
      await client.query("BEGIN");
      await client.query("LOCK TABLE trace IN ACCESS EXCLUSIVE MODE");
      const lists = Array.from({ length: 20 }, () => account.get("/api/v1/traces"));
      const answers = Promise.all(lists.map((each) => each.then(({ status }) => status)));
      await test.untilWaiting("list-traces", 16);
      await account.get("/api/v1/usage").expect(200);
      await client.query("ROLLBACK");
      expect(await answers).toEqual(Array(20).fill(200));
    } finally {
      client.release();
    }
  });
});

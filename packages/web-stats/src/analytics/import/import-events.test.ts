import { Readable } from "node:stream";
import { describe, expect, it } from "@jest/globals";
import { createUuidV7 } from "@waymark/database";
import { randomRuns, useDatabase } from "@waymark/testing";
import fc from "fast-check";
import pg from "pg";
import { readRollups, recountRollups } from "../recording/recount.fixture.js";
import { makeSite } from "../recording/site.fixture.js";
import { importEvents } from "./import-events.js";
import { readImportLine } from "./import-line.schema.js";
import { lineId } from "./line-id.js";
import type { ImportOptions } from "./reader-services.js";

const database = useDatabase();
const uuid = createUuidV7();
const ts = "2026-05-01T12:00:00Z";

type Line = Record<string, unknown>;

/** A short one of a person. */
const browser = "Opera/9 A";

async function importOf(siteId: string, input: string | readonly Line[], options: Partial<ImportOptions> = {}) {
  const text = typeof input === "string" ? input : input.map((line) => JSON.stringify(line)).join("\n");
  const site = { id: siteId, domain: "example.com" };
  await makeSite(database.pool, siteId);
  return importEvents({ pool: database.directPool, site, input: Readable.from([Buffer.from(text)]), ...options });
}

async function totalsOf(siteId: string, day = "2026-05-01") {
  return (await readRollups(database.pool, siteId)).stats[`${day} total `] ?? [0, 0];
}

async function eventsOf(siteId: string) {
  const sql =
    "SELECT id, path, source, channel, country, referrer, name, props FROM event WHERE site_id = $1 ORDER BY id";
  return (await database.pool.query(sql, [siteId])).rows;
}

describe("importEvents", () => {
  it("ends with an error where its site was deleted meanwhile, and records no line after that", async () => {
    const site = uuid();
    const line = (path: string) => Buffer.from(`${JSON.stringify({ ts, path })}\n`);
    async function* lines() {
      yield line("/before");
      await database.pool.query("DELETE FROM site WHERE id = $1", [site]);
      yield line("/after");
    }
    await expect(importOf(site, "", { input: lines() })).rejects.toThrow("The site was deleted during the import.");
    expect((await eventsOf(site)).map(({ path }) => path)).not.toContain("/after");
  });

  it("records page views and custom events with source, channel and country", async () => {
    const site = uuid();
    const result = await importOf(site, [
      { ts, path: "/a", referrer: "https://www.google.de/search?q=x", country: "de", visitor: "1" },
      { ts: "2026-05-01T12:00:01Z", url: "https://example.com/b?utm_source=weekly&utm_medium=email", visitor: "2" },
      { ts: "2026-05-01T12:00:02Z", type: "event", name: "signup", props: { plan: "pro" }, visitor: "2" },
    ]);
    expect(result).toEqual({ imported: 3, rejected: 0, duplicates: 0, bots: 0, machines: 0 });
    const none = { path: null, source: null, country: null, referrer: null, name: null, props: null };
    expect(await eventsOf(site)).toMatchObject([
      {
        ...none,
        path: "/a",
        source: "Google",
        channel: "Search",
        country: "DE",
        referrer: "https://www.google.de/search",
      },
      { ...none, path: "/b", source: "weekly", channel: "Email" },
      { ...none, channel: "Direct", name: "signup", props: { plan: "pro" } },
    ]);
    expect(await totalsOf(site)).toEqual([2, 2]);
  });

  it("makes ids that start with the time, in UUID form", async () => {
    const site = uuid();
    await importOf(site, [{ ts: "2026-05-01T12:00:00.123456Z", path: "/" }]);
    const [event] = await eventsOf(site);
    expect(event.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(Number.parseInt(event.id.replaceAll("-", "").slice(0, 12), 16)).toBe(Date.parse("2026-05-01T12:00:00.123Z"));
  });

  it("reports rejected lines with number and reason, and records the others", async () => {
    const site = uuid();
    const rejections: unknown[] = [];
    const input = [
      '{"ts":"2026-05-01T12:00:00Z","path":"/"}',
      "",
      "{oops",
      '{"path":"/"}',
      "[]",
      "x".repeat(70_000),
    ].join("\n");
    const result = await importOf(site, input, { onReject: (rejection) => rejections.push(rejection) });
    expect(result).toEqual({ imported: 1, rejected: 4, duplicates: 0, bots: 0, machines: 0 });
    expect(rejections).toEqual([
      { line: 3, problem: "The line must be a JSON object, and it is not valid JSON" },
      { line: 4, problem: "ts: Required" },
      { line: 5, problem: "The line must be a JSON object" },
      { line: 6, problem: "The line must be at most 65536 bytes long" },
    ]);
  });

  it("imports nothing from an empty input", async () => {
    expect(await importOf(uuid(), "")).toEqual({ imported: 0, rejected: 0, duplicates: 0, bots: 0, machines: 0 });
    expect(await importOf(uuid(), "\n\r\n")).toEqual({ imported: 0, rejected: 0, duplicates: 0, bots: 0, machines: 0 });
  });

  it("tells visitors apart by address and browser, per UTC day", async () => {
    const site = uuid();
    const of = (ip: string | null, user_agent: string | null, time = ts) => ({ ts: time, path: "/", ip, user_agent });
    await importOf(site, [
      of("192.0.2.1", browser),
      of("192.0.2.1", browser),
      of("192.0.2.1", "Opera/8 Secret"),
      of("192.0.2.2", browser),
      of("192.0.2.2", ""),
      of("192.0.2.2", null),
      of(null, browser),
      of(null, null),
      of("192.0.2.1", browser, "2026-05-02T00:00:00Z"),
    ]);
    expect(await totalsOf(site)).toEqual([5, 8]);
    expect(await totalsOf(site, "2026-05-02")).toEqual([1, 1]);
  });

  it("counts bots as machines unless told to drop them", async () => {
    const lines = [
      {
        ts,
        path: "/",
        ip: "192.0.2.1",
        user_agent: "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
      },
      {
        ts,
        path: "/",
        ip: "192.0.2.2",
        user_agent: "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
      },
      { ts, path: "/", visitor: "3" },
    ];
    expect(await importOf(uuid(), lines)).toEqual({ imported: 2, rejected: 0, duplicates: 0, bots: 0, machines: 1 });
    expect(await importOf(uuid(), lines, { dropBots: true })).toEqual({
      imported: 2,
      rejected: 0,
      duplicates: 0,
      bots: 1,
      machines: 0,
    });
  });

  it("stores neither address nor browser with an event", async () => {
    const site = uuid();
    const line = { ts, path: "/", ip: "192.0.2.77", user_agent: "Opera/8 Secret" };
    await importOf(site, [line]);
    const [event] = await eventsOf(site);
    expect(JSON.stringify(event)).not.toMatch(/192\.0\.2|Secret/);
  });
});

describe("the same lines again", () => {
  const lines: Line[] = Array.from({ length: 300 }, (_, i) => ({
    ts: new Date(Date.parse(ts) + (i % 50) * 1000).toISOString(),
    path: `/${i % 3}`,
    ip: `192.0.2.${i % 7}`,
    user_agent: browser,
  }));

  it("count once in a second import, and separately inside one file", async () => {
    const site = uuid();
    expect(
      await importOf(site, [
        { ts, path: "/" },
        { ts, path: "/" },
        { ts, path: "/" },
      ]),
    ).toMatchObject({ imported: 3 });
    expect(
      await importOf(site, [
        { ts, path: "/" },
        { ts, path: "/" },
      ]),
    ).toMatchObject({ imported: 0, duplicates: 2 });
    expect(await importOf(site, Array(5).fill({ ts, path: "/" }))).toMatchObject({ imported: 2, duplicates: 3 });
    expect(await totalsOf(site)).toEqual([0, 5]);
  });

  it("count separately across batches", async () => {
    const site = uuid();
    const many = Array(9_000).fill({ ts, path: "/", visitor: "1" });
    expect(await importOf(site, many)).toMatchObject({ imported: 9_000 });
    expect(await importOf(site, many)).toMatchObject({ imported: 0, duplicates: 9_000 });
    expect(await totalsOf(site)).toEqual([1, 9_000]);
  });

  it("are the same in other words: other order of fields and lines, other form of the time, further fields", async () => {
    const site = uuid();
    await importOf(site, lines);
    const reworded = lines
      .map(({ path, ts: time, ...rest }) => ({
        status: 200,
        ...rest,
        country: null,
        path,
        ts: String(time).replace("Z", "+00:00"),
      }))
      .toReversed();
    expect(await importOf(site, reworded)).toMatchObject({ imported: 0, duplicates: 300 });
  });

  it("count for each of two visitors whose addresses have the same 16 bits, in two files", async () => {
    const site = uuid();
    const files = ["10.3.2.9", "10.3.2.14"].map((ip) => [{ ts, path: "/", ip, user_agent: browser }]);
    for (const file of [...files, ...files]) await importOf(site, file);
    expect(await totalsOf(site)).toEqual([2, 2]);
  });

  it.each([10, 1_100])("count once after a release that took 16 bits imported %i of them", async (count) => {
    const site = uuid();
    const lines = Array.from({ length: count }, (_, n) => {
      return {
        ts: `2026-05-01T12:00:${String(n % 60).padStart(2, "0")}Z`,
        path: "/",
        ip: `192.0.2.${n % 7}`,
        user_agent: browser,
      };
    });
    await importOf(site, lines);
    const former = new Map<string, number>();
    for (const line of lines) {
      const result = readImportLine(line);
      if (!result.ok) throw new Error(result.problem);
      const { first, nth, formerEnd } = lineId(result.line);
      const occurrence = (former.get(first) ?? 0) + 1;
      former.set(first, occurrence);
      const values = [site, nth(occurrence), nth(occurrence).slice(0, -4) + formerEnd(occurrence)];
      await database.pool.query("UPDATE event SET id = $3 WHERE site_id = $1 AND id = $2", values);
    }
    const more = { ts: "2026-05-01T12:00:30Z", path: "/more", ip: "192.0.2.1", user_agent: browser };
    expect(await importOf(site, [more, ...lines])).toMatchObject({ imported: 1, duplicates: count });
    expect((await totalsOf(site))[1]).toBe(count + 1);
  });

  it("are found in a file that overlaps or was corrected", async () => {
    const site = uuid();
    const [first, ...rest] = lines;
    await importOf(site, [{ ...first, ts: "soon" }, ...rest.slice(0, 199)]);
    expect(await importOf(site, lines)).toMatchObject({ imported: 101, duplicates: 199 });
    expect(await totalsOf(site)).toEqual([7, 300]);
  });

  it("count once when two imports of them run at the same time", async () => {
    const site = uuid();
    const results = await Promise.all([importOf(site, lines), importOf(site, lines), importOf(site, lines)]);
    expect(results.reduce((sum, { imported }) => sum + imported, 0)).toBe(300);
    expect(results.reduce((sum, { duplicates }) => sum + duplicates, 0)).toBe(600);
    expect(await totalsOf(site)).toEqual([7, 300]);
  });

  it("count once after an import was interrupted, by a signal while it waits for input too", async () => {
    const site = uuid();
    const many: Line[] = Array.from({ length: 10_000 }, (_, i) => ({ ts, path: "/", visitor: i % 1_000 }));
    const text = many.map((line) => `${JSON.stringify(line)}\n`).join("");
    const controller = new AbortController();
    async function* stalling() {
      yield Buffer.from(text.slice(0, -1_000));
      await new Promise(() => undefined);
    }
    const interrupted = importOf(site, "", {
      input: stalling(),
      signal: controller.signal,
      onProgress: () => controller.abort(new Error("interrupted")),
    });
    await expect(interrupted).rejects.toThrow("interrupted");
    const [, before] = await totalsOf(site);
    expect(before).toBeGreaterThan(0);
    expect(before).toBeLessThan(10_000);
    const result = await importOf(site, text);
    expect(result).toEqual({ imported: 10_000 - before, duplicates: before, rejected: 0, bots: 0, machines: 0 });
    expect(await totalsOf(site)).toEqual([1_000, 10_000]);
  });

  it("count once after the database went away in between", async () => {
    const site = uuid();
    const many: Line[] = Array.from({ length: 12_000 }, (_, i) => ({ ts, path: "/", visitor: i % 1_000 }));
    const pool = new pg.Pool({ connectionString: database.url, application_name: "to be cut", pipeline: true });
    pool.on("error", () => undefined);
    const cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'to be cut'";
    const broken = importOf(site, many, { pool, onProgress: () => void database.pool.query(cut) });
    await expect(broken).rejects.toThrow();
    await pool.end();
    await importOf(site, many);
    expect(await totalsOf(site)).toEqual([1_000, 12_000]);
  });
});

describe("an import", () => {
  it("tells its progress after each batch and at the end", async () => {
    const seen: number[] = [];
    const many = Array(9_000).fill({ ts, path: "/" });
    await importOf(uuid(), many, { onProgress: ({ imported }) => seen.push(imported) });
    expect(seen).toEqual([2_000, 4_000, 8_000, 9_000, 9_000]);
  });

  it("keeps nothing of what it has read, also while it may be interrupted", async () => {
    const before = process.memoryUsage().arrayBuffers;
    let most = 0;
    async function* long() {
      for (let i = 0; i < 3_000; i++) {
        yield Buffer.from(`${"x".repeat(60_000)}\n`);
        most = Math.max(most, process.memoryUsage().arrayBuffers - before);
      }
    }
    const { signal } = new AbortController();
    expect(await importOf(uuid(), "", { input: long(), signal })).toMatchObject({ rejected: 3_000 });
    expect(most).toBeLessThan(120_000_000);
  });

  it("opens its own session as the pool opens others", async () => {
    const opened: unknown[] = [];
    const onConnect = (client: pg.ClientBase) => void opened.push(client);
    const pool = new pg.Pool({ connectionString: database.url, onConnect });
    expect(await importOf(uuid(), [{ ts, path: "/" }], { pool })).toMatchObject({ imported: 1 });
    expect(opened.length).toBeGreaterThan(pool.totalCount);
    await pool.end();
  });

  it("passes on what its input throws, with earlier batches recorded and the connection given back", async () => {
    const site = uuid();
    async function* failing() {
      yield Buffer.from(`${JSON.stringify({ ts, path: "/" })}\n`.repeat(4_000));
      throw new Error("disk error");
    }
    await expect(importOf(site, "", { input: failing() })).rejects.toThrow("disk error");
    expect(await totalsOf(site)).toEqual([0, 4_000]);
    expect(database.pool.idleCount).toBe(database.pool.totalCount);
    const { rows } = await database.pool.query("SELECT 1 FROM pg_class WHERE relname = 'import_line'");
    expect(rows).toEqual([]);
  });

  it("leaves figures that equal a recount over the lines", async () => {
    const line = fc.record(
      {
        ts: fc.constantFrom(ts, "2026-05-01T23:59:59.999Z", "2026-05-02T00:00:00Z", "no time"),
        type: fc.constantFrom("pageview", "event"),
        name: fc.constantFrom("a", "b"),
        path: fc.constantFrom("/", "/x?utm_source=google&utm_medium=cpc", "/y"),
        referrer: fc.constantFrom(null, "https://t.co/x", "https://www.example.com/", "https://some-site.org"),
        country: fc.constantFrom("DE", null),
        visitor: fc.constantFrom("1", "2", null),
        ip: fc.constantFrom("192.0.2.1", "192.0.2.2"),
        user_agent: fc.constantFrom(browser, ""),
        props: fc.dictionary(fc.constantFrom("p", "q"), fc.constantFrom("1", 1, true)),
      },
      { requiredKeys: ["ts", "path", "name"] },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 30 }), async (lines) => {
        const site = uuid();
        await importOf(site, lines);
        await importOf(site, lines.toReversed());
        const good = lines.filter(({ ts: time }) => time !== "no time");
        const { stats, events } = await readRollups(database.pool, site);
        expect({ stats, events }).toEqual(await recountRollups(database.pool, site));
        const who = (each: Line) =>
          each["visitor"] ??
          (each["ip"] || each["user_agent"] ? `${each["ip"]} ${each["user_agent"] || undefined}` : null);
        const views = good.filter(({ type }) => type !== "event");
        const visitors = new Set(
          views.filter((each) => who(each) !== null).map((each) => `${each.ts.slice(0, 10)} ${who(each)}`),
        );
        const totals = Object.entries(stats).filter(([key]) => key.endsWith("total "));
        expect(totals.reduce((sum, [, [, n]]) => sum + n, 0)).toBe(views.length);
        expect(totals.reduce((sum, [, [n]]) => sum + n, 0)).toBe(visitors.size);
      }),
      randomRuns(8),
    );
  });
});

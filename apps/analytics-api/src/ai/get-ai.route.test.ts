import { Readable } from "node:stream";
import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import { importEvents } from "@waymark/web-stats/analytics";
import { createGoal } from "@waymark/web-stats/statistics";
import fc from "fast-check";
import { type TestAccount, useApp } from "../app.fixture.js";

const now = new Date("2026-06-08T12:00:00Z");

const agents = {
  GPTBot: "GPTBot/1.0 (+https://openai.com/gptbot)",
  "ChatGPT-User": "ChatGPT-User/1.0; +https://openai.com/bot",
  "Claude-User": "Claude-User/1.0 (bot)",
  Googlebot: "Googlebot/2.1",
  other: "Unknownbot/1",
} as const;

const purposes = {
  GPTBot: "training",
  "ChatGPT-User": "assistant",
  "Claude-User": "assistant",
  Googlebot: "search",
  other: "other",
} as const;

const engines = {
  GPTBot: "ChatGPT",
  "ChatGPT-User": "ChatGPT",
  "Claude-User": "Claude",
  Googlebot: "",
  other: "",
} as const;

const sources = {
  ChatGPT: "https://chatgpt.com/",
  Claude: "https://claude.ai/",
  Google: "https://www.google.com/",
} as const;

interface MachineRequest {
  readonly name: keyof typeof agents;
  readonly day: number;
  readonly path: string;
}

interface Visit {
  readonly source: keyof typeof sources;
  readonly day: number;
  readonly path: string;
  readonly buys: boolean;
}

const test = useApp();

/** A site with the requests of a log, each in a second of its own, and visits. */
async function makeSite(account: TestAccount, requests: readonly MachineRequest[], visits: readonly Visit[]) {
  const lines = visits.flatMap(({ source, day, path, buys }, index) => {
    const at = (minute: number) => `2026-06-0${day}T10:0${minute}:00Z`;
    const view = { ts: at(0), path, referrer: sources[source], visitor: `${index}` };
    const revenue = { amount: "12.5", currency: "EUR" };
    return buys ? [view, { ts: at(1), type: "event", name: "buy", visitor: `${index}`, revenue }] : [view];
  });
  const id = await account.makeSite(lines, "example.com");
  await createGoal(test.pool, id, { name: "Buy", event: "buy" });
  await addRequests(id, 0, requests);
  return id;
}

/** @param from the number of earlier requests, since equal lines would be the same */
async function addRequests(id: string, from: number, requests: readonly MachineRequest[]): Promise<void> {
  const log = requests.map(({ name, day, path }, index) => {
    const time = new Date(Date.UTC(2026, 5, day, 10) + (from + index) * 1_000).toISOString().slice(11, 19);
    return `192.0.2.1 - - [0${day}/Jun/2026:${time} +0000] "GET ${path} HTTP/1.1" 404 1 "-" "${agents[name]}"\n`;
  });
  const input = Readable.from([Buffer.from(log.join(""))]);
  await importEvents({ pool: test.directPool, site: { id, domain: "example.com" }, input, format: "combined" });
}

/** A page with one request of each machine. */
const pageOf = (path: string, [crawled, answered, referred, visitors]: readonly number[], names: readonly string[]) => {
  const machines = names.map((name) => ({ name, requests: 1 }));
  return { path, crawled, answered, referred, visitors, machines };
};

const figures = { verified: 0, false: 0, blocked: 0, failed: 0 };

describe("200", () => {
  it("gives machines, engines with their visits and revenue, and pages", async () => {
    test.setNow(now);
    const account = await test.makeAccount();
    const id = await makeSite(
      account,
      [
        { name: "GPTBot", day: 7, path: "/a" },
        { name: "GPTBot", day: 8, path: "/b?x" },
        { name: "ChatGPT-User", day: 8, path: "/a" },
        { name: "Googlebot", day: 8, path: "/a" },
        { name: "GPTBot", day: 1, path: "/a" },
      ],
      [
        { source: "ChatGPT", day: 8, path: "/a", buys: true },
        { source: "Google", day: 8, path: "/a", buys: true },
        { source: "ChatGPT", day: 1, path: "/a", buys: true },
      ],
    );
    const { body } = await account.get(`/api/v1/sites/${id}/ai?range=7d&compare=previous`).expect(200);
    const of = (name: keyof typeof agents, operator: string, n: number) => ({
      name,
      operator,
      purpose: purposes[name],
      requests: n,
      pages: n,
      unknown: n,
      errors: n,
      missing: n,
      ...figures,
    });
    expect(body).toEqual({
      range: "7d",
      machines: [of("GPTBot", "OpenAI", 2), of("ChatGPT-User", "OpenAI", 1), of("Googlebot", "Google", 1)],
      engines: [
        {
          name: "ChatGPT",
          crawled: 2,
          answered: 1,
          referred: 1,
          conversions: 1,
          revenue: [{ currency: "EUR", amount: "12.5" }],
        },
      ],
      pages: [
        pageOf("/a", [2, 1, 1, 2], ["ChatGPT-User", "GPTBot", "Googlebot"]),
        pageOf("/b", [1, 0, 0, 0], ["GPTBot"]),
      ],
      previous: {
        from: "2026-05-26",
        to: "2026-06-01",
        requests: 1,
        crawled: 1,
        answered: 0,
        referred: 1,
        conversions: 1,
      },
    });
  });

  it("adds what agents cost for visits where asked, by one thing at a time", async () => {
    test.setNow(now);
    const account = await test.makeAccount();
    const id = await account.makeSite();
    const sql = `INSERT INTO visit_cost (site_id, dimension, day, value, visits, runs, failures, cost, duration_ms, conversions, revenue)
      VALUES ($1, $2, $3, $4, 5, 7, 1, 0.125, 900, $5, $6)`;
    const paid = (amount: string) => JSON.stringify([{ currency: "EUR", amount }]);
    await test.pool.query(sql, [id, "channel", "2026-06-07", "Search", 2, paid("12.5")]);
    await test.pool.query(sql, [id, "channel", "2026-06-06", "Search", 1, paid("0.000001")]);
    await test.pool.query(sql, [id, "channel", "2026-06-06", "(other)", 0, "[]"]);
    await test.pool.query(sql, [id, "channel", "2026-06-01", "Search", 9, paid("9")]);
    await test.pool.query(sql, [id, "page", "2026-06-07", "/a", 0, "[]"]);
    const read = async (query: string) => (await account.get(`/api/v1/sites/${id}/ai?${query}`).expect(200)).body.costs;
    const one = { visits: 5, runs: 7, failures: 1, cost_usd: "0.125", duration_ms: 900, conversions: 0, revenue: [] };
    const sums = { visits: 10, runs: 14, failures: 2, cost_usd: "0.25", duration_ms: 1_800, conversions: 3 };
    const search = { value: "Search", ...sums, revenue: [{ currency: "EUR", amount: "12.500001" }] };
    expect(await read("costs=channel")).toEqual({ by: "channel", rows: [search, { value: "(other)", ...one }] });
    expect(await read("costs=channel&limit=1")).toEqual({ by: "channel", rows: [search] });
    expect(await read("costs=page")).toEqual({ by: "page", rows: [{ value: "/a", ...one }] });
    expect(await read("costs=goal")).toEqual({ by: "goal", rows: [] });
    expect(await read("range=7d")).toBeUndefined();
    const { body } = await account.get(`/api/v1/sites/${id}/ai?costs=person`).expect(400);
    expect(body.fields).toHaveProperty("costs");
  });

  it("is empty for a site without figures, and has every point of a series", async () => {
    test.setNow(now);
    const account = await test.makeAccount();
    const id = await account.makeSite();
    const empty = { machines: [], engines: [], pages: [] };
    expect((await account.get(`/api/v1/sites/${id}/ai?range=today`).expect(200)).body).toEqual({
      range: "today",
      ...empty,
    });
    const { body } = await account
      .get(`/api/v1/sites/${id}/ai?from=2026-05-31&to=2026-06-01&interval=month`)
      .expect(200);
    const none = { requests: 0, crawled: 0, answered: 0, referred: 0 };
    expect(body.series).toEqual([
      { month: "2026-05", ...none },
      { month: "2026-06", ...none },
    ]);
  });

  it("names the pages that only machines read, and those that only people visit", async () => {
    test.setNow(now);
    const account = await test.makeAccount();
    const id = await makeSite(
      account,
      [
        { name: "GPTBot", day: 8, path: "/read" },
        { name: "GPTBot", day: 8, path: "/both" },
        { name: "other", day: 8, path: "/by-nobody-we-know" },
      ],
      [
        { source: "Google", day: 8, path: "/both", buys: false },
        { source: "Google", day: 8, path: "/visited", buys: false },
        { source: "Google", day: 1, path: "/read", buys: false },
      ],
    );
    const get = async (query: string) => (await account.get(`/api/v1/sites/${id}/ai?${query}`).expect(200)).body;
    expect(await get("lists=unread,unvisited")).toMatchObject({
      unread: [{ path: "/visited", visitors: 1 }],
      unvisited: [{ path: "/read", crawled: 1, answered: 0 }],
    });
    expect(await get("lists=unread,unvisited&filters=page:isNot:/visited;source:is:Claude")).toMatchObject({
      unread: [{ path: "/both", visitors: 1 }],
      unvisited: [],
    });
    expect(await get("lists=unread")).not.toHaveProperty("unvisited");
  });

  it("sees requests of earlier days and of the last one that come after a report", async () => {
    test.setNow(now);
    const account = await test.makeAccount();
    const made: MachineRequest[] = [];
    const id = await makeSite(account, made, []);
    await recount(account, id, { made, visited: [], asked: [] });
    for (const day of [3, 8, 8, 2, 3]) {
      for (const name of ["GPTBot", "Googlebot"] as const) {
        made.push({ name, day, path: `/${made.length % 3}` });
        await addRequests(id, made.length - 1, made.slice(-1));
        await recount(account, id, { made, visited: [], asked: [] });
      }
    }
  });

  it("equals a recount of any requests and visits, with any filters", async () => {
    test.setNow(now);
    const day = fc.integer({ min: 1, max: 8 });
    const path = fc.constantFrom("/a", "/b", "/c");
    const name = fc.constantFrom(...(Object.keys(agents) as (keyof typeof agents)[]));
    const source = fc.constantFrom(...(Object.keys(sources) as (keyof typeof sources)[]));
    const requests = fc.array(fc.record({ name, day, path }), { maxLength: 40 });
    const visits = fc.array(fc.record({ source, day, path, buys: fc.boolean() }), { maxLength: 20 });
    const filter = fc.oneof(
      fc.record({
        dimension: fc.constant("page" as const),
        operator: fc.constantFrom("is", "isNot", "contains", "containsNot"),
        values: fc.uniqueArray(fc.constantFrom("/a", "/b", "c", "/"), { minLength: 1, maxLength: 2 }),
      }),
      fc.record({
        dimension: fc.constant("source" as const),
        operator: fc.constantFrom("is", "isNot", "contains", "containsNot"),
        values: fc.uniqueArray(fc.constantFrom("ChatGPT", "Claude", "a"), { minLength: 1, maxLength: 2 }),
      }),
    );
    const filters = fc.array(filter, { maxLength: 3 });
    const account = await test.makeAccount();
    await fc.assert(
      fc.asyncProperty(
        requests,
        visits,
        fc.array(filters, { minLength: 3, maxLength: 3 }),
        async (made, visited, all) => {
          const id = await makeSite(account, made, visited);
          // The first two reports are of the database and of memory.
          for (const asked of [[], [], ...all]) await recount(account, id, { made, visited, asked });
        },
      ),
      randomRuns(6),
    );
  });
});

interface AskedFilter {
  readonly dimension: "page" | "source";
  readonly operator: string;
  readonly values: readonly string[];
}

interface Truth {
  readonly made: readonly MachineRequest[];
  readonly visited: readonly Visit[];
  readonly asked: readonly AskedFilter[];
}

async function recount(account: TestAccount, id: string, { made, visited, asked }: Truth): Promise<void> {
  const filters = asked
    .map(({ dimension, operator, values }) => `${dimension}:${operator}:${values.join("|")}`)
    .join(";");
  const { body } = await account
    .get(`/api/v1/sites/${id}/ai`)
    .query({ from: "2026-06-02", to: "2026-06-08", interval: "day", ...(filters !== "" && { filters }) })
    .expect(200);
  const passes = (dimension: string, value: string) =>
    asked
      .filter((each) => each.dimension === dimension)
      .every(({ operator, values }) => {
        const has = values.some((each) => (operator.startsWith("contains") ? value.includes(each) : value === each));
        return has !== operator.endsWith("Not");
      });
  const seen = made.filter((each) => each.day > 1 && passes("page", each.path) && passes("source", engines[each.name]));
  const came = visited.filter((each) => each.day > 1);
  const sent = came.filter(
    (each) => each.source !== "Google" && passes("page", each.path) && passes("source", each.source),
  );
  for (const each of body.machines) {
    const own = seen.filter((request) => request.name === each.name);
    expect([each.requests, each.pages]).toEqual([own.length, new Set(own.map((request) => request.path)).size]);
    expect(each.missing).toBe(own.length);
  }
  expect(body.machines).toHaveLength(new Set(seen.map((each) => each.name)).size);
  const count = (of: readonly MachineRequest[], ...names: string[]) =>
    of.filter(({ name }) => names.includes(purposes[name])).length;
  for (const each of body.engines) {
    const own = sent.filter((visit) => visit.source === each.name);
    const read = seen.filter(({ name }) => engines[name] === each.name);
    expect([each.crawled, each.answered]).toEqual([count(read, "training", "search"), count(read, "assistant")]);
    expect(each.referred).toBe(own.length);
    expect(each.conversions).toBe(own.filter(({ buys }) => buys).length);
    expect(each.revenue).toEqual(
      each.conversions === 0 ? [] : [{ currency: "EUR", amount: `${12.5 * each.conversions}` }],
    );
  }
  const shown = new Set<string>([...seen.map(({ name }) => engines[name]), ...sent.map((visit) => visit.source)]);
  shown.delete("");
  expect(new Set(body.engines.map((each: { name: string }) => each.name))).toEqual(shown);
  for (const each of body.pages) {
    const own = seen.filter((request) => request.path === each.path);
    expect(each).toEqual({
      path: each.path,
      crawled: count(own, "training", "search"),
      answered: count(own, "assistant"),
      referred: sent.filter((visit) => visit.path === each.path).length,
      visitors: came.filter((visit) => visit.path === each.path).length,
      machines: expect.any(Array),
    });
    const readers = [...new Set(own.map((request) => request.name))].map((name) => {
      return { name, requests: own.filter((request) => request.name === name).length };
    });
    readers.sort((a, b) => b.requests - a.requests || (a.name < b.name ? -1 : 1));
    expect(each.machines).toEqual(readers);
  }
  const paths = seen.filter(({ name }) => purposes[name] !== "other").map((request) => request.path);
  expect(body.pages).toHaveLength(new Set([...paths, ...sent.map((visit) => visit.path)]).size);
  for (const [index, each] of body.series.entries()) {
    const own = seen.filter((request) => request.day === index + 2);
    expect([each.requests, each.answered]).toEqual([own.length, count(own, "assistant")]);
    expect(each.referred).toBe(sent.filter((visit) => visit.day === index + 2).length);
  }
}

describe("text/csv", () => {
  it("has the rows of one list, without formulas", async () => {
    const account = await test.makeAccount();
    const id = await account.makeSite();
    await test.pool.query(
      `INSERT INTO machine_day (site_id, day, machine, path, purpose, requests, verified, refuted, errors, missing, blocked, failed)
       VALUES ($1, $2, 'GPTBot', '=1+1', 'training', 5, 3, 1, 2, 1, 1, 0)`,
      [id, new Date().toISOString().slice(0, 10)],
    );
    await test.pool.query(
      `INSERT INTO machine_total SELECT site_id, day, machine, min(purpose), sum(requests), sum(verified), sum(refuted), sum(errors), sum(missing), sum(blocked), sum(failed)
       FROM machine_day WHERE site_id = $1 GROUP BY site_id, day, machine`,
      [id],
    );
    test.setNow(new Date());
    const get = (query: string) => account.get(`/api/v1/sites/${id}/ai?${query}`).set("Accept", "text/csv");
    expect((await get("lists=pages").expect(200)).text).toBe(
      '"path","crawled","answered","referred","visitors","machines"\r\n"\'=1+1",5,0,0,0,"GPTBot 5"\r\n',
    );
    const { text } = await get("lists=machines").expect(200);
    expect(text).toMatch(
      /^"name","operator","purpose","requests",.*\r\n"GPTBot","OpenAI","training",5,1,3,1,1,2,1,1,0\r\n$/,
    );
    expect((await get("lists=engines").expect(200)).text).toContain('"ChatGPT",5,0,0,0,""');
    expect((await get("lists=unvisited").expect(200)).text).toBe(`"path","crawled","answered"\r\n"'=1+1",5,0\r\n`);
    for (const query of ["", "lists=pages,engines"])
      expect((await get(query).expect(400)).body.fields).toHaveProperty("lists");
  });
});

describe("400, 403 and 404", () => {
  it("say which filters requests of machines have no attribute for", async () => {
    const account = await test.makeAccount();
    const id = await account.makeSite();
    for (const filters of ["country:is:DE", "page:is:/a;browser:is:Firefox", "prop.plan:is:pro", "event:is:buy"]) {
      const { body } = await account.get(`/api/v1/sites/${id}/ai`).query({ filters }).expect(400);
      expect(body.fields.filters).toMatch(/^Must be of page, source, channel: requests of machines have no other/);
    }
    const { body } = await account.get(`/api/v1/sites/${id}/ai?filters=page`).expect(400);
    expect(body.fields.filters).toMatch(/operators/);
    for (const filters of ["page:is:a\0b", "channel:is:Search", `page:contains:${"x".repeat(1_000)}`])
      await account.get(`/api/v1/sites/${id}/ai`).query({ filters }).expect(200);
  });

  it("refuse hours, Free accounts and another account's site", async () => {
    const [own, foreign, free] = [await test.makeAccount(), await test.makeAccount(), await test.makeAccount("free")];
    const id = await own.makeSite();
    await own.get(`/api/v1/sites/${id}/ai?interval=hour`).expect(400);
    await foreign.get(`/api/v1/sites/${id}/ai`).expect(404);
    await free.get(`/api/v1/sites/${await free.makeSite()}/ai`).expect(403);
  });
});

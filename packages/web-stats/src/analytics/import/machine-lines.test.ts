import { describe, expect, it } from "@jest/globals";
import { createUuidV7 } from "@waymark/database";
import { randomRuns, startNameServer, useDatabase } from "@waymark/testing";
import fc from "fast-check";
import { otherValue } from "../../lists/lists.js";
import { browsers, bytesOf } from "../analytics.fixture.js";
import { loadMachines } from "../attribution/machines.js";
import { purgeEvents } from "../maintenance/event-retention.query.js";
import { maxPairsPerDay } from "../recording/machines.query.js";
import { readRollups } from "../recording/recount.fixture.js";
import { makeSite } from "../recording/site.fixture.js";
import { importEvents } from "./import-events.js";

const database = useDatabase();
const uuid = createUuidV7();
const { machines } = loadMachines();
const [gptBot = "", claudeBot = ""] = ["GPTBot", "ClaudeBot"].map(
  (name) => machines.find((machine) => machine.name === name)?.example,
);

interface Request {
  readonly method: string;
  readonly target: string;
  readonly status: number;
  readonly agent: string;
  readonly ip: string;
  readonly day: number;
}

const usual: Request = { method: "GET", target: "/a", status: 200, agent: gptBot, ip: "192.0.2.1", day: 1 };

function writeLine({ method, target, status, agent, ip, day }: Request, second = 0): string {
  const time = `0${day}/Oct/2026:10:05:${String(second).padStart(2, "0")} +0000`;
  return `${ip} - - [${time}] "${method} ${target} HTTP/1.1" ${status} 100 "-" "${agent}"`;
}

const openSite = () => makeSite(database.pool, uuid());

function load(site: { id: string; domain: string }, lines: readonly string[], dropBots = false) {
  const input = bytesOf(`${lines.join("\n")}\n`);
  return importEvents({ pool: database.directPool, site, input, format: "combined", dropBots });
}

async function rowsOf(siteId: string) {
  const sql = `
    SELECT day::text, machine, path, purpose, requests::int, verified::int, refuted::int, errors::int, missing::int, blocked::int, failed::int
    FROM machine_day WHERE site_id = $1 ORDER BY day, machine, path`;
  return (await database.pool.query(sql, [siteId])).rows;
}

const none = { verified: 0, refuted: 0, errors: 0, missing: 0, blocked: 0, failed: 0 };

describe("an import of machines' requests", () => {
  it("counts them by day, machine, page and status, whatever the method, status and kind of file", async () => {
    const site = await openSite();
    const lines = [
      writeLine(usual),
      writeLine({ ...usual, method: "HEAD" }, 1),
      writeLine({ ...usual, status: 404 }, 2),
      writeLine({ ...usual, status: 403 }, 3),
      writeLine({ ...usual, status: 503 }, 4),
      writeLine({ ...usual, target: "/robots.txt?a=1", agent: claudeBot }, 5),
      writeLine({ ...usual, agent: "NobodyKnowsThisBot/1.0" }, 6),
      writeLine({ ...usual, agent: browsers[0] ?? "" }, 7),
      writeLine({ ...usual, agent: browsers[0] ?? "", target: "/a.css" }, 8),
    ];
    expect(await load(site, lines)).toEqual({ imported: 1, rejected: 0, duplicates: 0, bots: 0, machines: 7 });
    const day = "2026-10-01";
    expect(await rowsOf(site.id)).toEqual([
      { day, machine: "ClaudeBot", path: "/robots.txt", purpose: "training", requests: 1, ...none },
      {
        day,
        machine: "GPTBot",
        path: "/a",
        purpose: "training",
        requests: 5,
        verified: 0,
        refuted: 0,
        errors: 3,
        missing: 1,
        blocked: 1,
        failed: 1,
      },
      { day, machine: "other", path: "/a", purpose: "other", requests: 1, ...none },
    ]);
  });

  it("counts each line once, also of overlapping files, and identical lines of one file", async () => {
    const site = await openSite();
    const lines = [writeLine(usual), writeLine(usual), writeLine(usual, 1)];
    expect(await load(site, lines)).toMatchObject({ machines: 3, duplicates: 0 });
    expect(await load(site, lines)).toMatchObject({ machines: 0, duplicates: 3 });
    expect(await load(site, [...lines, writeLine(usual, 2)])).toMatchObject({ machines: 1, duplicates: 3 });
    expect(await rowsOf(site.id)).toMatchObject([{ requests: 4 }]);
  });

  it("compares addresses with the operator's ranges from the day they were read", async () => {
    const site = await openSite();
    const lines = [
      writeLine({ ...usual, ip: "74.7.227.9", day: 6 }),
      writeLine({ ...usual, ip: "192.0.2.9", day: 6 }),
      writeLine({ ...usual, ip: "192.0.2.9", day: 4 }),
      writeLine({ ...usual, agent: claudeBot, day: 6 }),
    ];
    await load(site, lines);
    expect(await rowsOf(site.id)).toMatchObject([
      { day: "2026-10-04", requests: 1, verified: 0, refuted: 0 },
      { day: "2026-10-06", machine: "ClaudeBot", requests: 1, verified: 0, refuted: 0 },
      { day: "2026-10-06", machine: "GPTBot", requests: 2, verified: 1, refuted: 1 },
    ]);
  });

  it("looks up the names of addresses where an operator publishes domains, each once", async () => {
    const server = await startNameServer({
      "PTR 1.66.249.66.in-addr.arpa": ["crawl-66-249-66-1.googlebot.com"],
      "A crawl-66-249-66-1.googlebot.com": ["66.249.66.1"],
    });
    const site = await openSite();
    const today = new Date().toUTCString().slice(5, 16).replaceAll(" ", "/");
    const lines = ["66.249.66.1", "66.249.66.1", "9.9.9.9", "10.0.0.1"].flatMap((ip, index) =>
      ["Googlebot/2.1", "GPTBot/1.0"].map((agent) => writeLine({ ...usual, ip, agent }, index)),
    );
    const input = bytesOf(`${lines.join("\n").replaceAll(/01.Oct.2026/g, today)}\n`);
    await importEvents({ pool: database.directPool, site, input, format: "combined", resolver: server.resolver });
    server.close();
    expect((await rowsOf(site.id)).filter(({ machine }) => machine === "Googlebot")).toMatchObject([
      { requests: 4, verified: 2, refuted: 1 },
    ]);
    expect(server.asked).toHaveLength(3);
  });

  it("keeps a bounded number of pages a day, and counts the rest as (other)", async () => {
    const site = await openSite();
    const lines = Array.from({ length: maxPairsPerDay + 5 }, (_, n) => writeLine({ ...usual, target: `/${n}` }));
    await load(site, lines);
    await load(site, [writeLine({ ...usual, target: "/0" }, 9), writeLine({ ...usual, target: "/new" }, 9)]);
    const rows = await rowsOf(site.id);
    expect(rows).toHaveLength(maxPairsPerDay + 1);
    expect(rows.find(({ path }) => path === otherValue)).toMatchObject({ requests: 6 });
    expect(rows.find(({ path }) => path === "/0")).toMatchObject({ requests: 2 });
  });

  it("forgets lines that imports refuse, and keeps the figures", async () => {
    const site = await openSite();
    const count = async () =>
      (await database.pool.query("SELECT FROM machine_line WHERE site_id = $1", [site.id])).rowCount;
    const old = writeLine(usual).replace("Oct/2026", "Oct/2001");
    await load(site, [old, writeLine(usual)]);
    expect(await count()).toBe(2);
    await purgeEvents(database.pool, { firstMonth: "2002-01-01" });
    expect(await count()).toBe(1);
    expect(await load(site, [old])).toMatchObject({ machines: 0, rejected: 1 });
    expect(await rowsOf(site.id)).toHaveLength(2);
  });
});

const request: fc.Arbitrary<Request> = fc.record({
  method: fc.constantFrom("GET", "GET", "HEAD", "POST"),
  target: fc.constantFrom("/", "/a?b=1", "/style.css", "/c/d"),
  status: fc.constantFrom(200, 200, 304, 301, 404, 429, 500),
  agent: fc.constantFrom(gptBot, claudeBot, "x-bot/1", "-", ...browsers),
  ip: fc.constantFrom("192.0.2.1", "74.7.227.9"),
  day: fc.integer({ min: 1, max: 3 }),
});

describe("lines of any requests", () => {
  it("are a person's, a machine's or nobody's, and people's figures are those without bots", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 60 }), async (requests) => {
        const [whole, dropped] = [await openSite(), await openSite()];
        const lines = requests.map((each, index) => writeLine(each, index % 60));
        const result = await load(whole, lines);
        const ofMachines = requests.filter(({ agent }) => /bot/i.test(agent));
        const views = requests.filter(
          ({ agent, method, status, target }) =>
            !/bot/i.test(agent) && method === "GET" && [200, 304].includes(status) && !target.endsWith(".css"),
        );
        expect(result).toMatchObject({ machines: ofMachines.length, imported: views.length, rejected: 0 });
        expect(await load(dropped, lines, true)).toMatchObject({ machines: 0, imported: views.length });
        expect((await readRollups(database.pool, whole.id)).stats).toEqual(
          (await readRollups(database.pool, dropped.id)).stats,
        );
        const rows = await rowsOf(whole.id);
        const sum = (name: string) => rows.reduce((total, row) => total + row[name], 0);
        expect(sum("requests")).toBe(ofMachines.length);
        const totals =
          "SELECT sum(requests)::int AS requests, sum(errors)::int AS errors FROM machine_total WHERE site_id = $1";
        const [total] = (await database.pool.query(totals, [whole.id])).rows;
        expect([total.requests ?? 0, total.errors ?? 0]).toEqual([sum("requests"), sum("errors")]);
        expect(sum("errors")).toBe(ofMachines.filter(({ status }) => status >= 400).length);
        expect(sum("blocked")).toBe(ofMachines.filter(({ status }) => status === 429).length);
      }),
      randomRuns(10),
    );
  });
});

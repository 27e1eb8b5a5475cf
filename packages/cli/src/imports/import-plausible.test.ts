import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { useDatabase } from "@waymark/testing";
import { createCommandLine } from "../command-line.fixture.js";
import { writeZip } from "./zip.fixture.js";

const database = useDatabase();
const { run, json } = createCommandLine({ DATABASE_URL: database.url });

let folder: string;
let accountId: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "waymark-plausible-"));
  accountId = (await json<{ id: string }>("account", "create", "--email", "p@example.com", "--plan", "pro")).id;
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function newSite(): Promise<string> {
  const args = ["site", "create", "--account", accountId, "--domain", `${randomUUID()}.example`, "--name", "Site"];
  return (await json<{ id: string }>(...args)).id;
}

const archive: Record<string, string> = {
  imported_visitors: `"date","visitors","pageviews","bounces","visits","visit_duration"
"2026-05-01",3,7,1,4,300
"2026-05-02",2,2,2,2,0
`,
  imported_sources: `"date","source","referrer","utm_source","utm_medium","utm_campaign","utm_content","utm_term","pageviews","visitors","visits","visit_duration","bounces"
"2026-05-01","Google","google.com","","","","","",3,1,1,19,0
"2026-05-01","Hacker News","news.ycombinator.com/item","","","","","",1,1,1,0,1
"2026-05-01","weekly","","weekly","email","May","","",1,1,1,0,1
"2026-05-01","","","","","","","",2,1,1,0,1
"2026-05-02","Some Forum","","","","","","",2,2,2,0,2
`,
  imported_pages: `"date","hostname","page","visits","visitors","pageviews","total_scroll_depth"
"2026-05-01","example.com","/",3,3,4,10
"2026-05-01","example.com","/a,""b""",2,2,3,10
"2026-05-02","example.com","/",2,2,2,10
`,
  imported_entry_pages: `"date","entry_page","visitors","entrances","visit_duration","bounces","pageviews"
"2026-05-01","/",3,4,300,1,7
`,
  imported_exit_pages: `"date","exit_page","visitors","visit_duration","exits","bounces","pageviews"
"2026-05-01","/",3,300,4,1,7
`,
  imported_locations: `"date","country","region","city","visitors","visits","visit_duration","bounces","pageviews"
"2026-05-01","DE","DE-BW",2929831,1,2,3132,0,3
"2026-05-01","DE","DE-BE",2950159,1,1,0,1,2
"2026-05-01","","",0,1,1,0,1,2
`,
  imported_devices: `"date","device","visitors","visits","visit_duration","bounces","pageviews"
"2026-05-01","Laptop",1,1,0,1,2
"2026-05-01","Desktop",2,3,0,1,5
`,
  imported_browsers: `"date","browser","browser_version","visitors","visits","visit_duration","bounces","pageviews"
"2026-05-01","Chrome","109.0",1,1,0,1,2
"2026-05-01","Chrome","108.0",2,3,0,1,5
`,
  imported_operating_systems: `"date","operating_system","operating_system_version","visitors","visits","visit_duration","bounces","pageviews"
"2026-05-01","Mac","10.15",3,4,0,1,7
`,
  imported_custom_events: `"date","name","link_url","path","visitors","events"
"2026-05-01","Outbound Link: Click","https://one.example.com/","",1,2
"2026-05-01","Outbound Link: Click","https://two.example.com/","",1,1
"2026-05-01","Signup","","",2,3
`,
};

/** The archive with some files changed. */
async function write(change: Record<string, string> = {}): Promise<string> {
  const file = join(folder, `${randomUUID()}.zip`);
  const files = Object.entries({ ...archive, ...change }).map(([name, text]) => [
    `${name}_20260501_20260502.csv`,
    text,
  ]);
  await writeFile(file, writeZip(Object.fromEntries(files)));
  return file;
}

const importOf = (site: string, file: string) =>
  run(["import", "--site", site, "--file", file, "--from", "plausible", "--json"]);

async function figuresOf(site: string): Promise<Record<string, number[]>> {
  const { rows } = await database.pool.query(
    `SELECT concat_ws(' ', day, dimension, value) AS key, ARRAY[visitors, pageviews] AS figures
     FROM daily_stat WHERE site_id = $1
     UNION ALL SELECT concat_ws(' ', day, name, property, value), ARRAY[count] FROM daily_event WHERE site_id = $1`,
    [site],
  );
  return Object.fromEntries(rows.map(({ key, figures }) => [key, figures]));
}

describe("import --from plausible", () => {
  it("records the figures of each day, and each day once", async () => {
    const site = await newSite();
    const file = await write();
    expect(await importOf(site, file)).toMatchObject({
      code: 0,
      stdout: '{"imported":2,"rejected":0,"duplicates":0}\n',
      stderr: "",
    });
    const figures = {
      "2026-05-01 total ": [3, 7],
      "2026-05-01 page /": [3, 4],
      '2026-05-01 page /a,"b"': [2, 3],
      "2026-05-01 entry /": [3, 0],
      "2026-05-01 visit_entry /": [3, 0],
      "2026-05-01 exit /": [3, 0],
      "2026-05-01 source Google": [1, 3],
      "2026-05-01 source Hacker News": [1, 1],
      "2026-05-01 source weekly": [1, 1],
      "2026-05-01 channel Search": [1, 3],
      "2026-05-01 channel Social": [1, 1],
      "2026-05-01 channel Email": [1, 1],
      "2026-05-01 channel Direct": [1, 2],
      "2026-05-01 utm_source weekly": [1, 1],
      "2026-05-01 utm_medium email": [1, 1],
      "2026-05-01 utm_campaign may": [1, 1],
      "2026-05-01 country DE": [2, 5],
      "2026-05-01 device desktop": [3, 7],
      "2026-05-01 browser Chrome": [3, 7],
      "2026-05-01 os macOS": [3, 7],
      "2026-05-01 Outbound Link: Click  ": [3],
      "2026-05-01 Outbound Link: Click url https://one.example.com/": [2],
      "2026-05-01 Outbound Link: Click url https://two.example.com/": [1],
      "2026-05-01 Signup  ": [3],
      "2026-05-02 total ": [2, 2],
      "2026-05-02 page /": [2, 2],
      "2026-05-02 source Some Forum": [2, 2],
      "2026-05-02 channel Referral": [2, 2],
    };
    expect(await figuresOf(site)).toEqual(figures);
    expect(JSON.parse((await importOf(site, file)).stdout)).toEqual({ imported: 0, rejected: 0, duplicates: 2 });
    expect(await figuresOf(site)).toEqual(figures);
  });

  it("records visits where the export has all their figures, and the number of custom events", async () => {
    const site = await newSite();
    await importOf(site, await write({ imported_devices: "date,device,visitors,visits\n2026-05-01,Mobile,1,2\n" }));
    const { rows } = await database.pool.query(
      `SELECT concat_ws(' ', dimension, value) AS key, ARRAY[visits, bounces, visit_us / 1000000, visit_views, events] AS figures
       FROM daily_stat WHERE site_id = $1 AND day = '2026-05-01'`,
      [site],
    );
    const none = ["0", "0", "0", "0", "0"];
    expect(Object.fromEntries(rows.map(({ key, figures }) => [key, figures]))).toMatchObject({
      "total ": ["4", "1", "300", "7", "6"],
      "source Google": ["1", "0", "19", "3", "0"],
      "channel Direct": ["1", "1", "0", "2", "0"],
      "country DE": ["3", "1", "3132", "5", "0"],
      "browser Chrome": ["4", "2", "0", "7", "0"],
      "visit_entry /": ["4", "1", "300", "7", "0"],
      "exit /": ["4", "1", "300", "7", "0"],
      "entry /": none,
      "page /": none,
      "device mobile": none,
    });
  });

  it("leaves a day with figures alone, adds later events to an imported one, and no rebuild mends it", async () => {
    const site = await newSite();
    const view = (ts: string) => JSON.stringify({ ts, path: "/", visitor: "1" });
    await run(["import", "--site", site, "--file", "-"], view("2026-05-02T10:00:00Z"));
    const first = await importOf(site, await write());
    expect(JSON.parse(first.stdout)).toEqual({ imported: 1, rejected: 0, duplicates: 1 });
    await run(["import", "--site", site, "--file", "-"], view("2026-05-01T10:00:00Z"));
    const figures = await figuresOf(site);
    expect(figures).toMatchObject({ "2026-05-01 total ": [4, 8], "2026-05-02 total ": [1, 1] });
    const rebuild = await json("rollup", "rebuild", "--site", site);
    expect(rebuild).toMatchObject({ days: 1, differences: 0, skipped: 1 });
    expect(await figuresOf(site)).toEqual(figures);
  });

  it("bounds a day's list, the rest counting as (other)", async () => {
    const site = await newSite();
    const pages = Array.from({ length: 10_005 }, (_each, n) => `2026-05-01,/${n},1,${n < 5 ? 1 : 2}`);
    await importOf(site, await write({ imported_pages: ["date,page,visitors,pageviews", ...pages].join("\n") }));
    const { rows } = await database.pool.query(
      "SELECT count(*)::int AS n, sum(pageviews)::int AS views FROM daily_stat WHERE site_id = $1 AND dimension = 'page'",
      [site],
    );
    expect(rows).toEqual([{ n: 10_001, views: 20_005 }]);
    expect(await figuresOf(site)).toMatchObject({ "2026-05-01 page (other)": [5, 5] });
  });

  it("names the records that it cannot read, and takes the others", async () => {
    const site = await newSite();
    const imported_pages = [
      "date,page,visitors,pageviews",
      "2026-05-01,/,1,1",
      "2026-02-31,/,1,1",
      "2026-05-01,/,many,1",
      '2026-05-01,"/open,1,1',
      "2026-05-01,/b,1,1",
      "2026-05-01,/c\u0000,1,1",
      "2026-05-01,/d",
    ].join("\n");
    const { code, stdout, stderr } = await importOf(site, await write({ imported_pages }));
    expect({ code, ...JSON.parse(stdout) }).toEqual({ code: 0, imported: 2, rejected: 5, duplicates: 0 });
    expect(stderr.match(/^Line \d: imported_pages_20260501_20260502\.csv: /gm)).toHaveLength(5);
    expect(await figuresOf(site)).toMatchObject({ "2026-05-01 page /": [1, 1], "2026-05-01 page /b": [1, 1] });
  });

  it("refuses a file that is no export", async () => {
    const site = await newSite();
    const [text, other] = [join(folder, "a.txt"), join(folder, "b.zip")];
    await writeFile(text, "hello");
    await writeFile(other, writeZip({ "a.csv": "" }));
    for (const [file, sentence] of [
      [text, /is no whole zip archive/],
      [other, /is no export of Plausible/],
      ["-", /wants a file/],
      [join(folder, "none"), /There is no file/],
    ] as const) {
      const { code, stdout, stderr } = await importOf(site, file);
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toMatch(sentence);
    }
  });

  it("ends with 1 when every record was rejected", async () => {
    const lines = Object.fromEntries(Object.keys(archive).map((name) => [name, "date\n2026-05-01\n"]));
    const { code, stdout, stderr } = await importOf(await newSite(), await write(lines));
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 1, imported: 0 });
    expect(stderr).toMatch(/\nEvery record was rejected, so nothing was imported\.\n$/);
  });

  it("goes with its site", async () => {
    const site = await newSite();
    await importOf(site, await write());
    expect(await json("site", "delete", "--site", site, "--yes")).toMatchObject({ removed: { imported_day: 2 } });
  });
});

import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { useDatabase } from "@waymark/testing";
import { createCommandLine } from "../command-line.fixture.js";
import { writeZip } from "../imports/zip.fixture.js";

const database = useDatabase();
const { run, json } = createCommandLine({ DATABASE_URL: database.url });

let folder: string;
let accountId: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "waymark-import-logs-"));
  accountId = (await json<{ id: string }>("account", "create", "--email", "logs@example.com", "--plan", "pro")).id;
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function newSite(domain = `${randomUUID()}.example`): Promise<string> {
  const args = ["site", "create", "--account", accountId, "--domain", domain, "--name", "Site"];
  return (await json<{ id: string }>(...args)).id;
}

async function figuresOf(site: string) {
  const { rows } = await database.pool.query(
    "SELECT day::text, dimension, value, visitors, pageviews FROM daily_stat WHERE site_id = $1 ORDER BY 1, 2, 3",
    [site],
  );
  return rows;
}

interface View {
  ts: string;
  ip: string;
  user_agent: string;
  path: string;
  referrer: string | null;
}

const browsers = [
  "Mozilla/5.0 (X11; Linux x86_64; rv:25.0) Gecko/20100101 Firefox/25.0",
  "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
  'A "quoted\\" browser',
  "",
];

/** The recorded page views of a public log, with addresses and browsers of our own. */
async function readViews(): Promise<View[]> {
  const file = new URL("../../../local/assets/demo/semicomplete.visits.ndjson", import.meta.url);
  const lines = (await readFile(file, "utf8")).trim().split("\n");
  return lines.map((line) => {
    const { ts, path, referrer, visitor } = JSON.parse(line);
    const number = Number(visitor);
    const user_agent = browsers[number % browsers.length] ?? "";
    return { ts, path, referrer: referrer ?? null, ip: `2001:db8::${number.toString(16)}`, user_agent };
  });
}

const months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

function toCombined({ ts, ip, user_agent, path, referrer }: View): string {
  const time = `${ts.slice(8, 10)}/${months[Number(ts.slice(5, 7)) - 1]}/${ts.slice(0, 4)}:${ts.slice(11, 19)} +0000`;
  const escaped = (text: string | null) => (text || "-").replaceAll("\\", "\\x5C").replaceAll('"', "\\x22");
  return `${ip} - - [${time}] "GET ${escaped(path)} HTTP/1.1" 200 1234 "${escaped(referrer)}" "${escaped(user_agent)}"`;
}

const request = (text: string, agent = browsers[0]) =>
  `192.0.2.1 - - [17/May/2026:10:05:03 +0200] ${text} 100 "-" "${agent}"`;

describe("import of a web server's log", () => {
  it("gives the figures of the same page views as ndjson, and finds them again in that form", async () => {
    const pages = (await readViews()).filter(({ path }) => !/\.(?:png|rss|txt|xml|pdf|gz|zip|css|js)$/i.test(path));
    const [log, lines] = [join(folder, "access.log"), join(folder, "views.ndjson")];
    await writeFile(log, pages.map((page) => `${toCombined(page)}\n`).join(""));
    await writeFile(lines, pages.map((page) => `${JSON.stringify(page)}\n`).join(""));
    const [a, b] = [await newSite("semicomplete.com"), await newSite("semicomplete.com")];
    const args = ["import", "--drop-bots", "--file"];
    const ofLog = await json(...args, log, "--site", a);
    const ofLines = await json(...args, lines, "--site", b);
    const leftOut = { method: 0, status: 0, asset: 0, malformed: 0 };
    expect(ofLog).toEqual({
      format: "combined",
      imported: ofLines["imported"],
      rejected: 0,
      duplicates: 0,
      bot: ofLines["bots"],
      ...leftOut,
    });
    expect(ofLines["imported"]).toBeGreaterThan(500);
    expect(ofLines["bots"]).toBeGreaterThan(100);
    const figures = await figuresOf(a);
    expect(figures).toEqual(await figuresOf(b));
    expect(figures.length).toBeGreaterThan(500);
    expect(await json(...args, lines, "--site", a)).toMatchObject({ imported: 0, duplicates: ofLines["imported"] });
    expect(await figuresOf(a)).toEqual(figures);
    const check = await json("rollup", "rebuild", "--site", a, "--check");
    expect(check).toMatchObject({ differences: 0 });
  });

  it("counts by its reason each line that is left out, and names the malformed ones", async () => {
    const lines = [
      request('"GET /a HTTP/1.1" 200'),
      request('"GET /b HTTP/1.1" 304'),
      request('"POST /a HTTP/1.1" 200'),
      request('"HEAD /a.css HTTP/1.1" 404'),
      request('"GET /missing HTTP/1.1" 404'),
      request('"GET /style.css HTTP/1.1" 200'),
      request('"GET /a HTTP/1.1" 200', "Googlebot/2.1"),
      "hello",
      request('"GET /\\x00 HTTP/1.1" 200'),
      '192.0.2.1 - - [31/Feb/2026:10:05:03 +0200] "GET / HTTP/1.1" 200 100 "-" "-"',
      `192.0.2.1 - - ${"x".repeat(70_000)}`,
    ];
    const site = await newSite();
    const args = ["import", "--site", site, "--file", "-", "--drop-bots"];
    const { code, stdout, stderr } = await run([...args, "--json"], `${lines.join("\n")}\n`);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      format: "combined",
      imported: 2,
      rejected: 4,
      duplicates: 0,
      method: 2,
      status: 1,
      asset: 1,
      bot: 1,
      malformed: 4,
    });
    const told = stderr.trim().split("\n");
    expect(told).toEqual([
      expect.stringMatching(/^Line 8: Must have the combined form: /),
      expect.stringMatching(/^Line 9: path: /),
      expect.stringMatching(/^Line 10: ts: Must /),
      "Line 11: The line must be at most 65536 bytes long",
    ]);
    const again = await run(args, `${lines.join("\n")}\n`);
    expect(again.stdout).toBe(
      "Done (combined): 0 imported, 4 rejected, 2 there already; left out: 2 by method, 1 by status, 1 by asset, 1 of bots.\n",
    );
  });

  it("takes the given form, and ends with 1 when no line has it", async () => {
    const site = await newSite();
    const common = request('"GET /a HTTP/1.1" 200').replace(/ "-" .*/, "");
    expect(JSON.parse((await run(["import", "--site", site, "--file", "-", "--json"], common)).stdout)).toMatchObject({
      format: "common",
      imported: 1,
      machines: 0,
    });
    const wrong = await run(["import", "--site", site, "--file", "-", "--format", "combined", "--json"], common);
    expect({ ...wrong, stdout: JSON.parse(wrong.stdout) }).toMatchObject({
      code: 1,
      stdout: { rejected: 1, malformed: 1 },
    });
    const unknown = await run(["import", "--site", site, "--file", "-", "--format", "iis"], common);
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toMatch(/combined/);
  });

  it("keeps what the good lines give where bytes are no UTF-8", async () => {
    const site = await newSite();
    const good = request('"GET /a HTTP/1.1" 200');
    const bad = Buffer.concat([Buffer.from(good.slice(0, -1)), Buffer.from([0xe9, 0x22])]);
    const input = Buffer.concat([Buffer.from(`${good}\n`), bad, Buffer.from(`\n${good}\n`)]);
    const { stdout, stderr } = await run(["import", "--site", site, "--file", "-", "--json"], input);
    expect(JSON.parse(stdout)).toMatchObject({ imported: 2, malformed: 1 });
    expect(stderr).toBe("Line 2: The line must be UTF-8\n");
  });

  it("guesses each form, and counts the same view in all of them", async () => {
    const agent = "Mozilla/5.0 (X11; Linux x86_64; rv:25.0) Gecko/20100101 Firefox/25.0";
    const host = { host: "example.com", scheme: "https" };
    const nginx = {
      time_iso8601: "2026-05-17T10:05:03+02:00",
      remote_addr: "192.0.2.1",
      request_method: "GET",
      ...host,
    };
    const caddy = {
      method: "GET",
      client_ip: "192.0.2.1",
      host: "example.com",
      uri: "/a",
      headers: { "User-Agent": [agent] },
    };
    const ts = Date.parse("2026-05-17T08:05:03Z") / 1000;
    const line = { ts: "2026-05-17T08:05:03Z", path: "/a", ip: "192.0.2.1", user_agent: agent };
    const edge = ["2026-05-17", "08:05:03", "IAD", "1", "192.0.2.1", "GET", "d.cloudfront.net", "/a", "200", "-"];
    const forms = {
      combined: request('"GET /a HTTP/1.1" 200'),
      "caddy-json": JSON.stringify({ ts, msg: "handled request", request: caddy, status: 200 }),
      "nginx-json": JSON.stringify({ ...nginx, request_uri: "/a", status: "200", http_user_agent: agent }),
      cloudfront: `#Version: 1.0\n${[...edge, encodeURIComponent(agent), "-", "-", "Hit", "id", "example.com", "https"].join("\t")}`,
      ndjson: JSON.stringify(line),
    };
    const site = await newSite();
    for (const [format, text] of Object.entries(forms)) {
      const { stdout } = await run(["import", "--site", site, "--file", "-", "--json"], text);
      const { format: guessed = "ndjson", imported, duplicates } = JSON.parse(stdout);
      expect({ guessed, imported, duplicates }).toEqual({
        guessed: format,
        imported: format === "combined" ? 1 : 0,
        duplicates: format === "combined" ? 0 : 1,
      });
    }
  });
});

const umami = `website_id,session_id,hostname,browser,os,device,country,url_path,url_query,referrer_path,referrer_domain,page_title,event_type,event_name,created_at
w,s1,example.com,chrome,Mac OS,laptop,DE,/,,/,www.google.com,Home,1,,2026-05-17 10:00:00
w,s1,example.com,chrome,Mac OS,laptop,DE,/pricing,utm_source=weekly,,,"Prices,
and more",1,,2026-05-17 10:01:00
w,s2,example.com,ios,iOS,mobile,FR,/,,,,"Home,1,,2026-05-17 10:02:00
w,s2,example.com,ios,iOS,mobile,FR,/,,,,Home,1,,2026-05-17 10:03:00
w,s2,example.com,ios,iOS,mobile,FR,/,,,,Home,2,signup,2026-05-17 10:04:00
`;

const goatcounter = `2Path,Title,Event,UserAgent,Browser,System,Session,Bot,Referrer,Referrer scheme,Screen size,Location,FirstVisit,Date
/,Home,false,,Firefox 115,Linux,11-1,0,Hacker News,g,"1920,1080,1",US-TX,true,2026-05-17T10:00:00Z
/a,A,false,,Firefox 115,Linux,11-1,0,www.reddit.com/r/x,h,"1920,1080,1",US-TX,false,2026-05-17T10:01:00Z
/,Home,false,,Chrome 126,Windows 10,11-2,7,,,"1,1,1",DE,true,2026-05-17T10:02:00Z
signup,,true,,Firefox 115,Linux,11-1,0,,,"1920,1080,1",US-TX,false,2026-05-17T10:03:00Z
`;

describe("import of another tool's export", () => {
  const totals = async (site: string) => {
    const kept = new Set(["total", "browser", "os", "source", "country", "device"]);
    const rows = (await figuresOf(site)).filter(({ dimension }) => kept.has(dimension));
    return Object.fromEntries(
      rows.map(({ dimension, value, visitors, pageviews }) => [`${dimension} ${value}`, [visitors, pageviews]]),
    );
  };

  it("takes the events of Umami, and loses a broken record alone", async () => {
    const site = await newSite("example.com");
    const args = ["import", "--site", site, "--file", "-", "--from", "umami", "--json"];
    const { code, stdout, stderr } = await run(args, umami);
    expect({ code, ...JSON.parse(stdout) }).toEqual({ code: 0, imported: 4, machines: 0, rejected: 1, duplicates: 0 });
    expect(stderr).toBe("Line 5: A quote of this record stays open\n");
    expect(await totals(site)).toEqual({
      "total ": [2, 3],
      "browser Chrome": [1, 2],
      "browser Safari": [1, 1],
      "os macOS": [1, 2],
      "os iOS": [1, 1],
      "device desktop": [1, 2],
      "device mobile": [1, 1],
      "country DE": [1, 2],
      "country FR": [1, 1],
      "source Google": [1, 1],
      "source weekly": [1, 1],
    });
    expect(JSON.parse((await run(args, umami)).stdout)).toEqual({
      imported: 0,
      machines: 0,
      rejected: 1,
      duplicates: 4,
    });
    expect(await json("rollup", "rebuild", "--site", site, "--check")).toMatchObject({ differences: 0 });
  });

  it("finds the events of Umami in the zip archive with them", async () => {
    const site = await newSite("example.com");
    const [file, other] = [join(folder, "umami.zip"), join(folder, "other.zip")];
    await writeFile(file, writeZip({ "event_data.csv": "", "export/website_event.csv": umami }));
    await writeFile(other, writeZip({ "event_data.csv": "" }));
    const args = ["import", "--site", site, "--from", "umami", "--file"];
    expect(await json(...args, file)).toEqual({ imported: 4, machines: 0, rejected: 1, duplicates: 0 });
    expect(await run([...args, other])).toMatchObject({
      code: 1,
      stderr: `'${other}' has no file website_event.csv.\n`,
    });
  });

  it("takes the compressed events of GoatCounter, and drops its bots on demand", async () => {
    const site = await newSite("example.com");
    const file = join(folder, "goatcounter.csv.gz");
    await writeFile(file, gzipSync(goatcounter));
    const result = await json("import", "--site", site, "--file", file, "--from", "goatcounter", "--drop-bots");
    expect(result).toEqual({ imported: 3, rejected: 0, duplicates: 0, bots: 1 });
    expect(await totals(site)).toEqual({
      "total ": [1, 2],
      "browser Firefox": [1, 2],
      "os Linux": [1, 2],
      "country US": [1, 2],
      "source Hacker News": [1, 1],
      "source reddit": [1, 1],
    });
  });

  it("refuses every line of another file, and a damaged gzip", async () => {
    const site = await newSite();
    const other = await run(["import", "--site", site, "--file", "-", "--from", "umami"], goatcounter);
    expect(other.code).toBe(1);
    expect(other.stderr).toMatch(/^Line 1: The file's first line must name the columns session_id, url_path/);
    const damaged = gzipSync(goatcounter.repeat(50)).subarray(0, -9);
    const cut = await run(["import", "--site", site, "--file", "-", "--from", "goatcounter", "--json"], damaged);
    expect({ code: cut.code, stdout: cut.stdout }).toEqual({ code: 1, stdout: "" });
    expect(cut.stderr).toMatch(/The gzip file is damaged or cut\. What was imported stays\.\n$/);
  });
});

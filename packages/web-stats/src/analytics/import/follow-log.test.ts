import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { appendFile, copyFile, mkdtemp, rename, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "@jest/globals";
import { amount, useDatabase } from "@waymark/testing";
import { makeSite } from "../recording/site.fixture.js";
import { followLog } from "./follow-log.js";

const database = useDatabase();
const folders: string[] = [];
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))));

async function makeLog(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "waymark-follow-"));
  folders.push(folder);
  return join(folder, "access.log");
}

const times = { idleMs: 5, graceMs: 60 };
const gptBot = "Mozilla/5.0; compatible; GPTBot/1.2; +https://openai.com/gptbot";

const lineOf = (n: number, agent = gptBot) =>
  `192.0.2.1 - - [0${1 + Math.floor(n / 2_000)}/Oct/2026:10:05:${String(Math.floor(n / 100) % 60).padStart(2, "0")} +0000] "GET /${n} HTTP/1.1" 200 9 "-" "${agent}"\n`;

const countsOf = async (siteId: string) => {
  const sql = "SELECT path, requests::int FROM machine_day WHERE site_id = $1 AND path <> '(other)'";
  const { rows } = await database.pool.query<{ path: string; requests: number }>(sql, [siteId]);
  return new Map(rows.map(({ path, requests }) => [path, requests]));
};

/** Waits until a condition holds; jest's limit ends what never comes. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await setTimeout(50);
}

/** Follows in this thread until it is stopped. */
function follow(site: { id: string; domain: string }, path: string, more = {}) {
  const stop = new AbortController();
  const { signal } = stop;
  const options = { pool: database.directPool, site, path, format: "combined", signal, ...times, ...more } as const;
  const ended = followLog(options).catch((error) => error);
  const end = async () => {
    stop.abort();
    return ended;
  };
  return Object.assign(end, { ended });
}

describe("following a log", () => {
  it("records what is there and what comes, people and machines, and each line once after a restart", async () => {
    const [path, site] = [await makeLog(), await makeSite(database.pool)];
    await writeFile(path, `${lineOf(1)}${lineOf(1)}nonsense\n${lineOf(2).slice(0, 40)}`);
    let stop = follow(site, path);
    await until(async () => (await countsOf(site.id)).get("/1") === 2);
    await appendFile(path, lineOf(2).slice(40) + lineOf(1));
    await until(async () => (await countsOf(site.id)).get("/1") === 3);
    await stop();
    await appendFile(
      path,
      lineOf(1) + lineOf(3, "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0"),
    );
    stop = follow(site, path);
    const viewsOf = async () => (await database.pool.query("SELECT FROM event WHERE site_id = $1", [site.id])).rowCount;
    await until(async () => (await viewsOf()) === 1);
    await stop();
    expect(Object.fromEntries(await countsOf(site.id))).toEqual({ "/1": 4, "/2": 1 });
  });

  it("leaves out people where asked, and saves its place without a line to count", async () => {
    const [path, site] = [await makeLog(), await makeSite(database.pool)];
    await writeFile(path, lineOf(1, "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0"));
    const stop = follow(site, path, { machinesOnly: true });
    const placeOf = async () =>
      (await database.pool.query("SELECT place::int FROM followed_log WHERE site_id = $1", [site.id])).rows[0]?.place;
    await until(async () => (await placeOf()) > 0);
    await stop();
    expect((await database.pool.query("SELECT FROM event WHERE site_id = $1", [site.id])).rowCount).toBe(0);
  });

  it("ends where another process follows the same log", async () => {
    const [path, site] = [await makeLog(), await makeSite(database.pool)];
    await writeFile(path, lineOf(1));
    const stops = [follow(site, path), follow(site, path)];
    await until(async () => (await countsOf(site.id)).size === 1);
    await appendFile(path, lineOf(2));
    await until(async () => (await countsOf(site.id)).size === 2);
    // The slower one notices when it saves its place.
    await Promise.race(stops.map(({ ended }) => ended));
    const ends = await Promise.all(stops.map((stop) => stop()));
    expect(ends.map(({ name }) => name)).toContain("FollowedTwiceError");
    expect([...(await countsOf(site.id)).values()]).toEqual([1, 1]);
  });

  it("goes on behind a line without an end, in bounded memory", async () => {
    const [path, site] = [await makeLog(), await makeSite(database.pool)];
    await writeFile(path, `${"x".repeat(5_000_000)}\n${lineOf(1)}`);
    const stop = follow(site, path);
    await until(async () => (await countsOf(site.id)).get("/1") === 1);
    await stop();
    const { rows } = await database.pool.query(
      "SELECT length(tail)::int AS bytes FROM followed_log WHERE site_id = $1",
      [site.id],
    );
    expect(rows[0].bytes).toBeLessThanOrEqual(32_768);
  });
});

const follower = fileURLToPath(new URL("follow-log.fixture.ts", import.meta.url));

/** Starts a follower again and again, and kills it soon after it has recorded something. @returns how many were killed */
async function killAgain(
  isOver: () => boolean,
  { site, path }: { site: { id: string; domain: string }; path: string },
) {
  for (let kills = 0; ; kills++) {
    const before = (await countsOf(site.id)).size;
    const args = [...process.execArgv, follower, database.directUrl, site.id, site.domain, path];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] });
    const ended = once(child, "exit");
    while (!isOver() && child.exitCode === null && (await countsOf(site.id)).size === before) await setTimeout(20);
    await setTimeout(isOver() ? 0 : 37 * (kills % 7));
    child.kill("SIGKILL");
    const [code] = await ended;
    if (code !== null) throw new Error(`The follower ended with ${code}`);
    if (isOver()) return kills;
  }
}

/** Numbers the rotated files anew, as logrotate does. */
async function shift(path: string, rotations: number): Promise<void> {
  for (let n = rotations; n > 0; n--) if (existsSync(`${path}.${n}`)) await rename(`${path}.${n}`, `${path}.${n + 1}`);
}

describe("a log that rotates while its follower is killed", () => {
  it("is recorded with each line once, by renaming and by copying", async () => {
    const [path, site] = [await makeLog(), await makeSite(database.pool)];
    await writeFile(path, "");
    let isOver = false;
    let written = 0;
    const kills = killAgain(() => isOver, { site, path });
    const rotations = amount(4, 20);
    for (let rotation = 1; rotation <= rotations; rotation++) {
      for (let burst = 0; burst < 10; burst++) {
        const lines = Array.from({ length: 40 }, () => lineOf(written++)).join("");
        const cut = Math.floor(lines.length / 3);
        await appendFile(path, lines.slice(0, cut));
        await setTimeout(10);
        await appendFile(path, lines.slice(cut));
      }
      // Some rotations meet a follower, others come while there is none.
      if (rotation % 3 > 0) await until(async () => (await countsOf(site.id)).size > written - 400);
      await shift(path, rotation);
      if (rotation % 2 === 0) {
        await rename(path, `${path}.1`);
        // The server's last lines before it opens the new file.
        await appendFile(`${path}.1`, lineOf(written++));
        await writeFile(path, "");
      } else {
        await copyFile(path, `${path}.1`);
        await truncate(path, 0);
      }
    }
    await until(async () => (await countsOf(site.id)).size === written);
    isOver = true;
    expect(await kills).toBeGreaterThanOrEqual(rotations / 2);
    const counts = await countsOf(site.id);
    expect([...counts.values()].filter((count) => count !== 1)).toEqual([]);
    expect(counts.size).toBe(written);
  }, 120_000);
});

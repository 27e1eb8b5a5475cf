// How many beacons a second the collector records, beside an Express app that only reads them and itself without a store.

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { deployedFlags } from "@waymark/local/deployed-flags";
import { percentile } from "@waymark/local/figures";
import { cpuMicrosOf } from "@waymark/local/process-usage";
import autocannon from "autocannon";
import { startApp } from "./start-app.mjs";

const connections = 64;
const warmupSeconds = 3;

/** Loads all apps in turns, each for some seconds a round, and compares them within each round. */
export async function measureCollector({ root, databaseUrl, pool, site, seconds, rounds, say }) {
  const before = await countRows(pool, site);
  const apps = [];
  let answered = 0;
  try {
    for (const { what, ...settings } of settingsOf(root, databaseUrl)) {
      apps.push({ what, ...(await startApp(settings)), rounds: [] });
    }
    const collector = apps.at(-1);
    for (const app of apps) {
      const warm = await load(app.port, site, warmupSeconds);
      if (app === collector) answered += warm["2xx"];
    }
    for (let round = 1; round <= rounds; round++) {
      say(`round ${round} of ${rounds} ...`);
      for (const app of round % 2 ? apps : apps.toReversed()) {
        const measured = await measureRound(app, site, seconds);
        app.rounds.push(measured);
        if (app === collector) answered += measured.answered;
      }
    }
  } finally {
    for (const app of apps) await app.stop();
  }
  const last = apps.at(-1).rounds;
  const rows = apps.map(({ what, rounds: own }) => ({
    what,
    perSecond: spreadOf(own.map(({ perSecond }) => perSecond)),
    nodeMicros: spreadOf(own.map(({ nodeMicros }) => nodeMicros)),
    p50Ms: spreadOf(own.map(({ p50Ms }) => p50Ms)).median,
    p99Ms: spreadOf(own.map(({ p99Ms }) => p99Ms)).median,
    errors: own.reduce((sum, { errors }) => sum + errors, 0),
    collectorTo: spreadOf(own.map(({ perSecond }, round) => last[round].perSecond / perSecond)),
  }));
  return { rows, rounds, seconds, answered, recorded: (await countRows(pool, site)) - before };
}

function settingsOf(root, databaseUrl) {
  const nullApp = (kind) => ({
    entry: fileURLToPath(new URL("null-app.mjs", import.meta.url)),
    env: { NULL_APP: kind },
  });
  return [
    { what: "idle Express, plain createServer, reads the body", ...nullApp("express") },
    { what: "the same with our classes of messages", ...nullApp("express-classes") },
    { what: "collector without a store", ...nullApp("collector"), flags: deployedFlags("collector") },
    {
      what: "collector",
      entry: join(root, "apps/collector/dist/main.js"),
      flags: deployedFlags("collector"),
      env: {
        DATABASE_URL: databaseUrl,
        COLLECTOR_PORT: "0",
        COLLECTOR_METRICS_PORT: "0",
        TRUSTED_PROXIES: "127.0.0.1",
        COLLECTOR_RATE_LIMIT_PER_ADDRESS: "0",
      },
    },
  ];
}

async function measureRound({ port, pid }, site, seconds) {
  const before = cpuMicrosOf(pid);
  const measured = await load(port, site, seconds);
  return {
    answered: measured["2xx"],
    perSecond: measured.requests.average,
    nodeMicros: (cpuMicrosOf(pid) - before) / measured["2xx"],
    p50Ms: measured.latency.p50,
    p99Ms: measured.latency.p99,
    errors: measured.errors + measured.non2xx,
  };
}

function spreadOf(values) {
  const [low, median, high] = [0.25, 0.5, 0.75].map((share) => percentile(values, share));
  return { low, median, high };
}

async function countRows(pool, { id }) {
  const { rows } = await pool.query("SELECT count(*)::int AS n FROM event WHERE site_id = $1", [id]);
  return rows[0].n;
}

/** Page views of many visitors on 200 pages. Autocannon stops at the time, so a few answers may come too late to be counted. */
function load(port, site, seconds) {
  const requests = Array.from({ length: 1_000 }, (_, n) => ({
    method: "POST",
    path: "/api/event",
    headers: {
      "content-type": "text/plain",
      "user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0",
      "x-forwarded-for": `10.0.${n >> 8}.${n & 255}`,
    },
    body: JSON.stringify({
      n: "pageview",
      u: `https://${site.domain}/page-${n % 200}`,
      d: site.domain,
      r: n % 3 === 0 ? "https://www.google.com/" : null,
    }),
  }));
  return autocannon({ url: `http://127.0.0.1:${port}`, connections, duration: seconds, requests });
}

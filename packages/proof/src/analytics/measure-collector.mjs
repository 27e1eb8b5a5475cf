// How many beacons a second the collector records, beside an Express app that only reads them and itself without a store.
import { percentile } from "@waymark/local/figures";
import { cpuMicrosOf } from "@waymark/local/process-usage";
import { generate } from "../../dist/load/generate.js";

const connections = 64;
const warmupSeconds = 3;

/** The baselines and the collector, which comes last. */
const subjects = [
  { what: "idle Express, plain createServer, reads the body", idle: "express" },
  { what: "the same with our classes of messages", idle: "express-classes" },
  { what: "collector without a store", idle: "collector" },
  { what: "collector" },
];

/** Loads all apps in turns, each for some seconds a round, and compares them within each round. */
export async function measureCollector({ pool, start }, { site, seconds, rounds, say }) {
  const before = await countRows(pool, site);
  const apps = [];
  for (const { what, idle } of subjects) apps.push({ what, ...(await start("collector", { idle })), rounds: [] });
  const collector = apps.at(-1);
  let answered = 0;
  const measureRound = async (app, forSeconds) => {
    const cpuBefore = cpuMicrosOf(app.pid);
    const { acknowledged, requestsPerSecond: perSecond, ...seen } = await load(app.port, site, forSeconds);
    if (app === collector) answered += acknowledged;
    return { ...seen, perSecond, nodeMicros: (cpuMicrosOf(app.pid) - cpuBefore) / acknowledged };
  };
  for (const app of apps) await measureRound(app, warmupSeconds);
  for (let round = 1; round <= rounds; round++) {
    say(`round ${round} of ${rounds} ...`);
    for (const app of round % 2 ? apps : apps.toReversed()) app.rounds.push(await measureRound(app, seconds));
  }
  for (const { app } of apps) await app.stop();
  const last = collector.rounds;
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
  return generate({ port, connections, until: { seconds }, requestsOf: () => requests });
}

// How many beacons a second the collector records, beside an Express app that does nothing and itself without a store.

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import autocannon from "autocannon";
import { startApp } from "./start-app.mjs";

const connections = 64;
const warmupSeconds = 2;

export async function measureCollector({ root, databaseUrl, pool, site, seconds, say }) {
  const nullApp = (kind) => ({
    entry: fileURLToPath(new URL("null-app.mjs", import.meta.url)),
    env: { NULL_APP: kind },
  });
  const apps = [
    ["express-null (answers 202, reads nothing)", nullApp("express")],
    ["same app without a store", nullApp("collector")],
    [
      "collector",
      {
        entry: join(root, "apps/collector/dist/main.js"),
        env: {
          DATABASE_URL: databaseUrl,
          COLLECTOR_PORT: "0",
          COLLECTOR_METRICS_PORT: "0",
          TRUSTED_PROXIES: "127.0.0.1",
          COLLECTOR_RATE_LIMIT_PER_ADDRESS: "0",
          COLLECTOR_RATE_LIMIT_PER_SITE: "0",
        },
      },
    ],
  ];
  const before = await countRows(pool, site);
  const rows = [];
  let answered = 0;
  for (const [what, settings] of apps) {
    say(`${what} ...`);
    const app = await startApp({ ...settings, env: { ...settings.env, LOG_LEVEL: "info" } });
    try {
      const warm = await load(app.port, site, warmupSeconds);
      const measured = await load(app.port, site, seconds);
      answered = warm["2xx"] + measured["2xx"];
      rows.push({
        what,
        perSecond: measured.requests.average,
        p50Ms: measured.latency.p50,
        p99Ms: measured.latency.p99,
        errors: measured.errors + measured.non2xx,
      });
    } finally {
      await app.stop();
    }
  }
  const [expressNull, appNull, collector] = rows;
  return {
    rows,
    toExpressNull: collector.perSecond / expressNull.perSecond,
    toAppNull: collector.perSecond / appNull.perSecond,
    answered,
    recorded: (await countRows(pool, site)) - before,
  };
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

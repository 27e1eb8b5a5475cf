// How long the statistics API takes for a small and a large site, beside the same figures counted over raw events.
import { join } from "node:path";
import { startApp } from "./start-app.mjs";

const requests = 500;

const contract = ["stats?range=30d", "events?range=30d"];
const withVisits = [
  "stats?range=30d&interval=day&compare=previous&metrics=visits,bounceRate,visitDuration,viewsPerVisit,events",
];

/** The figures of `stats?range=30d` and `events?range=30d`, as one would count them without rollups. */
const rawSql = [
  `SELECT count(*), (SELECT sum(n) FROM (SELECT count(DISTINCT visitor) AS n FROM event
     WHERE site_id = $1 AND id >= uuid_floor($2) AND type = 'pageview' GROUP BY (at AT TIME ZONE 'UTC')::date) AS days)
   FROM event WHERE site_id = $1 AND id >= uuid_floor($2) AND type = 'pageview'`,
  ...["path", "source", "country", "channel"].map(
    (column) => `SELECT value, sum(visitors), sum(pageviews) FROM (
       SELECT (at AT TIME ZONE 'UTC')::date AS day, ${column} AS value, count(DISTINCT visitor) AS visitors, count(*) AS pageviews
       FROM event WHERE site_id = $1 AND id >= uuid_floor($2) AND type = 'pageview' AND ${column} IS NOT NULL GROUP BY 1, 2
     ) AS days GROUP BY value ORDER BY 2 DESC, 3 DESC, 1 LIMIT 10`,
  ),
  `SELECT name, key, each.value, count(*) FROM event CROSS JOIN LATERAL json_each_text(props) AS each (key, value)
   WHERE site_id = $1 AND id >= uuid_floor($2) AND type = 'event' GROUP BY 1, 2, 3`,
];

export async function measureStats({ root, databaseUrl, pool, sites, say }) {
  const app = await startApp({
    entry: join(root, "apps/analytics-api/dist/main.js"),
    env: { DATABASE_URL: databaseUrl, ANALYTICS_API_PORT: "0", ANALYTICS_API_METRICS_PORT: "0" },
  });
  try {
    const rows = [];
    for (const [size, site] of [
      ["small", sites.small],
      ["large", sites.large],
    ]) {
      for (const [what, paths] of [
        ["by rollups", contract],
        ["with visits' figures", withVisits],
      ]) {
        await timeAnswers(app.port, { site, paths }, sites.keys, 20);
        const times = await timeAnswers(app.port, { site, paths }, sites.keys, requests);
        rows.push({ what: `${size} site, ${what}`, p50Ms: percentile(times, 0.5), p99Ms: percentile(times, 0.99) });
      }
    }
    for (const [size, site, repeats] of [
      ["small", sites.small, 20],
      ["large", sites.large, 1],
    ]) {
      say(`counting the ${size} site's raw events ...`);
      const times = [];
      for (let i = 0; i < repeats; i++) times.push(await timeRaw(pool, site));
      rows.push({
        what: `${size} site, by raw count`,
        p50Ms: percentile(times, 0.5),
        p99Ms: repeats > 1 ? percentile(times, 0.99) : null,
      });
    }
    const [small, , large, , , largeRaw] = rows;
    return { rows, largeToSmall: large.p50Ms / small.p50Ms, rawToRollup: largeRaw.p50Ms / large.p50Ms };
  } finally {
    await app.stop();
  }
}

/** Answers of a site, one after the other, as one time. */
async function timeAnswers(port, { site, paths }, keys, count) {
  const times = [];
  for (let i = 0; i < count; i++) {
    const headers = { Authorization: `Bearer ${keys[i % keys.length]}` };
    const before = performance.now();
    for (const path of paths) {
      const answer = await fetch(`http://127.0.0.1:${port}/api/v1/sites/${site.id}/${path}`, { headers });
      const text = await answer.text();
      if (answer.status !== 200) throw new Error(`${path} was answered ${answer.status}: ${text}`);
    }
    times.push(performance.now() - before);
  }
  return times;
}

async function timeRaw(pool, site) {
  const since = new Date(Date.now() - 29 * 24 * 3_600_000);
  since.setUTCHours(0, 0, 0, 0);
  const before = performance.now();
  for (const sql of rawSql) await pool.query(sql, [site.id, since]);
  return performance.now() - before;
}

function percentile(times, share) {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

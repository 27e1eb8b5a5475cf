// How long the statistics API takes for a small and a large site.
import { percentile } from "@waymark/local/figures";
import { statsRequests } from "./stats-requests.mjs";

const warmups = 20;
const repeats = 300;
/** A slow answer is asked for less often: the budgets are of medians. */
const enoughMs = 60_000;

/** @returns a row per request: its times for both sites, and its budget */
export async function measureStats({ pool, start }, { sites, say }) {
  const { app, port } = await start("analytics-api");
  const days = await readDays(pool, sites.large);
  const rows = [];
  for (const { what, paths, budgetMs } of statsRequests) {
    say(`${what} ...`);
    const time = (site) => timeAnswers(port, site, paths(`from=${days.first}&to=${days.last}`, site), sites.keys);
    const [small, large] = [await time(sites.small), await time(sites.large)];
    rows.push({
      what,
      p50Ms: percentile(large, 0.5),
      p99Ms: percentile(large, 0.99),
      budgetMs,
      smallP50Ms: percentile(small, 0.5),
    });
  }
  await app.stop();
  return rows;
}

async function readDays(pool, site) {
  const { rows } = await pool.query(
    `SELECT min(day)::text AS first, max(day)::text AS last FROM daily_stat
     WHERE site_id = $1 AND dimension = 'total'`,
    [site.id],
  );
  return rows[0];
}

async function timeAnswers(port, site, paths, keys) {
  const times = [];
  const started = performance.now();
  for (let i = 0; i < warmups + repeats && (times.length < 20 || performance.now() - started < enoughMs); i++) {
    const headers = { Authorization: `Bearer ${keys[i % keys.length]}` };
    const before = performance.now();
    for (const path of paths) {
      const answer = await fetch(`http://127.0.0.1:${port}/api/v1/sites/${site.id}/${path}`, { headers });
      const text = await answer.text();
      if (answer.status !== 200) throw new Error(`${path} was answered ${answer.status}: ${text}`);
    }
    if (i >= warmups) times.push(performance.now() - before);
  }
  return times;
}

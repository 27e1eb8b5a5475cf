#!/usr/bin/env node
// Writes made-up visits of the last 30 UTC days as lines for `waymark import`: node visits.mjs COUNT END
// Every day has the same 200 paths and 30 referrers, whatever the count, so that two sites of different size have lists of
// the same length. Each visitor of a day opens four pages; one line in fifty is a custom event. No chance is involved.
import { once } from "node:events";

const paths = 200;
const referrers = 30;
const days = 30;
const dayMs = 24 * 3_600_000;
const viewsPerVisitor = 4;
const countries = ["DE", "US", "FR", "IN", "BR", "JP"];
const browsers = [
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
  "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1",
  "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0",
];

/** The line of the nth event of a day that has so many. */
function line(dayStart, n, perDay) {
  const visitor = Math.floor(n / viewsPerVisitor);
  const visit = {
    ts: new Date(dayStart + Math.floor((n / perDay) * dayMs)).toISOString(),
    path: `/page-${(n * 7) % paths}`,
    ip: `10.${(visitor >> 16) & 255}.${(visitor >> 8) & 255}.${visitor & 255}`,
    user_agent: browsers[visitor % browsers.length],
    country: countries[visitor % countries.length],
  };
  if (visitor % 2 === 0) visit.referrer = `https://site-${visitor % (2 * referrers)}.example/`;
  if (n % 50 === 49)
    Object.assign(visit, { type: "event", name: "signup", props: { plan: visitor % 3 ? "free" : "pro" } });
  return JSON.stringify(visit);
}

const [count, end] = process.argv.slice(2).map(Number);
// The last day is yesterday, so that no event lies in the future.
const lastDay = Math.floor(end / dayMs) * dayMs - dayMs;
const perDay = Math.ceil(count / days);
let written = 0;
for (let day = 0; day < days; day++) {
  let text = "";
  for (let n = 0; n < perDay && written < count; n++, written++) {
    text += `${line(lastDay - (days - 1 - day) * dayMs, n, perDay)}\n`;
    if (text.length < 262_144) continue;
    if (!process.stdout.write(text)) await once(process.stdout, "drain");
    text = "";
  }
  if (!process.stdout.write(text)) await once(process.stdout, "drain");
}

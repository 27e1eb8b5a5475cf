#!/usr/bin/env node
// Makes one of the demo's files of visits from an access log in NDJSON ({ts, ip, user_agent, path, referrer} a line). Visitors
// become numbers; bots, and queries and bare addresses in referrers, are left out. Downloads, by programs too but not by
// crawlers, become custom events. Waymark's own database gives the countries of the addresses.
//   node make-demo-data.mjs PAGEVIEWS.ndjson [ALL-REQUESTS.ndjson] > VISITS.ndjson
import { readFileSync } from "node:fs";
import { openCountryDirectory } from "@waymark/web-stats/analytics";
import { isbot } from "isbot";

const [pageviewsFile, requestsFile] = process.argv.slice(2);
if (!pageviewsFile) throw new Error("usage: make-demo-data.mjs PAGEVIEWS.ndjson [ALL-REQUESTS.ndjson]");
const download = /^\/files\/.*?([^/?]+\.(?:jar|exe|gz|tgz|zip|pdf|deb|rpm|conf|patch))(?:\?|$)/;
const read = (file) =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line.trim())
    .map((line) => JSON.parse(line));

const numbers = new Map();
const visitorOf = ({ ip, user_agent }) => {
  const key = `${ip} ${user_agent}`;
  if (!numbers.has(key)) numbers.set(key, String(numbers.size + 1));
  return numbers.get(key);
};
const { countryOf } = await openCountryDirectory(undefined);
const countryIn = ({ ip }) => {
  const country = countryOf(ip);
  return country ? { country } : {};
};
const isAddress = (referrer) => /^https?:\/\/(\d{1,3}(\.\d{1,3}){3}|\[)/.test(referrer);
const withoutQuery = (referrer) =>
  referrer && !isAddress(referrer) ? { referrer: referrer.replace(/[?#].*$/s, "") } : {};
const visits = read(pageviewsFile).map((line) => ({ line, event: {} }));
const downloads = (requestsFile ? read(requestsFile) : []).flatMap((line) => {
  const file = download.exec(line.path)?.[1];
  return file && !/bot|crawl|spider/i.test(line.user_agent)
    ? [{ line, event: { type: "event", name: "Download", props: { file } } }]
    : [];
});
[...visits, ...downloads]
  .filter(({ line, event }) => event.type || (line.user_agent && !isbot(line.user_agent)))
  .sort((a, b) => (a.line.ts < b.line.ts ? -1 : a.line.ts > b.line.ts ? 1 : 0))
  .forEach(({ line, event }) => {
    const path = line.path.replace(/\?.*$/s, "");
    const visit = {
      ts: line.ts,
      ...event,
      path,
      ...withoutQuery(line.referrer),
      ...countryIn(line),
      visitor: visitorOf(line),
    };
    process.stdout.write(`${JSON.stringify(visit)}\n`);
  });

// Writes made-up visits of the 30 UTC days before END as lines for `waymark import`: node visits.mjs EVENTS END_MS DOMAIN
// A day has EVENTS / 30 events, in order of time: 3.2 views a visit, four visits in nine of one view, and custom events in
// every tenth. Pages, sources and countries follow Zipf's law, hours a wave. A seed gives the same lines each time.
import { once } from "node:events";
import { createRandom } from "@waymark/local";

const days = 30;
const dayMs = 24 * 3_600_000;
const maxPauseMs = 25 * 60_000;

const pages = Array.from({ length: 2_000 }, (_, n) =>
  n === 0 ? "/" : `${["/docs", "/blog", "/shop"][n % 3]}/page-${n}`,
);
const knownSources = ["www.google.com", "www.bing.com", "duckduckgo.com", "www.facebook.com", "www.reddit.com"];
const sources = Array.from({ length: 200 }, (_, n) => `https://${knownSources[n] ?? `site-${n}.example`}/`);
const countries = "US DE IN GB FR BR JP CA NL ES IT PL AU SE MX KR CH TR ID AT BE DK NO FI CZ PT IE NZ ZA AR".split(
  " ",
);
const systems = [
  ["Windows", "desktop", ["Chrome", "Microsoft Edge", "Firefox", "Opera"]],
  ["Android", "mobile", ["Chrome", "Samsung Internet for Android", "Firefox", "Opera"]],
  ["iOS", "mobile", ["Safari", "Chrome", "DuckDuckGo"]],
  ["macOS", "desktop", ["Safari", "Chrome", "Firefox", "Vivaldi"]],
  ["iPadOS", "tablet", ["Safari", "Chrome"]],
  ["Linux", "desktop", ["Firefox", "Chrome", "Vivaldi"]],
];
const campaigns = ["spring", "launch", "newsletter"];
const plans = ["free", "pro", "team"];
const eventNames = Array.from({ length: 10 }, (_, n) => ["signup", "purchase", "download"][n] ?? `action-${n}`);

/** Picks values about by Zipf's law: the nth comes 1/n as often as the first. */
function createPick(values, random) {
  return () => values[Math.floor((values.length + 1) ** random()) - 1];
}

/** Makes the events of a day, as pairs of a time and the other members of a line. */
function createDays({ random, domain }) {
  const [page, source, country, system] = [pages, sources, countries, systems].map((each) => createPick(each, random));
  const browsers = new Map(systems.map(([os, , names]) => [os, createPick(names, random)]));
  const custom = createPick(eventNames, random);
  const moment = () => dayMs * ((random() + random()) / 2);

  function newVisitor(number) {
    const [os, device] = system();
    const ip = `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
    const browser = browsers.get(os)();
    return {
      ip,
      user_agent: `Mozilla/5.0 (${os}) ${browser}/140.0`,
      country: country(),
      browser,
      os,
      device,
      lastMs: 0,
    };
  }

  /** A visit from a moment on; the first view names its source. */
  function addVisit(events, visitor, firstMs) {
    const views = random() < 0.45 ? 1 : 2 + Math.floor(Math.log(1 - random()) / Math.log(1 - 1 / 4));
    const { lastMs: _, ...own } = visitor;
    let atMs = firstMs;
    for (let n = 0; n < views && atMs < dayMs; n++) {
      const tags =
        n === 0 && random() < 0.1 ? `?utm_source=mail&utm_campaign=${campaigns[Math.floor(random() * 3)]}` : "";
      const referrer = n > 0 ? `https://${domain}/` : random() < 0.5 ? source() : undefined;
      events.push([atMs, { url: `https://${domain}${page()}${tags}`, referrer, ...own }]);
      visitor.lastMs = atMs;
      atMs += Math.min(maxPauseMs, Math.ceil(-60_000 * Math.log(1 - random())));
    }
    const count = random() < 0.1 ? 1 + Math.floor(random() * 2) : 0;
    for (let n = 0; n < count; n++) {
      const props = { plan: plans[Math.floor(random() * 3)] };
      events.push([visitor.lastMs, { type: "event", name: custom(), props, url: `https://${domain}/`, ...own }]);
    }
  }

  return (count) => {
    const events = [];
    const visitors = [];
    while (events.length < count) {
      const former = random() < 0.08 && visitors[Math.floor(random() * visitors.length)];
      const visitor = former || newVisitor(visitors.length);
      if (!former) visitors.push(visitor);
      const again = visitor.lastMs + maxPauseMs * 2 + random() * 6 * 3_600_000;
      if (former && again >= dayMs) continue;
      addVisit(events, visitor, Math.floor(former ? again : moment()));
    }
    return events.slice(0, count).sort(([a], [b]) => a - b);
  };
}

const [total, endMs] = process.argv.slice(2, 4).map(Number);
const makeDay = createDays({ random: createRandom(20_261_122).next, domain: process.argv[4] });
// The last day is yesterday, so that no event lies in the future.
const end = Math.floor(endMs / dayMs) * dayMs;
for (let day = 0; day < days; day++) {
  const dayStart = end - (days - day) * dayMs;
  const count = Math.floor((total * (day + 1)) / days) - Math.floor((total * day) / days);
  let text = "";
  for (const [atMs, members] of makeDay(count)) {
    text += `${JSON.stringify({ ts: new Date(dayStart + atMs).toISOString(), ...members })}\n`;
    if (text.length < 262_144) continue;
    if (!process.stdout.write(text)) await once(process.stdout, "drain");
    text = "";
  }
  if (!process.stdout.write(text)) await once(process.stdout, "drain");
}

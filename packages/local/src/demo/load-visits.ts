import { readFile } from "node:fs/promises";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { importEvents } from "@waymark/web-stats/analytics";
import type pg from "pg";
import { createRandom, type Random } from "./random.js";

const dayMs = 24 * 3_600_000;

const assetsFolder = new URL("../../assets/demo/", import.meta.url);

/** The recorded logs, and the visitors made of them in 60 days, by domain. */
export const sites = {
  "semicomplete.com": { file: "semicomplete.visits.ndjson", visitors: 5_200, seed: 3 },
  "adver.tools": { file: "advertools.visits.ndjson", visitors: 700, seed: 4 },
} as const;

/** Two ranges of 30 days to compare. */
const days = 60;

interface Visit {
  ts: string;
  path: string;
  visitor: string;
  type?: "event";
  name?: string;
  props?: object;
  referrer?: string;
  country?: string;
  user_agent?: string;
}

type Mix = Readonly<Record<"campaigns" | "userAgents", readonly (readonly [string, number])[]>>;

/**
 * Imports a site's visits of the 60 days before `end`. A repeated call with the same `end` counts no visit twice, so an
 * interrupted load can run again.
 */
export async function loadVisits(
  pool: pg.Pool,
  { site, end }: { site: { id: string; domain: keyof typeof sites }; end: Date },
): Promise<void> {
  const visits = await planVisits(site.domain, end.getTime());
  const lines = visits.map((visit) => Buffer.from(`${JSON.stringify(visit)}\n`));
  const { rejected } = await importEvents({ pool, site, input: Readable.from(lines) });
  if (rejected > 0) throw new Error(`${rejected} lines of ${site.domain} were rejected`);
}

/** Visitors with the pages, referrers and countries of recorded ones, and browsers and campaigns of our own. */
export async function planVisits(domain: keyof typeof sites, end: number): Promise<Visit[]> {
  const { file, visitors, seed } = sites[domain];
  const random = createRandom(seed);
  const recorded = await readVisitors(fileURLToPath(new URL(file, assetsFolder)));
  const mix = JSON.parse(await readFile(new URL("visitors.json", assetsFolder), "utf8")) as Mix;
  const start = Math.floor(end / dayMs) * dayMs - (days - 1) * dayMs;
  const visits = Array.from({ length: visitors }, (_, n) =>
    visitOnce(random, mix, { pages: random.pick(recorded), visitor: String(n), at: momentOf(random, start, end) }),
  );
  return visits
    .flat()
    .filter(({ ts }) => Date.parse(ts) <= end)
    .sort((a, b) => (a.ts < b.ts ? -1 : a.ts > b.ts ? 1 : 0));
}

type RecordedVisit = Omit<Visit, "user_agent">;

async function readVisitors(file: string): Promise<RecordedVisit[][]> {
  const byVisitor = new Map<string, RecordedVisit[]>();
  for (const line of (await readFile(file, "utf8")).trimEnd().split("\n")) {
    const visit = JSON.parse(line) as RecordedVisit;
    byVisitor.set(visit.visitor, [...(byVisitor.get(visit.visitor) ?? []), visit]);
  }
  // The longest visits are those of programs.
  return [...byVisitor.values()].filter((pages) => pages.length <= 12);
}

/** More visitors by day than by night, fewer on weekends, and more each week; a release brings two busy days. */
function momentOf(random: Random, start: number, end: number): number {
  for (;;) {
    const at = start + random.next() * (end - start);
    const day = Math.floor((at - start) / dayMs);
    const isWeekend = [0, 6].includes(new Date(at).getUTCDay());
    const hour = new Date(at).getUTCHours();
    const release = day === 41 ? 1.6 : day === 42 ? 1.2 : 1;
    const weight = (isWeekend ? 0.6 : 1) * (hour < 6 ? 0.35 : 1) * (0.62 + (0.38 * day) / days) * release;
    if (random.next() * 1.6 < weight) return at;
  }
}

function visitOnce(
  random: Random,
  { campaigns, userAgents }: Mix,
  { pages, visitor, at }: { pages: readonly RecordedVisit[]; visitor: string; at: number },
): Visit[] {
  const user_agent = random.weighted(userAgents);
  const campaign = random.next() < 0.13 ? random.weighted(campaigns) : undefined;
  let time = at;
  const common = () => {
    const ts = new Date(time).toISOString();
    time += random.between(8_000, 140_000);
    return { ts, visitor, user_agent };
  };
  const visits: Visit[] = pages.map(({ referrer, path, ...page }, index) => ({
    ...page,
    ...common(),
    path: index === 0 && campaign ? `${path}?${campaign}` : path,
    ...(referrer !== undefined && !(index === 0 && campaign) && { referrer }),
  }));
  const [first] = pages;
  if (first && random.next() < 0.035) {
    const props = {
      form: random.pick(["footer", "article", "start page"]),
      topic: random.pick(["releases", "articles"]),
    };
    const country = first.country === undefined ? {} : { country: first.country };
    visits.push({ ...common(), ...country, type: "event", name: "Newsletter", path: first.path, props });
  }
  return visits;
}

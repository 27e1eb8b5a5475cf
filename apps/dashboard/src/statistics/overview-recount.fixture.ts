import type { Comparison, Figures } from "@waymark/web-stats/statistics";

/** An event as it was sent. */
export interface Sent {
  day: string;
  /** Microseconds since midnight. */
  us: number;
  /** Null for a view or event without one. */
  visitor: string | null;
  type: "pageview" | "event" | "passive" | "engagement";
}

/** A day's figures of another tool. */
export interface ToolDay {
  visitors: number;
  pageviews: number;
  visits: number;
  bounces: number;
  visitSeconds: number;
  events: number;
}

/** What a site was sent. */
export interface SentSite {
  events: Sent[];
  toolDays: Map<string, ToolDay>;
  /** The first day with raw events. */
  horizon: string;
}

export interface Asked {
  now: Date;
  first: string;
  last: string;
  comparison: Comparison;
}

const dayMs = 86_400_000;
const hourUs = 3_600_000_000;
const gapUs = hourUs / 2;

interface Visit {
  first: number;
  last: number;
  end: number;
  views: number;
  events: number;
  passive: number;
}

/** The visits of a day's events, each event looked at one by one. */
function visitsOf(events: readonly Sent[]): Visit[] {
  const visits: Visit[] = [];
  const known = events.filter(({ visitor }) => visitor !== null);
  for (const visitor of new Set(known.map((event) => event.visitor))) {
    const own = known.filter((event) => event.visitor === visitor).sort((a, b) => a.us - b.us);
    const runs: Visit[] = [];
    for (const { us, type } of own.filter((event) => event.type !== "engagement")) {
      let run = runs.at(-1);
      if (!run || us - run.last >= gapUs) {
        run = { first: us, last: us, end: us, views: 0, events: 0, passive: 0 };
        runs.push(run);
      }
      run.last = us;
      run.end = us;
      if (type === "pageview") run.views++;
      else run.events++;
      if (type === "passive") run.passive++;
    }
    for (const { us } of own.filter((event) => event.type === "engagement")) {
      const run = runs.find(({ first, last }) => first <= us && us - last < gapUs);
      if (run) run.end = Math.max(run.end, us);
    }
    visits.push(...runs);
  }
  return visits;
}

type Sums = ToolDay & { visitUs: number; visitViews: number };

const nothing = { visitors: 0, pageviews: 0, visits: 0, bounces: 0, visitSeconds: 0, events: 0 };

/** Counts the views and custom events in a time of a day, and the visits that began in it. */
function count(events: readonly Sent[], from = 0, to = 24 * hourUs): Sums {
  const isIn = (us: number) => us >= from && us < to;
  const views = events.filter(({ type, us }) => type === "pageview" && isIn(us));
  const customs = events.filter(({ type, us }) => (type === "event" || type === "passive") && isIn(us));
  const visits = visitsOf(events).filter(({ first }) => isIn(first));
  const sum = (of: (visit: Visit) => number) => visits.reduce((all, visit) => all + of(visit), 0);
  return {
    visitors: new Set(views.flatMap(({ visitor }) => visitor ?? [])).size,
    pageviews: views.length,
    events: customs.length,
    visits: visits.length,
    bounces: visits.filter(({ views, events, passive }) => views === 1 && events === passive).length,
    visitSeconds: 0,
    visitUs: sum(({ first, end }) => end - first),
    visitViews: sum((visit) => visit.views),
  };
}

function add(all: readonly Sums[]): Sums {
  const sums: Sums = { ...nothing, visitUs: 0, visitViews: 0 };
  for (const each of all) for (const name of Object.keys(sums) as (keyof Sums)[]) sums[name] += each[name];
  return sums;
}

function toFigures({ visitors, pageviews, events, visits, bounces, visitSeconds, visitUs, visitViews }: Sums): Figures {
  const mean = (sum: number) => (visits === 0 ? 0 : sum / visits);
  const seconds = visitSeconds + visitUs / 1_000_000;
  return {
    visitors,
    pageviews,
    events,
    visits,
    bounceRate: mean(bounces),
    visitDuration: mean(seconds),
    viewsPerVisit: mean(visitViews),
  };
}

const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);

function daysOf(first: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => dayOf(Date.parse(first) + index * dayMs));
}

/** The overview of a site as the things that it was sent say. */
export function recountOverview(site: SentSite, { now, first, last, comparison }: Asked) {
  const length = (Date.parse(last) - Date.parse(first)) / dayMs + 1;
  const days = daysOf(first, length);
  const otherFirst =
    comparison === "year"
      ? `${Number(first.slice(0, 4)) - 1}${first.slice(4)}`
      : dayOf(Date.parse(first) - length * dayMs);
  const others = comparison === "off" ? [] : daysOf(otherFirst, length);
  const eventsOf = (day: string) => site.events.filter((event) => event.day === day);
  const countDay = (day: string) => {
    const tool = site.toolDays.get(day) ?? nothing;
    return add([count(eventsOf(day)), { ...tool, visitUs: 0, visitViews: tool.pageviews }]);
  };
  const isHourly = length === 1 && [...days, ...others].every((day) => !site.toolDays.has(day));
  const seriesOf = (points: readonly string[], until: number) => {
    const [day] = points;
    if (!isHourly || !day) return points.map((at) => ({ at, ...toFigures(countDay(at)) }));
    const hours = Array.from({ length: 24 }, (_, hour) => hour);
    const begun = hours.filter((hour) => hour === 0 || Date.parse(day) + hour * (dayMs / 24) < until);
    return begun.map((hour) => {
      const at = `${day}T${String(hour).padStart(2, "0")}`;
      return { at, ...toFigures(count(eventsOf(day), hour * hourUs, (hour + 1) * hourUs)) };
    });
  };
  const counterpart = others[days.indexOf(dayOf(now.getTime()))];
  const hasPart = counterpart !== undefined && !site.toolDays.has(counterpart) && counterpart >= site.horizon;
  const minutes = Math.floor((now.getTime() % dayMs) / 60_000);
  const before = others.filter((day) => counterpart !== undefined && day < counterpart).map(countDay);
  const part = hasPart && count(eventsOf(counterpart), 0, minutes * 60_000_000);
  return {
    interval: isHourly ? "hour" : "day",
    totals: toFigures(add(days.map(countDay))),
    series: seriesOf(days, now.getTime()),
    ...(others.length > 0 && {
      comparison: {
        from: others[0],
        to: others.at(-1),
        totals: toFigures(part ? add([...before, part]) : add(others.map(countDay))),
        ...(part && { until: new Date(Date.parse(counterpart ?? "") + minutes * 60_000).toISOString() }),
        series: seriesOf(others, Number.POSITIVE_INFINITY),
      },
    }),
  };
}

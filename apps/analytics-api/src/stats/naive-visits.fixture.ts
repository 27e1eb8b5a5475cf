/** A line of an import, as the tests of metrics draw it. */
export type VisitLine = {
  ts: string;
  type: "pageview" | "event" | "engagement";
  name?: string;
  /** Of a custom event; true where it is absent. */
  interactive?: boolean | undefined;
  url: string;
  referrer: string | undefined;
  country: string | undefined;
  visitor: string | undefined;
};

export interface NaiveVisit {
  start: string;
  /** Of its last line or engagement. */
  end: string;
  lines: VisitLine[];
}

const isView = ({ type }: VisitLine) => type === "pageview";

/** The visits of days, one visitor after the other. Lines at one moment must be alike but for their type. */
export function visitsOf(lines: readonly VisitLine[]): NaiveVisit[] {
  const ordered = lines.filter(({ visitor }) => visitor !== undefined).sort((a, b) => (a.ts < b.ts ? -1 : 1));
  const visits: NaiveVisit[] = [];
  for (const line of ordered.filter(({ type }) => type !== "engagement")) {
    const open = visits.find(({ lines: [first, ...rest] }) => {
      const last = rest.at(-1) ?? first;
      const isSame = first?.visitor === line.visitor && first?.ts.slice(0, 10) === line.ts.slice(0, 10);
      return isSame && last !== undefined && Date.parse(line.ts) - Date.parse(last.ts) < 1_800_000;
    });
    if (open) open.lines.push(line);
    else visits.push({ start: line.ts, end: line.ts, lines: [line] });
  }
  for (const visit of visits) {
    const last = visit.lines.at(-1)?.ts ?? "";
    const isHeld = ({ ts, visitor }: VisitLine) =>
      visitor === visit.lines[0]?.visitor &&
      ts.slice(0, 10) === last.slice(0, 10) &&
      ts >= visit.start &&
      Date.parse(ts) - Date.parse(last) < 1_800_000;
    visit.end = ordered.filter(isHeld).at(-1)?.ts ?? last;
  }
  return visits;
}

/** The metrics of visits. @param events custom events to count in place of those of the visits */
export function metricsOf(visits: readonly NaiveVisit[], events?: number) {
  // Whole numbers have exact sums.
  const mean = (each: (visit: NaiveVisit) => number, unit = 1) =>
    visits.length === 0 ? 0 : visits.reduce((sum, visit) => sum + each(visit), 0) / unit / visits.length;
  const millis = ({ start, end }: NaiveVisit) => Date.parse(end) - Date.parse(start);
  const isBounce = ({ lines }: NaiveVisit) =>
    lines.filter(isView).length === 1 && lines.every((line) => isView(line) || line.interactive === false);
  return {
    visits: visits.length,
    bounceRate: mean((visit) => (isBounce(visit) ? 1 : 0)),
    visitDuration: mean(millis, 1_000),
    viewsPerVisit: mean(({ lines }) => lines.filter(isView).length),
    events: events ?? visits.flatMap(({ lines }) => lines).filter((line) => !isView(line)).length,
  };
}

/** The first page view, or the first event of a visit without one. */
export function originOf({ lines }: NaiveVisit): VisitLine | undefined {
  return lines.find(isView) ?? lines[0];
}

export function viewsOf({ lines }: NaiveVisit): VisitLine[] {
  return lines.filter(isView);
}

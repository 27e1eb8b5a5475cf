/** A line of an import, as the tests of metrics draw it. */
export type VisitLine = {
  ts: string;
  type: "pageview" | "event";
  name?: string;
  url: string;
  referrer: string | undefined;
  country: string | undefined;
  visitor: string | undefined;
};

export interface NaiveVisit {
  start: string;
  lines: VisitLine[];
}

const isView = ({ type }: VisitLine) => type === "pageview";

/** The visits of days, one visitor after the other. Lines at one moment must be alike but for their type. */
export function visitsOf(lines: readonly VisitLine[]): NaiveVisit[] {
  const ordered = lines.filter(({ visitor }) => visitor !== undefined).sort((a, b) => (a.ts < b.ts ? -1 : 1));
  const visits: NaiveVisit[] = [];
  for (const line of ordered) {
    const open = visits.find(({ lines: [first, ...rest] }) => {
      const last = rest.at(-1) ?? first;
      const isSame = first?.visitor === line.visitor && first?.ts.slice(0, 10) === line.ts.slice(0, 10);
      return isSame && last !== undefined && Date.parse(line.ts) - Date.parse(last.ts) < 1_800_000;
    });
    if (open) open.lines.push(line);
    else visits.push({ start: line.ts, lines: [line] });
  }
  return visits;
}

/** The metrics of visits. @param events custom events to count in place of those of the visits */
export function metricsOf(visits: readonly NaiveVisit[], events?: number) {
  const mean = (each: (visit: NaiveVisit) => number) =>
    visits.length === 0 ? 0 : visits.reduce((sum, visit) => sum + each(visit), 0) / visits.length;
  const seconds = ({ lines, start }: NaiveVisit) => (Date.parse(lines.at(-1)?.ts ?? start) - Date.parse(start)) / 1_000;
  return {
    visits: visits.length,
    bounceRate: mean(({ lines }) => (lines.length === 1 && lines.every(isView) ? 1 : 0)),
    visitDuration: mean(seconds),
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

import type { AgentDetail } from "../../src/agents/agents.route.js";
import type { Curve } from "../statistics/chart-shape.js";
import { formatCompact, formatCount, formatDollars, formatDuration, formatShare, formatThings } from "../ui/format.js";

type Entry = AgentDetail["series"][number];
type Figures = NonNullable<AgentDetail["figures"]>;

interface FigureLook {
  label: string;
  of(entry: Entry): number;
  format(value: number): string;
  tick(value: number): string;
  /** The list of what it is made of: its filter, and the words of its link. */
  opens(detail: AgentDetail): { filter: { status?: string; longer?: number }; text: string };
}

const sumOf = ({ series }: AgentDetail, name: "traces" | "error" | "timeout") =>
  series.reduce((sum, entry) => sum + entry[name], 0);

const all = (detail: AgentDetail) => ({ filter: {}, text: `Show ${formatThings(sumOf(detail, "traces"), "trace")}` });

function duration(label: string, name: "p50_ms" | "p95_ms" | "p99_ms"): FigureLook {
  return {
    label,
    of: (entry) => entry[name] ?? 0,
    format: formatDuration,
    tick: formatDuration,
    opens: ({ figures }) => {
      const longer = Math.ceil(figures?.[name] ?? 0);
      return { filter: { longer }, text: `Show traces of ${formatDuration(longer)} and longer` };
    },
  };
}

export const figureLooks = {
  traces: { label: "Traces", of: ({ traces }) => traces, format: formatCount, tick: formatCompact, opens: all },
  rate: {
    label: "Failure rate",
    of: ({ failure_rate: rate }) => rate ?? 0,
    format: formatShare,
    tick: formatShare,
    opens: (detail) => {
      const failed = sumOf(detail, "error") + sumOf(detail, "timeout");
      return { filter: { status: "failed" }, text: `Show ${formatThings(failed, "failed trace")}` };
    },
  },
  p50: duration("p50", "p50_ms"),
  p95: duration("p95", "p95_ms"),
  p99: duration("p99", "p99_ms"),
  tokens: {
    label: "Tokens",
    of: ({ input_tokens, output_tokens }) => input_tokens + output_tokens,
    format: formatCount,
    tick: formatCompact,
    opens: all,
  },
  cost: {
    label: "Cost",
    of: ({ cost_usd }) => Number(cost_usd ?? 0),
    format: formatDollars,
    tick: formatDollars,
    opens: all,
  },
} as const satisfies Record<string, FigureLook>;

export type FigureName = keyof typeof figureLooks;
export const figureNames = Object.keys(figureLooks) as FigureName[];

/** A figure of the whole range, as the API has it. */
export function totalOf(detail: AgentDetail, name: FigureName): string {
  const { figures, tokens } = detail;
  const share = (value: number | null | undefined, format: (value: number) => string) =>
    value === null || value === undefined ? "–" : format(value);
  const of = { p50: "p50_ms", p95: "p95_ms", p99: "p99_ms" } as const satisfies Record<string, keyof Figures>;
  if (name === "traces") return formatCount(sumOf(detail, "traces"));
  if (name === "rate") return share(figures?.failure_rate, formatShare);
  if (name === "tokens") return formatCompact((tokens?.input_tokens ?? 0) + (tokens?.output_tokens ?? 0));
  if (name === "cost") return tokens?.cost_usd ? formatDollars(Number(tokens.cost_usd)) : "No price";
  return share(figures?.[of[name]], formatDuration);
}

export function seriesCurve({ series, interval }: AgentDetail, figure: FigureName): Curve {
  return {
    times: series.map(({ at }) => (interval === "hour" ? at.slice(0, 13) : at.slice(0, 10))),
    values: series.map(figureLooks[figure].of),
    isUnfinished: true,
    before: undefined,
    beforeTimes: [],
    least: 0,
  };
}

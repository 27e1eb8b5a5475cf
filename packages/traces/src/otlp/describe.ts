import { titleOf } from "./content.js";
import type { MappedSpan } from "./map-request.js";

/** Where the name of a trace comes from: the lowest wins, of several the first by start and id. */
export const nameRanks = { root: 0, localRoot: 1, asked: 2, genericRoot: 3, genericLocalRoot: 4, other: 5 } as const;
const agentRanks = { root: 0, localRoot: 1, other: 2 } as const;

/** Digits of an origin: its rank, the span's start in microseconds, and the span's id. */
const originDigits = 2 + 16 + 16;

type Placed = Pick<MappedSpan, "startedAt" | "spanId">;

/** Where a name or an agent comes from, in hexadecimal: of two texts the smaller one wins, in any order of arrival. */
export function originOf(rank: number, { startedAt, spanId }: Placed): string {
  const micros = BigInt(Date.parse(startedAt)) * 1_000n + BigInt(startedAt.slice(23, 26));
  return rank.toString(16).padStart(2, "0") + micros.toString(16).padStart(16, "0") + spanId;
}

export interface TraceName {
  origin: string;
  text: string;
}

/** The bytes of inputs that a request may still read for the words of users. */
export interface AskBudget {
  bytes: number;
}

/**
 * The name that spans give their trace: of the first root or local root with a name of its own, else the first words of the
 * user to an agent or a model, else of the first root or span.
 * @param stored the origin of the present name, if there is one
 * @returns undefined where that one wins
 */
export function nameOf(spans: readonly MappedSpan[], budget: AskBudget, stored?: string): TraceName | undefined {
  const [first, rank] = firstOf(spans, rankOfName) ?? [];
  if (!first || rank === undefined) return undefined;
  if (rank > nameRanks.asked) {
    const asked = spans.filter(({ kind, input }) => input !== null && (kind === "agent" || kind === "model"));
    for (const span of asked.sort((a, b) => (isEarlier(a, b) ? -1 : 1))) {
      const origin = originOf(nameRanks.asked, span);
      if (stored !== undefined && stored <= origin) break;
      budget.bytes -= span.input?.length ?? 0;
      if (budget.bytes < 0) break;
      const text = titleOf(String(span.input));
      if (text !== undefined) return { origin, text };
    }
  }
  const origin = originOf(rank, first);
  return stored !== undefined && stored <= origin ? undefined : { origin, text: first.title ?? first.name };
}

/** The agent that spans tell, its origin before it, in hexadecimal: that of a root, else the first one. */
export function toldAgentOf(spans: readonly MappedSpan[]): string | null {
  const [first, rank] = firstOf(spans, rankOfAgent) ?? [];
  if (!first || rank === undefined) return null;
  return originOf(rank, first) + Buffer.from(first.toldAgent ?? "").toString("hex");
}

/** @param told as {@link toldAgentOf} has it */
export function agentIn(told: string): { agentId: string; isOfRoot: boolean } {
  const agentId = Buffer.from(told.slice(originDigits), "hex").toString();
  return { agentId, isOfRoot: told < "02" };
}

/** The agent in a column `told` of such bytes. */
export const agentInSql = (told: string) => `convert_from(substr(${told}, ${originDigits / 2 + 1}), 'UTF8')`;

function rankOfName({ parentSpanId, isLocalRoot, title }: MappedSpan): number {
  if (parentSpanId === null) return title === null ? nameRanks.genericRoot : nameRanks.root;
  if (!isLocalRoot) return nameRanks.other;
  return title === null ? nameRanks.genericLocalRoot : nameRanks.localRoot;
}

function rankOfAgent({ parentSpanId, isLocalRoot, toldAgent }: MappedSpan): number | undefined {
  if (toldAgent === null) return undefined;
  if (parentSpanId === null) return agentRanks.root;
  return isLocalRoot ? agentRanks.localRoot : agentRanks.other;
}

function firstOf(
  spans: readonly MappedSpan[],
  rankOf: (span: MappedSpan) => number | undefined,
): [MappedSpan, number] | undefined {
  let first: [MappedSpan, number] | undefined;
  for (const span of spans) {
    const rank = rankOf(span);
    if (rank === undefined || (first && rank > first[1])) continue;
    if (!first || rank < first[1] || isEarlier(span, first[0])) first = [span, rank];
  }
  return first;
}

function isEarlier(a: Placed, b: Placed): boolean {
  return a.startedAt === b.startedAt ? a.spanId < b.spanId : a.startedAt < b.startedAt;
}

import type { TraceScores } from "../../src/scores/scores.route.js";
import { useQuery } from "../data/query.js";

export type Score = TraceScores["scores"][number];

export interface Scored {
  traceId: string;
  /** Null for the whole trace. */
  spanId: string | null;
  name: string;
}

/** The scores of a trace or span, its own alone; undefined until they are known. */
export function useScores({ traceId, spanId }: Omit<Scored, "name">): readonly Score[] | undefined {
  const { data } = useQuery<TraceScores>(scoresPath(traceId), { staleMs: 30_000 });
  return data?.scores.filter(({ span_id }) => span_id === spanId);
}

export const scoresPath = (traceId: string) => `/traces/${traceId}/scores`;

export function ScoreValue({ value }: { value: Score["value"] }) {
  if (typeof value === "number") return <>{value}</>;
  return <bdi>{typeof value === "boolean" ? `Thumbs ${value ? "up" : "down"}` : value}</bdi>;
}

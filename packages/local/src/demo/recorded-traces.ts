import { readFile } from "node:fs/promises";
import type { DemoTrace } from "./trace-draft.js";

interface Recording {
  trace: { agent_id: string; name: string; started_at: string; metadata: object | null };
  spans: {
    name: string;
    started_at: string;
    ended_at: string | null;
    input?: unknown;
    output?: unknown;
    error?: string | null;
    parent: number | null;
  }[];
  final: { status: DemoTrace["status"]; ended_at: string };
}

/** Reads a file of recordings. */
export async function readRecordings(file: URL): Promise<DemoTrace[]> {
  const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
  return lines.map((line) => {
    const { trace, spans, final } = JSON.parse(line) as Recording;
    const start = Date.parse(trace.started_at);
    const offset = (time: string) => Date.parse(time) - start;
    return {
      agentId: trace.agent_id,
      name: trace.name,
      status: final.status,
      metadata: trace.metadata,
      endMs: offset(final.ended_at),
      spans: spans.map(({ started_at, ended_at, ...span }) => ({
        ...span,
        startMs: offset(started_at),
        endMs: ended_at === null ? null : offset(ended_at),
      })),
    };
  });
}

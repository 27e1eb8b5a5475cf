import { type ListedTrace, readNotes } from "@waymark/traces";
import type pg from "pg";
import type { TraceRow } from "./traces.schema.js";

/** Adds errors and mails to several lists of traces by one statement. */
export async function addNotes(
  pool: pg.Pool,
  accountId: string,
  lists: readonly (readonly ListedTrace[])[],
): Promise<TraceRow[][]> {
  const notes = await readNotes(pool, accountId, [...new Set(lists.flat().map(({ id }) => id))]);
  const byId = new Map(notes.map((note) => [note.id, note]));
  const toRow = (trace: ListedTrace): TraceRow => {
    const note = byId.get(trace.id);
    return { ...trace, error: note?.error ?? null, isMailed: note?.is_mailed ?? false };
  };
  return lists.map((traces) => traces.map(toRow));
}

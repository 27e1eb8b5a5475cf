import { addListParts, fewWaiting, type ListedTrace, type ListPartName, oneByOne, readNotes } from "@waymark/traces";
import type pg from "pg";
import type { AppDeps } from "../app-deps.js";
import { shareStatements } from "./share-statements.js";

/** A row of the list; a list with `include` has only those parts. */
export type TraceRow = Awaited<ReturnType<typeof addListParts>>[number] & { error: string | null; isMailed: boolean };

const usualParts = ["labels", "usage", "preview"] as const;

interface Lists {
  accountId: string;
  lists: readonly (readonly ListedTrace[])[];
  /** The usual ones if not told. */
  parts?: readonly ListPartName[] | undefined;
}

/** The rows of lists of traces: with errors, mails and parts. */
export type ReadRows = (lists: Lists) => Promise<TraceRow[][]>;

export function createRowReader({ pool, registry }: AppDeps): ReadRows {
  return oneByOne({ pool, createGroupCommit: shareStatements(registry) }, "list-rows", addToLists, fewWaiting);
}

async function addToLists(pool: pg.Pool, { accountId, lists, parts = usualParts }: Lists): Promise<TraceRow[][]> {
  const traces = [...new Map(lists.flat().map((trace) => [trace.id, trace])).values()];
  const notes = await readNotes(
    pool,
    accountId,
    traces.map(({ id }) => id),
  );
  const noteOf = new Map(notes.map((note) => [note.id, note]));
  const rows = await addListParts(pool, { accountId, traces, parts });
  const byId = new Map(
    rows.map((row): [string, TraceRow] => {
      const note = noteOf.get(row.id);
      return [row.id, { ...row, error: note?.error ?? null, isMailed: note?.is_mailed ?? false }];
    }),
  );
  return lists.map((list) => list.flatMap(({ id }) => byId.get(id) ?? []));
}

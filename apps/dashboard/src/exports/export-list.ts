import { setTimeout as pause, setImmediate as turn } from "node:timers/promises";
import { AppError } from "@waymark/errors";
import { type Answer, createRefusals, createShares } from "@waymark/service/http";
import { csvType, writeTable } from "@waymark/web-stats/statistics";
import type { Request, Response } from "express";
import type { AppDeps } from "../app-deps.js";
import { viewerOf } from "../session/viewer.js";

interface ListPage<Row, Place> {
  rows: readonly Row[];
  next: Place | null;
}

interface ListToExport<Row, Place> {
  /** The file's name without its ending. */
  name: string;
  columns: readonly string[];
  read(after?: Place): Promise<ListPage<Row, Place>>;
}

/** The count of rows as a row of its own: a spreadsheet shows it in the first cell. */
const formats = {
  ndjson: {
    contentType: "application/x-ndjson; charset=utf-8",
    head: () => "",
    rows: (rows: readonly object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join(""),
    end: (rows: number, endedEarly: string | undefined) => `${JSON.stringify({ rows, endedEarly })}\n`,
  },
  csv: {
    contentType: csvType,
    head: (columns: readonly string[]) => writeTable(columns, []),
    rows: (rows: readonly object[], columns: readonly string[]) => writeTable(columns, rows, false),
    end: (rows: number, endedEarly: string | undefined, columns: readonly string[]) => {
      const says = endedEarly === undefined ? `rows: ${rows}` : `rows: ${rows}; ended early: ${endedEarly}`;
      return writeTable(columns, [{ [columns[0] ?? ""]: says }], false);
    },
  },
} as const;

export const exportFormats = Object.keys(formats) as [keyof typeof formats, ...(keyof typeof formats)[]];

/** Each holds one page in memory until its client takes it. */
const exportLimits = {
  name: "exports",
  total: 16,
  perAccount: 2,
  reason: (most: number) => `At most ${most} exports may be under way`,
};

const maxMs = 900_000;
/** A refused page is asked for again after this time. */
const pauseMs = 1_000;
const maxPauses = 10;
/** Of CSV, 200 rows of long texts hold the event loop for 16 ms. */
const rowsInTurn = 25;

export type AnswerExport = ReturnType<typeof createExports>;

/** Makes answers of whole lists, page by page as the client takes them. Their last line counts the rows. */
export function createExports({
  registry,
  sessions,
  log,
  now,
}: Pick<AppDeps, "registry" | "sessions" | "log" | "now">) {
  const exports = createShares(exportLimits, createRefusals(registry));

  /** Why an export may not go on; pages come over minutes. */
  async function findEnd(request: Request, accountId: string, endMs: number): Promise<string | undefined> {
    if (performance.now() > endMs) return `It took ${maxMs / 60_000} minutes`;
    const viewer = await sessions.find(request.headers.cookie);
    return viewer?.accountId === accountId ? undefined : "The session ended or went to another account";
  }

  return async function answerExport<Row extends object, Place>(
    { name, columns, read }: ListToExport<Row, Place>,
    { format, request, response }: { format: keyof typeof formats; request: Request; response: Response },
  ): Promise<Answer> {
    const { accountId } = viewerOf(response);
    const refusal = exports.take(accountId, 1);
    if (refusal) throw refusal;
    response.once("close", () => exports.give(accountId, 1));
    const { contentType, ...write } = formats[format];
    const endMs = performance.now() + maxMs;
    const first = await read();

    async function* chunks(): AsyncGenerator<string, void, void> {
      let [count, page, endedEarly]: [number, ListPage<Row, Place>, string | undefined] = [0, first, undefined];
      yield write.head(columns);
      for (;;) {
        for (let at = 0; at < page.rows.length; at += rowsInTurn) {
          yield write.rows(page.rows.slice(at, at + rowsInTurn), columns);
          await turn();
        }
        // Sends the headers of a search that finds nothing for long, and notices a client that left.
        yield "";
        count += page.rows.length;
        const after = page.next;
        if (after === null) break;
        try {
          endedEarly = await findEnd(request, accountId, endMs);
          if (endedEarly !== undefined) break;
          page = await readPatiently(() => read(after));
        } catch (error) {
          log.error({ err: error, name }, "an export ended early");
          endedEarly = error instanceof AppError ? error.message : "Waymark could not read on";
          break;
        }
      }
      yield write.end(count, endedEarly, columns);
    }
    const file = `${name}-${now().toISOString().slice(0, 10)}.${format}`;
    const headers = { "Content-Disposition": `attachment; filename="${file}"` };
    return { status: 200, headers, contentType, body: chunks() };
  };
}

async function readPatiently<Page>(read: () => Promise<Page>): Promise<Page> {
  for (let pauses = 0; ; pauses++) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof AppError) || pauses === maxPauses) throw error;
      await pause(pauseMs);
    }
  }
}

import { expect } from "@jest/globals";
import type { ListedTrace } from "@waymark/traces";
import type pg from "pg";
import type { TestAccount } from "../app.fixture.js";

interface Page {
  traces: ListedTrace[];
  next_cursor: string | null;
}

/** Asks for a page. */
export async function list(account: TestAccount, query: Record<string, string | number> = {}): Promise<Page> {
  const answer = await account.get("/api/v1/traces").query(query);
  expect([answer.status, answer.body.fields]).toEqual([200, undefined]);
  return answer.body;
}

/** Reads a list to its end. */
export async function listAll(account: TestAccount, query: Record<string, string | number>): Promise<ListedTrace[]> {
  const traces: ListedTrace[] = [];
  let page = await list(account, query);
  for (let pages = 1; pages < 1_000; pages++) {
    traces.push(...page.traces);
    if (page.next_cursor === null) return traces;
    page = await list(account, { ...query, cursor: page.next_cursor });
  }
  throw new Error("The list does not end");
}

/** The ids, in their order. */
export const ids = (traces: readonly { id: string }[]) => traces.map(({ id }) => id);

/** A time, so many minutes after another. */
export const minute = (n: number) => `2026-06-01T12:${String(n).padStart(2, "0")}:00.000Z`;

/** Traces `run 1`, `run 2` and so on, several with one start. */
export async function insertTraces(pool: pg.Pool, account: TestAccount, count: number): Promise<void> {
  await pool.query(
    `INSERT INTO trace (account_id, id, agent_id, name, status, started_at)
       SELECT $1, gen_random_uuid(), 'agent', 'run ' || n, 'success', '2026-06-01T12:00:00Z'::timestamptz + n / 3 * interval '1 second'
       FROM generate_series(1, $2::int) n`,
    [account.id, count],
  );
}

import { afterAll, expect, it } from "@jest/globals";
import { createAccount, issueKey } from "@waymark/auth";
import { type ApiClient, createWaymark, type Waymark } from "@waymark/client";
import { createPrisma } from "@waymark/database";
import { useDatabase } from "@waymark/testing";
import { openFaultyProxy } from "./faulty-proxy.fixture.js";
import { startService } from "./service.fixture.js";

const database = useDatabase();
const opened: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const close of opened.reverse()) await close();
});

/** What a client believes to have stored: each trace's id with the ids of its spans. */
type Held = Map<string, string[]>;

const now = () => new Date().toISOString();
const span = (name: string) => ({ name, status: "ok", started_at: now(), ended_at: now(), input: { name } }) as const;

const newTrace = (name: string) => ({ agent_id: "proof", name, status: "running", started_at: now() }) as const;

/** A trace of ten single spans. */
async function writeSingles(api: ApiClient, held: Held): Promise<void> {
  const { trace_id } = await api.createTrace(newTrace("singles"));
  const ids: string[] = [];
  for (let n = 0; n < 10; n++) ids.push((await api.addSpan(trace_id, span(`single ${n}`))).span_id);
  await api.finalizeTrace(trace_id, { status: "success", ended_at: now() });
  held.set(trace_id, ids);
}

/** A trace of a batch of so many spans, or of none. */
async function writeBatch(api: ApiClient, held: Held, size: number): Promise<void> {
  const { trace_id } = await api.createTrace({ ...newTrace("batch"), status: "success", ended_at: now() });
  const batch = Array.from({ length: size }, (_, n) => span(`batch ${n}`));
  held.set(trace_id, size === 0 ? [] : (await api.addSpans(trace_id, batch)).span_ids);
}

/** A trace of twenty spans, recorded in the background. */
async function writeByHandles(waymark: Waymark, held: Held): Promise<void> {
  const trace = waymark.startTrace({ agent_id: "proof", name: "handles" });
  const ids: Promise<string | undefined>[] = [];
  await trace.run("outer", async (outer) => {
    ids.push(outer.id);
    for (let n = 0; n < 19; n++) await outer.run(`inner ${n}`, (inner) => void ids.push(inner.id));
  });
  expect(await trace.end("success")).toBe(true);
  held.set((await trace.id) ?? "", (await Promise.all(ids)).map(String));
}

it("5,000 traces and 50,000 spans are stored and counted once while every third answer is lost after the commit", async () => {
  const service = await startService({ databaseUrl: database.url });
  opened.push(() => service.end("SIGKILL"));
  const proxy = await openFaultyProxy(service.port, (count) => (count % 3 === 0 ? "drop-answer" : "pass"));
  opened.push(proxy.close);
  const prisma = createPrisma(database.pool);
  const account = await createAccount(prisma, { email: "proof@example.com", plan: "pro" });
  const { key } = await issueKey(prisma, { accountId: account.id, service: "trace", name: "test" });
  const losses: Error[] = [];
  const waymark = createWaymark({
    key,
    url: proxy.url,
    retry: { baseMs: 10, retries: 50 },
    maxConcurrentRequests: 32,
    onError: (error) => losses.push(error),
  });

  const held: Held = new Map();
  let left = 5_000;
  const worker = async () => {
    while (left-- > 0) {
      // 250 traces of 20 spans by handles, 100 of 10 single ones, 1,000 of a batch of 44.
      if (left % 20 === 0) await writeByHandles(waymark, held);
      else if (left % 50 === 1) await writeSingles(waymark.api, held);
      else await writeBatch(waymark.api, held, left % 5 === 2 ? 44 : 0);
    }
  };
  await Promise.all(Array.from({ length: 48 }, worker));
  await waymark.shutdown();
  const { requests, dropped } = proxy.counts;

  expect(losses).toEqual([]);
  expect(dropped).toBe(Math.floor(requests / 3));
  const { rows } = await database.pool.query(
    `SELECT (SELECT traces FROM trace_usage WHERE account_id = $1) AS counted,
            (SELECT count(*)::int FROM trace WHERE account_id = $1 AND status = 'success') AS finished`,
    [account.id],
  );
  expect(rows).toEqual([{ counted: 5_000, finished: 5_000 }]);
  const traces = await database.pool.query("SELECT id FROM trace WHERE account_id = $1 ORDER BY id", [account.id]);
  expect(traces.rows.map(({ id }) => id)).toEqual([...held.keys()].sort());
  const spans = await database.pool.query(
    "SELECT trace_id || ' ' || id AS id FROM span WHERE account_id = $1 ORDER BY 1",
    [account.id],
  );
  const heldSpans = [...held].flatMap(([traceId, ids]) => ids.map((id) => `${traceId} ${id}`)).sort();
  expect(heldSpans).toHaveLength(50_000);
  expect(spans.rows.map(({ id }) => id)).toEqual(heldSpans);
}, 120_000);

import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { afterAll, expect, it } from "@jest/globals";
import { createAccount, issueKey } from "@waymark/accounts";
import { type ApiClient, createWaymark, type Waymark } from "@waymark/client";
import { createPrisma } from "@waymark/database/prisma";
import { amount, useDatabase } from "@waymark/testing";
import { startService } from "../service.fixture.js";
import { openFaultyProxy } from "./faulty-proxy.fixture.js";

const database = useDatabase();
const opened: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const close of opened.reverse()) await close();
});

/** The ids of stored traces and their spans, as a client knows them. */
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
  await trace.end("success");
  held.set((await trace.id) ?? "", (await Promise.all(ids)).map(String));
}

/** A client with its own account, and its contents. */
async function openClient(url: string) {
  const prisma = createPrisma(database.pool);
  const { id: accountId } = await createAccount(prisma, { email: `${randomUUID()}@example.com`, plan: "pro" });
  const { key } = await issueKey(database.pool, { accountId, service: "trace", name: "test" });
  const losses: Error[] = [];
  // No limit of attempts: the length of a restart depends on the machine.
  const retry = { baseMs: 10, retries: 1_000 };
  const onError = (error: Error) => void losses.push(error);
  const waymark = createWaymark({
    key,
    url,
    retry,
    maxConcurrentRequests: 32,
    timeoutMs: 110_000,
    shutdownTimeoutMs: 110_000,
    onError,
  });
  return { accountId, waymark, losses, held: new Map() as Held };
}

type Client = Awaited<ReturnType<typeof openClient>>;

/** Writes so many traces with ten times as many spans: of a hundred, 5 by handles, 2 of single spans, 20 of a batch. */
async function write({ waymark, held }: Client, traces: number): Promise<void> {
  let left = traces;
  const worker = async () => {
    while (left-- > 0) {
      if (left % 20 === 0) await writeByHandles(waymark, held);
      else if (left % 50 === 1) await writeSingles(waymark.api, held);
      else await writeBatch(waymark.api, held, left % 5 === 2 ? 44 : 0);
    }
  };
  await Promise.all(Array.from({ length: 48 }, worker));
  await waymark.shutdown();
}

/** Exactly the traces of the client are stored, and each counted once. */
async function expectExactly({ accountId, held, losses }: Client, traces: number): Promise<void> {
  expect(losses).toEqual([]);
  const { rows } = await database.pool.query(
    `SELECT (SELECT traces FROM trace_usage WHERE account_id = $1) AS counted,
            (SELECT count(*)::int FROM trace WHERE account_id = $1 AND status = 'success') AS finished`,
    [accountId],
  );
  expect(rows).toEqual([{ counted: traces, finished: traces }]);
  const stored = await database.pool.query("SELECT id FROM trace WHERE account_id = $1 ORDER BY id", [accountId]);
  expect(stored.rows.map(({ id }) => id)).toEqual([...held.keys()].sort());
  const spans = await database.pool.query(
    "SELECT trace_id || ' ' || id AS id FROM span WHERE account_id = $1 ORDER BY 1",
    [accountId],
  );
  const heldSpans = [...held].flatMap(([traceId, ids]) => ids.map((id) => `${traceId} ${id}`)).sort();
  expect(heldSpans).toHaveLength(10 * traces);
  expect(spans.rows.map(({ id }) => id)).toEqual(heldSpans);
}

it("traces and spans are stored and counted once while every third answer is lost after the commit", async () => {
  const service = await startService({ databaseUrl: database.url });
  opened.push(() => service.end("SIGKILL"));
  const proxy = await openFaultyProxy(service.port, (count) => (count % 3 === 0 ? "drop-answer" : "pass"));
  opened.push(proxy.close);
  const client = await openClient(proxy.url);
  const traces = amount(300, 1_500);
  await write(client, traces);
  expect(proxy.counts.dropped).toBe(Math.floor(proxy.counts.requests / 3));
  await expectExactly(client, traces);
});

it("traces and spans are stored and counted once while the service is killed again and again", async () => {
  let service = await startService({ databaseUrl: database.url });
  opened.push(() => service.end("SIGKILL"));
  const { port } = service;
  const client = await openClient(`http://127.0.0.1:${port}`);
  let isOver = false;
  const traces = amount(200, 500);
  const written = write(client, traces).finally(() => {
    isOver = true;
  });
  // By stored rows, not by time: each kill meets requests under way.
  for (let kills = 1; kills <= amount(2, 4) && !isOver; kills++) {
    while (!isOver && client.held.size < (traces / 5) * kills) await setTimeout(5);
    await service.end("SIGKILL");
    service = await startService({ databaseUrl: database.url, env: { TRACE_API_PORT: String(port) } });
  }
  await written;
  await expectExactly(client, traces);
});

import { createAccount, issueKey } from "@waymark/accounts";
import { createUuidV7 } from "@waymark/database";
import { createPrisma } from "@waymark/database/prisma";
import type pg from "pg";
import type { LoadRequest } from "../load/generate.js";
import { newestRuns, spansPerRequest } from "./bulk-bodies.js";

export interface BenchAccount {
  id: string;
  key: string;
  traces: readonly string[];
}

export const operations = ["create", "span", "finalize", "read"] as const;

/** Many spans in one request: the batch call, and OTLP in both encodings. */
export const bulkOperations = ["batch", "otlp-protobuf", "otlp-json"] as const;

export type Operation = (typeof operations)[number] | (typeof bulkOperations)[number];

export function isBulk(operation: Operation): boolean {
  return bulkOperations.some((each) => each === operation);
}

const spansToRead = 50;
/** More than connections, so no two change one trace at a time. */
const tracesPerAccount = 300;

const metadata = { model: "gpt-4o", session: "5f0c7f6e", tags: ["support", "billing"], temperature: 0.2 };
const traceBody = {
  agent_id: "support-agent",
  name: "Answer ticket 1042: where is my refund?",
  status: "running",
  started_at: "2026-11-21T09:00:00.000Z",
  metadata,
};
const spanBody = {
  name: "call the model",
  status: "ok",
  started_at: "2026-11-21T09:00:01.250Z",
  ended_at: "2026-11-21T09:00:02.750Z",
  input: {
    messages: [
      { role: "system", content: "You answer tickets of a web shop. Be short." },
      { role: "user", content: 'Where is my refund for order 1042? It says "pending".' },
    ],
  },
  output: { content: "Your refund was sent on Monday and takes three working days.", usage: { input: 61, output: 14 } },
};
const batchBody = JSON.stringify({
  spans: Array.from({ length: spansPerRequest }, (_, n) => ({
    ref: `step ${n}`,
    ...(n > 0 && { parent_ref: `step ${(n - 1) >> 1}` }),
    ...spanBody,
  })),
});
const finalBody = { status: "success", ended_at: "2026-11-21T09:00:04.250Z" };

const ours = { createAccount, issueKey, createPrisma };

/** Makes Pro accounts, each with a key and traces; the first trace has the spans to read. */
export async function makeAccounts(pool: pg.Pool, count: number, makers = ours): Promise<BenchAccount[]> {
  const { createAccount, issueKey } = makers;
  const prisma = makers.createPrisma(pool);
  const uuid = createUuidV7();
  const accounts: BenchAccount[] = [];
  for (let n = 0; n < count; n++) {
    const { id } = await createAccount(prisma, { email: `bench-${n}@example.com`, plan: "pro" });
    const { key } = await issueKey(pool, { accountId: id, service: "trace", name: "bench" });
    const traces = Array.from({ length: tracesPerAccount }, uuid);
    await pool.query(
      `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, metadata)
       SELECT $1, id, 'support-agent', 'A run', 'running', now(), $3 FROM unnest($2::uuid[]) AS t (id)`,
      [id, traces, JSON.stringify(metadata)],
    );
    await pool.query(
      `INSERT INTO span (account_id, trace_id, id, name, status, started_at, ended_at, input, output)
       SELECT $1, $2, id, $4, $5, $6, $7, $8, $9 FROM unnest($3::uuid[]) AS s (id)`,
      [
        id,
        traces[0],
        Array.from({ length: spansToRead }, uuid),
        spanBody.name,
        spanBody.status,
        spanBody.started_at,
        spanBody.ended_at,
        JSON.stringify(spanBody.input),
        JSON.stringify(spanBody.output),
      ],
    );
    accounts.push({ id, key, traces });
  }
  await pool.query("VACUUM ANALYZE");
  return accounts;
}

/** The requests of a connection: each starts at another account and changes its own traces. */
export function requestsOf(
  operation: Operation,
  accounts: readonly BenchAccount[],
  connection: number,
  connections: number,
): LoadRequest[] {
  const rotated = accounts.map((_, n) => accounts[(n + connection) % accounts.length] ?? missing());
  // Trace 0 is for reading: it must keep its 50 spans.
  const ownTraces = Array.from({ length: Math.ceil(60 / accounts.length) }, (_, n) => 1 + n * connections + connection);
  return ownTraces.flatMap((place) => rotated.map((account) => requestOf(operation, account, place)));
}

function requestOf(operation: Operation, account: BenchAccount, place: number): LoadRequest {
  const headers = { Authorization: `Bearer ${account.key}`, "Content-Type": "application/json" };
  const trace = account.traces[1 + (place % (tracesPerAccount - 1))];
  const path = "/api/v1/traces";
  switch (operation) {
    case "create":
      return { method: "POST", path, headers, body: JSON.stringify(traceBody) };
    case "span":
      return { method: "POST", path: `${path}/${trace}/spans`, headers, body: JSON.stringify(spanBody) };
    case "finalize":
      return { method: "PATCH", path: `${path}/${trace}`, headers, body: JSON.stringify(finalBody) };
    case "read":
      return { method: "GET", path: `${path}/${account.traces[0]}`, headers: { Authorization: headers.Authorization } };
    case "batch":
      return { method: "POST", path: `${path}/${trace}/spans/batch`, headers, body: batchBody };
    case "otlp-protobuf":
      headers["Content-Type"] = "application/x-protobuf";
      return { method: "POST", path: "/v1/traces", headers, body: () => newestRuns("protobuf") };
    case "otlp-json":
      return { method: "POST", path: "/v1/traces", headers, body: () => newestRuns("json") };
  }
}

function missing(): never {
  throw new Error("There are no accounts");
}

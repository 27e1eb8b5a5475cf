import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { hashApiKey } from "@waymark/auth";
import { createPool, createUuidV7 } from "@waymark/database";
import { createPrisma, Prisma } from "@waymark/database/prisma";
import express, { type Request } from "express";

/**
 * The same service with plain Prisma: each handler looks up the key, checks and creates, one query after the other. Its
 * monthly limit is inexact under concurrency, and it validates nothing.
 */
const pool = createPool({
  connectionString: process.argv[2] ?? "",
  maxConnections: 10,
  applicationName: "orm",
  statementTimeoutMs: 10_000,
});
const prisma = createPrisma(pool);
const uuid = createUuidV7();
const app = express();
app.use(express.json({ limit: "4mb" }));

async function accountOf(request: Request) {
  const token = request.headers.authorization?.replace("Bearer ", "") ?? "";
  const key = await prisma.apiKey.findUnique({
    where: { hash: new Uint8Array(hashApiKey(token)) },
    include: { account: true },
  });
  if (!key || key.revokedAt) throw new Error("Invalid API key");
  return key.account;
}

app.post("/api/v1/traces", async (request, response) => {
  const { id: accountId, plan } = await accountOf(request);
  const now = new Date();
  const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1));
  const usage = await prisma.traceUsage.findUnique({ where: { accountId_month: { accountId, month } } });
  if ((usage?.traces ?? 0) >= (plan === "pro" ? 50_000 : 1_000)) {
    response.sendStatus(429);
    return;
  }
  const { agent_id: agentId, name, status, started_at, ended_at, metadata } = request.body;
  await prisma.agent.upsert({
    where: { accountId_id: { accountId, id: agentId } },
    create: { accountId, id: agentId },
    update: {},
  });
  const startedAt = new Date(started_at);
  const endedAt = ended_at ? new Date(ended_at) : null;
  const trace = await prisma.trace.create({
    data: { accountId, id: uuid(), agentId, name, status, startedAt, endedAt, metadata: metadata ?? Prisma.DbNull },
  });
  await prisma.traceUsage.upsert({
    where: { accountId_month: { accountId, month } },
    create: { accountId, month, traces: 1 },
    update: { traces: { increment: 1 } },
  });
  response.status(201).json({ trace_id: trace.id });
});

app.post("/api/v1/traces/:trace_id/spans", async (request, response) => {
  const { id: accountId } = await accountOf(request);
  const trace = await prisma.trace.findFirst({ where: { accountId, id: request.params.trace_id } });
  if (!trace) {
    response.sendStatus(404);
    return;
  }
  const span = await prisma.span.create({ data: spanOf(trace, uuid(), request.body) });
  response.status(201).json({ span_id: span.id });
});

app.post("/api/v1/traces/:trace_id/spans/batch", async (request, response) => {
  const { id: accountId } = await accountOf(request);
  const trace = await prisma.trace.findFirst({ where: { accountId, id: request.params.trace_id } });
  if (!trace) {
    response.sendStatus(404);
    return;
  }
  const bodies: (SpanBody & { ref?: string; parent_ref?: string })[] = request.body.spans;
  const idOf = new Map(bodies.map(({ ref }) => [ref, uuid()]));
  const data = bodies.map((body) =>
    spanOf(trace, idOf.get(body.ref) ?? uuid(), { ...body, parent_span_id: idOf.get(body.parent_ref) }),
  );
  await prisma.span.createMany({ data });
  response.status(201).json({ span_ids: data.map(({ id }) => id) });
});

interface SpanBody {
  name: string;
  status: string;
  started_at: string;
  ended_at?: string;
  input?: Prisma.InputJsonValue;
  output?: Prisma.InputJsonValue;
  error?: string;
  parent_span_id?: string | undefined;
}

function spanOf(trace: { accountId: string; id: string }, id: string, body: SpanBody) {
  return {
    accountId: trace.accountId,
    traceId: trace.id,
    id,
    name: body.name,
    status: body.status,
    startedAt: new Date(body.started_at),
    endedAt: body.ended_at ? new Date(body.ended_at) : null,
    input: body.input ?? Prisma.DbNull,
    output: body.output ?? Prisma.DbNull,
    error: body.error ?? null,
    parentSpanId: body.parent_span_id ?? null,
  };
}

app.patch("/api/v1/traces/:trace_id", async (request, response) => {
  const { id: accountId } = await accountOf(request);
  const id = request.params.trace_id;
  const trace = await prisma.trace.findFirst({ where: { accountId, id } });
  if (!trace) {
    response.sendStatus(404);
    return;
  }
  const { status, ended_at } = request.body;
  await prisma.trace.update({
    where: { accountId_id: { accountId, id } },
    data: { status, endedAt: ended_at ? new Date(ended_at) : null },
  });
  response.json({ ok: true });
});

app.get("/api/v1/traces/:trace_id", async (request, response) => {
  const { id: accountId } = await accountOf(request);
  const where = { accountId, id: request.params.trace_id };
  // JSON has no BigInt.
  const trace = await prisma.trace.findFirst({ where, omit: { statusTxid: true } });
  if (!trace) {
    response.sendStatus(404);
    return;
  }
  const spans = await prisma.span.findMany({
    where: { accountId, traceId: trace.id },
    omit: { resourceId: true, scopeId: true },
    orderBy: { id: "asc" },
  });
  response.json({ ...trace, spans });
});

const server = createServer(app).listen(0, "127.0.0.1", () => {
  console.log(JSON.stringify({ msg: "listening", port: (server.address() as AddressInfo).port }));
});

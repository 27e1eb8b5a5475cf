import { randomBytes, randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { afterAll, expect, it } from "@jest/globals";
import { createAccount, issueKey } from "@waymark/accounts";
import { createPrisma } from "@waymark/database/prisma";
import { amount, useDatabase } from "@waymark/testing";
import { type ServiceProcess, startService } from "../service.fixture.js";
import { deliver } from "./clients.fixture.js";

const database = useDatabase();
let service: ServiceProcess | undefined;
afterAll(() => service?.end("SIGKILL"));

const traces = amount(120, 400);
const kills = amount(3, 8);
const spansOfTrace = 20;
const hex = (bytes: number) => randomBytes(bytes).toString("hex");

/** The spans of a failed trace, the root last, over two requests. */
function requestsOfRun(): string[] {
  const traceId = hex(16);
  const rootId = hex(8);
  const spans = Array.from({ length: spansOfTrace }, (_, n) => {
    const isRoot = n === spansOfTrace - 1;
    return {
      traceId,
      spanId: isRoot ? rootId : hex(8),
      ...(!isRoot && { parentSpanId: rootId }),
      name: isRoot ? "run" : "step",
      startTimeUnixNano: "1795271640000000000",
      endTimeUnixNano: "1795271641000000000",
      ...(isRoot && { status: { code: 2, message: "It broke" } }),
    };
  });
  return [spans.slice(0, spansOfTrace / 2), spans.slice(spansOfTrace / 2)].map((part) =>
    JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: part }] }] }),
  );
}

it("stores and counts each span once, with one alert per trace, when exporters repeat requests to a killed service", async () => {
  const prisma = createPrisma(database.pool);
  const { id: accountId } = await createAccount(prisma, { email: `${randomUUID()}@example.com`, plan: "pro" });
  const { key } = await issueKey(database.pool, { accountId, service: "trace", name: "test" });
  service = await startService({ databaseUrl: database.url });
  const { port } = service;
  const requests = Array.from({ length: traces }, requestsOfRun).flat();
  const exporters = Array.from({ length: 16 }, async () => {
    for (let body = requests.pop(); body !== undefined; body = requests.pop()) {
      await deliver(`http://127.0.0.1:${port}/v1/traces`, key, body);
    }
  });
  const all = requests.length + exporters.length;
  // By requests, not by time: each kill meets some under way.
  for (let kill = 1; kill <= kills; kill++) {
    while (requests.length > all - (all * kill) / (kills + 1)) await setTimeout(5);
    await service.end("SIGKILL");
    service = await startService({ databaseUrl: database.url, env: { TRACE_API_PORT: String(port) } });
  }
  await Promise.all(exporters);
  const { rows } = await database.pool.query(
    `SELECT (SELECT traces FROM trace_usage WHERE account_id = $1) AS counted,
            (SELECT count(*)::int FROM trace WHERE account_id = $1 AND status = 'error' AND name = 'run') AS failed,
            (SELECT count(*)::int FROM span WHERE account_id = $1) AS spans,
            (SELECT count(DISTINCT trace_id)::int FROM alert WHERE account_id = $1) AS alerting,
            (SELECT count(*)::int FROM alert WHERE account_id = $1) AS alerts`,
    [accountId],
  );
  expect(rows).toEqual([
    { counted: traces, failed: traces, spans: traces * spansOfTrace, alerting: traces, alerts: traces },
  ]);
});

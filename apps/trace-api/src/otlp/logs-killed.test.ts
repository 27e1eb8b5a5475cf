import { randomBytes, randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { afterAll, expect, it } from "@jest/globals";
import { createAccount, issueKey } from "@waymark/accounts";
import { createPrisma } from "@waymark/database/prisma";
import { amount, useDatabase } from "@waymark/testing";
import { type ServiceProcess, startService } from "../service.fixture.js";
import { deliver } from "./clients.fixture.js";
import { keyValues, logRecord, logsOf } from "./otlp.fixture.js";

const database = useDatabase();
let instances: ServiceProcess[] = [];
afterAll(() => Promise.all(instances.map((instance) => instance.end("SIGKILL"))));

const runs = amount(40, 200);
const kills = amount(1, 6);
const start = 1_780_315_200_000_000_000n;

interface StoredRun {
  name: string;
  spans: { input: unknown; output: unknown }[];
  usage: { input_tokens: number; output_tokens: number; cost_usd: string };
}

/** A run of one model call: its span has the question, its log records the answer, the tokens and the cost. */
function makeRun(n: number) {
  const ids = { traceId: randomBytes(16).toString("hex"), spanId: randomBytes(8).toString("hex") };
  const record = (place: number, members: object) =>
    logRecord({ ...ids, timeUnixNano: String(start + BigInt(n * 10 + place) * 1_000_000n), ...members });
  const usage = {
    "gen_ai.request.model": "nobody's",
    "gen_ai.usage.input_tokens": 100 + n,
    "gen_ai.usage.output_tokens": n,
    "gen_ai.usage.cost": (1_000 + n) / 1_000_000,
  };
  const span = {
    ...ids,
    name: `run ${n}`,
    startTimeUnixNano: String(start + BigInt(n) * 1_000_000_000n),
    endTimeUnixNano: String(start + BigInt(n) * 1_000_000_000n + 5n),
    attributes: keyValues({ "input.value": `question ${n}` }),
  };
  const asked = (path: string, body: object) => ({ path, body: JSON.stringify(body) });
  const requests = [
    asked(
      "/v1/logs",
      logsOf([record(0, { eventName: "gen_ai.choice", body: { message: { content: `answer ${n}` } } })]),
    ),
    asked("/v1/traces", { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] }),
    asked(
      "/v1/logs",
      logsOf([record(1, { eventName: "gen_ai.client.inference.operation.details", attributes: usage })]),
    ),
  ];
  // Each of the three comes first, in the middle and last.
  return [...requests.slice(n % 3), ...requests.slice(0, n % 3)];
}

it("completes each span once from what two instances get twice, killed between its log records and the span", async () => {
  const prisma = createPrisma(database.pool);
  const { id: accountId } = await createAccount(prisma, { email: `${randomUUID()}@example.com`, plan: "pro" });
  const { key } = await issueKey(database.pool, { accountId, service: "trace", name: "test" });
  const startAt = (port = "0") => startService({ databaseUrl: database.url, env: { TRACE_API_PORT: port } });
  instances = await Promise.all([startAt(), startAt()]);
  const urls = instances.map(({ port }) => `http://127.0.0.1:${port}`);
  const all = Array.from({ length: runs }, (_, n) => makeRun(n));
  const restart = async (at: number) => {
    const killed = instances[at];
    await killed?.end("SIGKILL");
    instances[at] = await startAt(String(killed?.port));
  };
  for (const turn of [0, 1, 2]) {
    const requests = all.flatMap((run) => run[turn] ?? []);
    const waiting = requests.flatMap((request, n) => urls.map((_, at) => ({ ...request, at: (at + n) % 2 })));
    const total = waiting.length;
    const exporters = Array.from({ length: 8 }, async () => {
      for (let next = waiting.pop(); next; next = waiting.pop()) {
        await deliver(`${urls[next.at]}${next.path}`, key, next.body);
      }
    });
    // By requests, not by time: each kill meets some under way.
    for (let kill = 1; kill <= kills; kill++) {
      while (waiting.length > total - (total * kill) / (kills + 1)) await setTimeout(5);
      await restart((turn + kill) % 2);
    }
    await Promise.all(exporters);
    if (turn < 2) await restart(turn);
  }
  const headers = { Authorization: `Bearer ${key}` };
  const { rows } = await database.pool.query("SELECT id FROM trace WHERE account_id = $1 ORDER BY started_at", [
    accountId,
  ]);
  const stored = await Promise.all(
    rows.map(async ({ id }) => {
      const answer = await fetch(`${urls[0]}/api/v1/traces/${id}?include=usage`, { headers });
      const { name, spans, usage } = (await answer.json()) as StoredRun;
      const contents = spans.map(({ input, output }) => ({ input, output }));
      const { input_tokens, output_tokens, cost_usd } = usage;
      return { name, contents, input_tokens, output_tokens, cost: Math.round(Number(cost_usd) * 1_000_000) };
    }),
  );
  expect(stored).toEqual(
    all.map((_, n) => ({
      name: `run ${n}`,
      contents: [{ input: `question ${n}`, output: [{ message: { content: `answer ${n}` } }] }],
      input_tokens: 100 + n,
      output_tokens: n,
      cost: 1_000 + n,
    })),
  );
});

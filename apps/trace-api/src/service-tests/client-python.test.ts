import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeEach, expect, it } from "@jest/globals";
import { createAccount, issueKey } from "@waymark/accounts";
import { createPrisma } from "@waymark/database/prisma";
import { amount, describeWithProgram, useDatabase } from "@waymark/testing";
import { startService } from "../service.fixture.js";
import { openFaultyProxy } from "./faulty-proxy.fixture.js";

interface Row {
  id: string;
  name: string;
  trace_id?: string;
  parent_span_id?: string | null;
  tokens?: string | null;
}

const database = useDatabase();
const program = fileURLToPath(new URL("../../clients/record.py", import.meta.url));
const sdk = fileURLToPath(new URL("../../../../packages/client-python/", import.meta.url));
const opened: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const close of opened.reverse()) await close();
});

describeWithProgram("python3", "the Python SDK and a service in trouble", (python) => {
  let key: string;
  let accountId: string;
  let child: ChildProcess | undefined;

  beforeEach(async () => {
    ({ id: accountId } = await createAccount(createPrisma(database.pool), {
      email: `${randomUUID()}@example.com`,
      plan: "pro",
    }));
    ({ key } = await issueKey(database.pool, { accountId, service: "trace", name: "test" }));
  });
  afterAll(() => void child?.kill("SIGKILL"));

  /** Runs the program to its end, which it reaches without a flush; returns its words on stderr. */
  async function record(url: string, traces: number, spans: number): Promise<string> {
    child = spawn(python, [program, String(traces), String(spans)], {
      env: {
        PYTHONPATH: sdk,
        PYTHONDONTWRITEBYTECODE: "1",
        WAYMARK_TRACE_KEY: key,
        WAYMARK_TRACE_URL: url,
      },
      stdio: ["ignore", "inherit", "pipe"],
    });
    const [said] = await Promise.all([child.stderr ? text(child.stderr) : "", once(child, "exit")]);
    return said;
  }

  /** Exactly the program's traces and spans are stored, each once, below their parents. */
  async function expectExactly(traces: number, spans: number): Promise<void> {
    const read = async (sql: string): Promise<Row[]> => (await database.pool.query(sql, [accountId])).rows;
    const stored = await read("SELECT id, name FROM trace WHERE account_id = $1 AND status = 'success'");
    const numbers = Array.from({ length: traces }, (_, number) => `trace ${number}`);
    expect(stored.map(({ name }) => name).sort()).toEqual([...numbers, "tasks"].sort());
    const rows = await read(
      `SELECT id, name, trace_id, parent_span_id, attributes::jsonb #>> '{attributes,gen_ai.usage.input_tokens}' AS tokens FROM span
        WHERE account_id = $1 AND ended_at IS NOT NULL`,
    );
    const names = new Map([...stored, ...rows].map(({ id, name }) => [id, name]));
    const texts = rows.map(({ name, trace_id = "", parent_span_id, tokens }) =>
      [
        names.get(trace_id),
        name,
        parent_span_id ? names.get(parent_span_id) : "root",
        name === "task" && tokens,
      ].join(),
    );
    const ten = (name: string) =>
      Array.from({ length: 10 }, (_, n) => [name, `span ${n}`, n % 9 === 0 ? "root" : "span 0", false].join());
    const tasks = Array.from({ length: spans }, (_, number) => ["tasks", "task", "root", number].join());
    expect(texts.sort()).toEqual([...numbers.flatMap(ten), ...tasks].sort());
    const usage = await database.pool.query("SELECT traces FROM trace_usage WHERE account_id = $1", [accountId]);
    expect(usage.rows).toEqual([{ traces: traces + 1 }]);
  }

  it("spans are stored once while every third answer is lost, by a program that ends without a flush", async () => {
    const service = await startService({ databaseUrl: database.url });
    opened.push(() => service.end("SIGKILL"));
    const proxy = await openFaultyProxy(service.port, (count) => (count % 3 === 0 ? "drop-answer" : "pass"));
    opened.push(proxy.close);
    const [traces, spans] = [amount(200, 2_000), amount(3_000, 30_000)];
    expect(await record(proxy.url, traces, spans)).not.toContain("could not be recorded");
    expect(proxy.counts.dropped).toBe(Math.floor(proxy.counts.requests / 3));
    await expectExactly(traces, spans);
  });

  it("spans are stored once while the service is killed again and again", async () => {
    let service = await startService({ databaseUrl: database.url });
    opened.push(() => service.end("SIGKILL"));
    const { port } = service;
    let isOver = false;
    const traces = amount(250, 500);
    const recorded = record(`http://127.0.0.1:${port}`, traces, 1_000).finally(() => {
      isOver = true;
    });
    const countSql = "SELECT count(*) FROM trace WHERE account_id = $1";
    const stored = async () => Number((await database.pool.query(countSql, [accountId])).rows[0].count);
    // By stored rows, not by time: each kill meets requests under way.
    for (let kills = 1; kills <= amount(2, 4) && !isOver; kills++) {
      while (!isOver && (await stored()) < 80 * kills) await setTimeout(5);
      await service.end("SIGKILL");
      service = await startService({ databaseUrl: database.url, env: { TRACE_API_PORT: String(port) } });
    }
    expect(await recorded).not.toContain("could not be recorded");
    await expectExactly(traces, 1_000);
  });
});

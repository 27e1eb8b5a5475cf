import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import { afterEach, describe, expect, it } from "@jest/globals";
import { createAccount, issueKey } from "@waymark/accounts";
import { createPool } from "@waymark/database";
import { createPrisma } from "@waymark/database/prisma";
import { useDatabase } from "@waymark/testing";
import { spanBody, traceBody } from "../app.fixture.js";
import { type ServiceProcess, startService } from "../service.fixture.js";

const mebibyte = 1_048_576;
/** An attack may add this to the memory of the process. */
const mostGrowth = 200 * mebibyte;
/** The memory of a container. Freed buffers of refused bodies count until the next collection. */
const containerMemory = 512 * mebibyte;

/** The deployed service with a hostile and a quiet account. */
describe("beside a neighbour at its worst", () => {
  const database = useDatabase();
  let service: ServiceProcess | undefined;
  let sockets: Socket[] = [];
  let accounts = 0;
  const times = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));

  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    sockets = [];
    await service?.end("SIGKILL");
  });

  async function start() {
    const started = await startService({ databaseUrl: database.url });
    service = started;
    const pool = createPool({
      connectionString: database.url,
      maxConnections: 2,
      applicationName: "test",
      statementTimeoutMs: 30_000,
    });
    const prisma = createPrisma(pool);
    const makeAccount = async () => {
      const { id } = await createAccount(prisma, { email: `neighbour-${++accounts}@example.com`, plan: "pro" });
      return { id, key: (await issueKey(pool, { accountId: id, service: "trace", name: "test" })).key };
    };
    const send = (key: string, method: string, path: string, body?: string) =>
      fetch(`http://127.0.0.1:${started.port}/api/v1${path}`, {
        method,
        headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
        ...(body !== undefined && { body }),
      });
    const makeTrace = async (key: string) => {
      const answer = await send(key, "POST", "/traces", JSON.stringify(traceBody()));
      return ((await answer.json()) as { trace_id: string }).trace_id;
    };
    /** The quiet account's small requests get answers as if alone. */
    const sendLittle = async (key: string) => {
      const statuses = [];
      for (let n = 0; n < 3; n++) {
        const id = await makeTrace(key);
        const span = send(key, "POST", `/traces/${id}/spans`, JSON.stringify(spanBody()));
        const change = send(key, "PATCH", `/traces/${id}`, '{"status":"success"}');
        for (const answer of await Promise.all([
          span,
          change,
          send(key, "GET", `/traces/${id}`),
          send(key, "GET", "/traces"),
        ]))
          statuses.push(answer.status, (await answer.text()).length > 0);
      }
      return new Set(statuses);
    };
    const open = (key: string, head: string[], body = "") => {
      const socket = connect(started.port, "127.0.0.1");
      sockets.push(socket);
      socket.on("error", () => undefined);
      socket.write([...head, "Host: x", `Authorization: Bearer ${key}`, "", ""].join("\r\n"));
      if (body) socket.write(body);
      return socket;
    };
    const memory = () => {
      const status = readFileSync(`/proc/${started.pid}/status`, "utf8");
      return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1_024;
    };
    const [worst, other] = [await makeAccount(), await makeAccount()];
    await sendLittle(other.key);
    return { pool, worst, other, send, makeTrace, sendLittle, open, memory, before: memory() };
  }

  it("64 readers that never read a trace of 60 MiB hold little, and others are served", async () => {
    const { pool, worst, other, makeTrace, sendLittle, open, memory, before } = await start();
    const id = await makeTrace(worst.key);
    await pool.query(
      `INSERT INTO span (account_id, trace_id, id, name, status, started_at, input)
       SELECT $1, $2, lpad(to_hex(n), 32, '0')::uuid, 's', 'ok', now(), to_json(repeat('x', 4000000))
       FROM generate_series(1, 15) n`,
      [worst.id, id],
    );
    let highest = 0;
    for (let n = 0; n < 64; n++) open(worst.key, [`GET /api/v1/traces/${id} HTTP/1.1`]).pause();
    const little = sendLittle(other.key);
    for (let n = 0; n < 20; n++) {
      await setTimeout(50);
      highest = Math.max(highest, memory());
    }
    expect(await little).toEqual(new Set([200, 201, true]));
    expect(await sendLittle(other.key)).toEqual(new Set([200, 201, true]));
    expect(Math.max(highest, memory()) - before).toBeLessThan(mostGrowth);
    await pool.end();
  });

  it("150 connections that keep back the last byte of 4 MiB hold little, and others are served", async () => {
    const { pool, worst, other, sendLittle, open, memory } = await start();
    const length = 4 * mebibyte;
    const head = ["POST /api/v1/traces HTTP/1.1", "Content-Type: application/json", `Content-Length: ${length}`];
    const body = " ".repeat(length - 1);
    let highest = 0;
    for (let n = 0; n < 150; n++) {
      open(worst.key, head, body).resume();
      if (n % 10 === 0) await setTimeout(10);
      highest = Math.max(highest, memory());
    }
    expect(await sendLittle(other.key)).toEqual(new Set([200, 201, true]));
    await setTimeout(500);
    expect(Math.max(highest, memory())).toBeLessThan(containerMemory);
    await pool.end();
  });

  it("batches and large spans over 24 connections are refused or stored, and others are served", async () => {
    const { pool, worst, other, send, makeTrace, sendLittle, memory } = await start();
    const id = await makeTrace(worst.key);
    const batch = JSON.stringify({ spans: times(1_000, () => spanBody({ input: "x".repeat(200) })) });
    const large = JSON.stringify(spanBody({ input: "x".repeat(2 * mebibyte) }));
    let isOver = false;
    const seen = new Set<number>();
    const attacks = times(24, async (n) => {
      while (!isOver) {
        const path = n % 2 ? `/traces/${id}/spans/batch` : `/traces/${id}/spans`;
        const answer = await send(worst.key, "POST", path, n % 2 ? batch : large);
        await answer.text();
        seen.add(answer.status);
      }
    });
    await setTimeout(500);
    const statuses = await sendLittle(other.key);
    isOver = true;
    await Promise.all(attacks);
    expect(statuses).toEqual(new Set([200, 201, true]));
    for (const status of seen) expect([201, 413, 429]).toContain(status);
    expect(seen).toContain(201);
    expect(memory()).toBeLessThan(containerMemory);
    await pool.end();
  });
});

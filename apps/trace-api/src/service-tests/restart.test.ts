import { Agent, createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "@jest/globals";
import { createAccount, issueKey } from "@waymark/accounts";
import { amount } from "@waymark/testing";
import { traceBody } from "../app.fixture.js";
import { useServices } from "./services.fixture.js";

const { pool, prisma, start } = useServices();

/**
 * What a plain reverse proxy does: it keeps four connections to each of two instances, busy without a pause, takes turns, and asks the other one only where a
 * connection is refused, since only then nothing was sent. Any other failure is a 502, noted by its code.
 */
async function openProxy(
  ports: () => readonly number[],
): Promise<{ server: Server; port: number; failures: string[] }> {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  const failures: string[] = [];
  let turn = 0;
  const forward = (incoming: IncomingMessage, body: Buffer, response: ServerResponse, attempt: number) => {
    const port = ports()[turn++ % 2] ?? 0;
    const { method, url: path, headers } = incoming;
    const outgoing = request({ agent, host: "127.0.0.1", port, method, path, headers }, (answer) => {
      const { connection: _hop, "keep-alive": _alive, ...kept } = answer.headers;
      response.writeHead(answer.statusCode ?? 502, kept);
      answer.pipe(response);
    });
    outgoing.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ECONNREFUSED" && attempt < 20) return forward(incoming, body, response, attempt + 1);
      failures.push(`${error.code}: ${error.message}`);
      response.writeHead(502).end();
    });
    outgoing.end(body);
  };
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => forward(incoming, Buffer.concat(chunks), response, 0));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, port: (server.address() as AddressInfo).port, failures };
}

describe("two instances behind a proxy", () => {
  it("are restarted in turns under load without a failed request or a reset connection", async () => {
    const account = await createAccount(prisma, { email: "restart@example.com", plan: "pro" });
    const { key } = await issueKey(pool, { accountId: account.id, service: "trace", name: "test" });
    const instances = await Promise.all([start(), start()]);
    const proxy = await openProxy(() => instances.map(({ port }) => port));
    const statuses = new Map<number, number>();
    let isOver = false;
    const client = async () => {
      while (!isOver) {
        const answer = await fetch(`http://127.0.0.1:${proxy.port}/api/v1/traces`, {
          method: "POST",
          headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
          body: JSON.stringify(traceBody()),
        });
        await answer.arrayBuffer();
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      }
    };
    const clients = Promise.all(Array.from({ length: 16 }, client));
    const endings: unknown[] = [];
    for (let round = 0; round < amount(2, 8); round++) {
      const stopping = instances[round % 2];
      const other = await start();
      const ended = stopping?.end("SIGTERM");
      instances[round % 2] = other;
      endings.push(await ended);
    }
    isOver = true;
    await clients;
    proxy.server.closeAllConnections();
    proxy.server.close();
    expect(proxy.failures).toEqual([]);
    expect([...statuses.keys()]).toEqual([201]);
    expect(new Set(endings)).toEqual(new Set([0]));
    const { rows } = await pool.query("SELECT count(*)::int AS n FROM trace WHERE account_id = $1", [account.id]);
    expect(rows[0].n).toBe(statuses.get(201));
  });
});

import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { createAccount, issueKey } from "@waymark/accounts";
import { amount } from "@waymark/testing";
import { traceBody } from "../app.fixture.js";
import { openStream, type StreamClient, type StreamEvent } from "../stream/stream.fixture.js";
import { useServices } from "./services.fixture.js";

const { pool, prisma, start } = useServices();
/** Of a client between requests: starts take seconds, and the load would fill them. */
const pauseMs = amount(20, 0);

describe("a stream", () => {
  it("misses nothing and repeats nothing while its service is killed and restarted under load", async () => {
    const account = await createAccount(prisma, { email: "stream@example.com", plan: "pro" });
    const { key } = await issueKey(pool, { accountId: account.id, service: "trace", name: "test" });
    const writer = await start();
    const send = async (method: string, path: string, body: unknown) => {
      const answer = await fetch(`http://127.0.0.1:${writer.port}/api/v1${path}`, {
        method,
        headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
        body: JSON.stringify(body),
      });
      expect(answer.ok).toBe(true);
      return (await answer.json()) as { trace_id: string };
    };
    /** What a client keeps: every event in order, over all connections. */
    const told: StreamEvent[] = [];
    let service = await start();
    let lastId: string | undefined;
    let stream: StreamClient | undefined;
    let [isLoaded, isFollowed] = [true, true];
    let connections = 0;
    const follow = async () => {
      for (; isFollowed; await setTimeout(20)) {
        stream = await openStream(`http://127.0.0.1:${service.port}`, { key, lastId }).catch(() => undefined);
        if (!stream) continue;
        connections++;
        await stream.ended;
        told.push(...stream.events);
        lastId = stream.lastId;
      }
    };
    const following = follow();
    const connected = async (count: number) => {
      while (connections < count) await setTimeout(20);
    };
    await connected(1);
    // Its client may also leave within a page.
    const hangUp = setInterval(() => void stream?.close(), 700);
    const created: string[] = [];
    const load = async () => {
      while (isLoaded || created.length < 500) {
        const { trace_id } = await send("POST", "/traces", traceBody());
        created.push(trace_id);
        await send("PATCH", `/traces/${trace_id}`, { status: created.length % 3 ? "success" : "error" });
        await setTimeout(pauseMs);
      }
    };
    const loads = Promise.all(Array.from({ length: 12 }, load));
    const rounds = amount(2, 4);
    for (let round = 0; round < rounds; round++) {
      await connected(2 * (round + 1));
      expect(await service.end(round % 2 ? "SIGTERM" : "SIGKILL")).toBe(round % 2 ? 0 : "SIGKILL");
      service = await start();
    }
    await connected(2 * rounds + 1);
    clearInterval(hangUp);
    isLoaded = false;
    await loads;
    const { rows } = await pool.query<{ id: string; status: string }>("SELECT id, status FROM trace ORDER BY id");
    // A change may overtake the creation; the last state of each trace comes last.
    const lastOf = (events: readonly StreamEvent[]) => new Map(events.map(({ data }) => [data.id, data.status]));
    const isTold = (last: Map<string, string>) => rows.every(({ id, status }) => last.get(id) === status);
    while (!isTold(lastOf([...told, ...(stream?.events ?? [])]))) await setTimeout(20);
    isFollowed = false;
    await stream?.close();
    await following;
    const states = told.map(({ event, data }) => `${event} ${data.id} ${data.status}`);
    expect(new Set(states).size).toBe(states.length);
    expect(rows.length).toBe(created.length);
    expect([...lastOf(told)].sort()).toEqual(rows.map(({ id, status }) => [id, status]));
  });
});

import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { createAccount, issueKey } from "@waymark/accounts";
import { amount, freePort, watched } from "@waymark/testing";
import { traceBody } from "../app.fixture.js";
import { frame, openRaw } from "../grpc/grpc.fixture.js";
import { openRawSocket, rawBytes, rawCall, rawResets } from "../grpc/raw-http2.fixture.js";
import { openStream } from "../stream/stream.fixture.js";
import { useServices } from "./services.fixture.js";

/** The deployed service with attackers and a watcher, who must not wait. */
describe("a watcher is served beside", () => {
  const services = useServices();
  let [port, grpcPort, pid, accounts] = [0, 0, 0, 0];
  let watcher = "";
  let sockets: Socket[] = [];
  const makeAccount = async (plan: "free" | "pro" = "free") => {
    const { id } = await createAccount(services.prisma, { email: `account-${++accounts}@example.com`, plan });
    return { id, key: (await issueKey(services.pool, { accountId: id, service: "trace", name: "test" })).key };
  };
  beforeAll(async () => {
    grpcPort = await freePort();
    ({ port, pid } = await services.start({ OTLP_GRPC_PORT: String(grpcPort) }));
    watcher = (await makeAccount()).key;
  });
  afterEach(() => {
    for (const socket of sockets) socket.destroy();
    sockets = [];
  });
  const origin = () => `http://127.0.0.1:${port}`;
  const send = async (key: string, method: string, path: string, body: string) => {
    const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
    const answer = await fetch(`${origin()}/api/v1${path}`, { method, headers, body });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
  const beside = <Result>(attack: () => Promise<Result>) =>
    watched({ url: `${origin()}/api/v1/usage`, pid, headers: { Authorization: `Bearer ${watcher}` } }, attack);
  const memoryMebibytes = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1_024;
  /** Makes running traces with long names in each account. */
  const makeTraces = async (ids: readonly string[], count: number) => {
    const { rows } = await services.pool.query<{ id: string }>(
      `INSERT INTO trace (account_id, id, agent_id, name, status, started_at)
       SELECT a, gen_random_uuid(), 'agent', repeat('x', 200), 'running', now()
       FROM unnest($1::uuid[]) a, generate_series(1, $2::int) RETURNING id`,
      [ids, count],
    );
    return rows.map(({ id }) => id);
  };
  const openOneStalled = async (key: string, n: number) => {
    const socket = connect(port, "127.0.0.1");
    sockets.push(socket);
    socket.on("error", () => undefined);
    const path = `/api/v1/traces/stream?name=x&from=2020-01-01T00:00:00.${String(n).padStart(6, "0")}Z`;
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`);
    const [head] = (await once(socket, "data")) as [Buffer];
    socket.pause();
    return Number(head.toString("latin1").slice(9, 12));
  };
  /** Filtered streams whose clients read nothing after the head. Resolves with the statuses. */
  const openStalled = async (key: string, count: number) => {
    const statuses: number[] = [];
    while (statuses.length < count) {
      const some = Array.from({ length: Math.min(20, count - statuses.length) }, (_, n) => statuses.length + n);
      statuses.push(...(await Promise.all(some.map((n) => openOneStalled(key, n)))));
    }
    return statuses;
  };
  /** A client that reads, and goes on after its last id when it is cut. */
  const follow = async (key: string) => {
    const past: string[] = [];
    let stream = await openStream(origin(), { key, query: "?name=x" });
    const ids = () => [...past, ...stream.events.map(({ data }) => data.id)];
    const until = async (count: number) => {
      while (ids().length < count) {
        if (!(await Promise.race([stream.ended.then(() => true), setTimeout(20, false)]))) continue;
        const { lastId } = stream;
        past.push(...stream.events.map(({ data }) => data.id));
        stream = await openStream(origin(), { key, lastId, query: "?name=x" });
      }
    };
    return { ids, until, close: () => stream.close() };
  };

  it("batches with two lists of 1.3 million elements", async () => {
    const { key } = await makeAccount();
    const { body } = await send(key, "POST", "/traces", JSON.stringify(traceBody()));
    const batch = `{"spans":[${"{},".repeat(600_000)}{}],"spans":[${"{},".repeat(700_000)}{}]}`;
    const statuses = await beside(async () => {
      const path = `/traces/${body["trace_id"]}/spans/batch`;
      const answers = await Promise.all(Array.from({ length: 8 }, () => send(key, "POST", path, batch)));
      return answers.map(({ status }) => status);
    });
    // At most 16 MiB of an account's bodies are in hand.
    expect(statuses.filter((status) => status !== 429)).toContain(400);
    expect(statuses.filter((status) => status !== 429 && status !== 400)).toEqual([]);
  });

  const streams = amount(300, 1_200);
  it(`${streams} filtered streams of a Free account whose clients stop reading, and as many changes of status`, async () => {
    const { id, key } = await makeAccount();
    const traces = await makeTraces([id], streams / 4);
    const statuses = await beside(async () => {
      const opened = await openStalled(key, streams);
      for (const status of ["error", "success", "timeout", "running"]) {
        for (let n = 0; n < traces.length; n += 20) {
          const some = traces.slice(n, n + 20);
          await Promise.all(some.map((trace) => send(key, "PATCH", `/traces/${trace}`, JSON.stringify({ status }))));
        }
      }
      return opened;
    });
    const count = (status: number) => statuses.filter((each) => each === status).length;
    expect([count(200), count(429)]).toEqual([20, streams - 20]);
  });

  it("messages over gRPC in frames of a byte, calls left at once, and what inflates 1,000 times", async () => {
    const { key } = await makeAccount();
    const before = memoryMebibytes();
    let highest = 0;
    const clock = setInterval(() => (highest = Math.max(highest, memoryMebibytes())), 50);
    const bomb = gzipSync(Buffer.alloc(16 * 1_048_576));
    const calls = Array.from({ length: 40 }, (_, n) => 2 * n + 1);
    const bytes = Buffer.concat(calls.flatMap((stream) => [rawCall(stream, `Bearer ${key}`), rawBytes(stream, 500)]));
    await beside(async () => {
      for (let round = 0; round < amount(3, 10); round++) {
        for (const flood of [bytes, rawResets(1_000)]) {
          const socket = await openRawSocket(grpcPort);
          sockets.push(socket);
          const closed = new Promise((resolve) => socket.once("close", resolve));
          socket.write(flood);
          await closed;
        }
        const { session, begin } = openRaw(grpcPort);
        const sent = calls.map(() => begin({ authorization: `Bearer ${key}`, "grpc-encoding": "gzip" }));
        for (const { stream } of sent) stream.end(frame(bomb, true));
        for (const { status } of sent) expect(["3", "8"]).toContain(await status);
        session.destroy();
      }
    });
    clearInterval(clock);
    expect(highest - before).toBeLessThan(150);
  });

  const stalled = amount(4, 12);
  it(`19 stalled streams of each of ${stalled} accounts, whose 20th gets each event once, in little memory`, async () => {
    const attackers = await Promise.all(Array.from({ length: stalled }, () => makeAccount()));
    const before = memoryMebibytes();
    let highest = 0;
    const clock = setInterval(() => (highest = Math.max(highest, memoryMebibytes())), 50);
    const told = await beside(async () => {
      for (const { key } of attackers) await openStalled(key, 19);
      const reader = await follow(attackers[0]?.key ?? "");
      for (let round = 1; round <= 4; round++) {
        await makeTraces(
          attackers.map(({ id }) => id),
          1_500,
        );
        await reader.until(round * 1_500);
      }
      await reader.close();
      return reader.ids();
    });
    clearInterval(clock);
    expect([told.length, new Set(told).size]).toEqual([6_000, 6_000]);
    expect(highest - before).toBeLessThan(200);
  });

  const spanCount = amount(4_000, 20_000);
  it(`${spanCount} spans with remote parents, each of a trace of its own, an agent of its own and long words of a user`, async () => {
    const { id, key } = await makeAccount("pro");
    const text = (name: string, stringValue: string) => ({ key: name, value: { stringValue } });
    const asked = JSON.stringify([
      ...Array(20).fill({ role: "tool", content: "x".repeat(50) }),
      { role: "user", content: "Hi" },
    ]);
    const spanOf = (n: number) => ({
      traceId: (n + 1).toString(16).padStart(32, "0"),
      spanId: "0000000000000001",
      parentSpanId: "0000000000000002",
      flags: 0x301,
      name: "POST /api/chat",
      startTimeUnixNano: "1780315200000000000",
      endTimeUnixNano: "1780315201000000000",
      attributes: [
        ...[text("gen_ai.operation.name", "invoke_agent"), text("gen_ai.agent.name", `agent ${n}`)],
        text("gen_ai.input.messages", asked),
      ],
    });
    const statuses = await beside(async () => {
      const answers: number[] = [];
      for (let n = 0; n < spanCount; n += 4_000) {
        const sent = [0, 1_000, 2_000, 3_000].map(async (from) => {
          const spans = Array.from({ length: 1_000 }, (_, at) => spanOf(n + from + at));
          const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
          const body = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
          return (await fetch(`${origin()}/v1/traces`, { method: "POST", headers, body })).status;
        });
        answers.push(...(await Promise.all(sent)));
      }
      return answers;
    });
    expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([]);
    const { rows } = await services.pool.query(
      "SELECT count(*)::int AS traces, count(DISTINCT agent_id)::int AS agents, min(name) AS name FROM trace WHERE account_id = $1",
      [id],
    );
    const stored = 1_000 * statuses.filter((status) => status === 200).length;
    const [{ traces, agents, name }] = rows;
    // A request that is refused in the middle has stored its first traces.
    expect([traces >= stored, agents, name]).toEqual([true, traces, "Hi"]);
  }, 120_000);

  const traceCount = amount(20_000, 100_000);
  it(`sums and lists by labels over ${traceCount} traces with twice as many model calls`, async () => {
    const { id, key } = await makeAccount("pro");
    await services.pool.query(
      `WITH made AS (
         INSERT INTO trace (account_id, id, agent_id, name, status, started_at, ended_at, session_id, user_id, environment, tags)
         SELECT $1, gen_random_uuid(), 'agent', 'n', 'success', now() - n * interval '20 s', now() - n * interval '19 s',
           's' || n / 4, 'u' || n % 500, 'e' || n % 2, ARRAY['t' || n % 50]
         FROM generate_series(1, $2::int) n RETURNING id, started_at
       ), called AS (
         INSERT INTO model_call (account_id, trace_id, span_id, agent_id, started_at, model, input_tokens, output_tokens, counts, settle_at)
         SELECT $1, id, gen_random_uuid(), 'agent', started_at, 'm', 10, 1, true, NULL FROM made, generate_series(1, 2) RETURNING started_at
       ), agent AS (INSERT INTO agent (account_id, id) VALUES ($1, 'agent'))
       INSERT INTO model_day (account_id, day, agent_id, provider, model, calls, priced_calls, input_tokens, output_tokens,
         cached_input_tokens, cache_write_tokens, reasoning_tokens, cost)
       SELECT $1, started_at::date, 'agent', '', 'm', count(*), 0, 10 * count(*), count(*), 0, 0, 0, 0 FROM called GROUP BY 2`,
      [id, traceCount],
    );
    const dimensions = ["session", "user", "environment", "release", "tag", "agent", "model"];
    const lists = [
      "/traces?environment=e1&user_id=u7",
      "/failures?environment=e1",
      "/agents?include=figures&environment=e1",
    ];
    const paths = [
      ...["/sessions?limit=100", "/users?limit=100", "/agents/agent/series?environment=e1", "/usage/models?tag=t3"],
      ...dimensions.map((dimension) => `/usage/by?dimension=${dimension}`),
      ...lists,
    ];
    const headers = { Authorization: `Bearer ${key}`, Connection: "close" };
    const answers = await beside(() =>
      Promise.all(
        [...paths, ...paths].map(async (path) => {
          const answer = await fetch(`${origin()}/api/v1${path}`, { headers });
          await answer.arrayBuffer();
          return answer.status;
        }),
      ),
    );
    expect(answers.filter((status) => status !== 200)).toEqual([]);
  }, 120_000);
});

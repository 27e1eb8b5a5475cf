import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import type { AgentList } from "../agents/agents.route.js";
import { type SignedIn, useDashboard } from "../dashboard.fixture.js";
import { useTraceApi } from "./trace-api.fixture.js";
import type { TraceList, TraceRow } from "./traces.route.js";

const dashboard = useDashboard();
const api = useTraceApi(dashboard);
const now = new Date("2026-06-30T15:00:00.000Z");
const minuteMs = 60_000;

const spans = fc.array(
  fc.record({
    name: fc.constantFrom("call", "search"),
    status: fc.constantFrom("ok", "error"),
    offsetMs: fc.integer({ min: 0, max: 500 }),
    ms: fc.option(fc.integer({ min: 0, max: 500 }), { nil: null }),
    attributes: fc.option(
      fc.record({
        "gen_ai.request.model": fc.constantFrom("gpt-4o", "house-model"),
        "gen_ai.usage.input_tokens": fc.integer({ min: 0, max: 5_000 }),
        "gen_ai.usage.output_tokens": fc.integer({ min: 0, max: 500 }),
      }),
      { nil: undefined },
    ),
    input: fc.constantFrom(null, "Refund, please", { messages: [{ role: "user", content: "مرحبا" }] }),
    output: fc.constantFrom(null, "Done"),
  }),
  { maxLength: 6 },
);

const traces = fc.array(
  fc.record({
    agent: fc.constantFrom("writer", "reader", "team/ö 50%"),
    name: fc.constantFrom("refund", "Refund 7", "ship", "ünïcode"),
    status: fc.constantFrom("running", "success", "error", "timeout"),
    minutesAgo: fc.integer({ min: 0, max: 29 * 24 * 60 }),
    ms: fc.integer({ min: 0, max: 100_000 }),
    labels: fc.record(
      {
        session_id: fc.constantFrom("chat 1", "会話/2"),
        user_id: fc.constantFrom("u-1", "u-2"),
        environment: fc.constantFrom("live", "test"),
        release: fc.constantFrom("1.0", "1.1"),
        tags: fc.constantFrom(["a"], ["a", "b"]),
      },
      { requiredKeys: [] },
    ),
    spans,
  }),
  { minLength: 5, maxLength: 12 },
);

type Client = Awaited<ReturnType<typeof api.client>>;
type Made = typeof traces extends fc.Arbitrary<(infer One)[]> ? One : never;

const after = (start: Date, ms: number) => new Date(start.getTime() + ms).toISOString();

/** Sends a trace with its spans as a client does. @returns its id */
async function send(
  client: Client,
  { agent, name, status, minutesAgo, ms, labels, spans: own }: Made,
): Promise<string> {
  const start = new Date(now.getTime() - minutesAgo * minuteMs);
  const body = { agent_id: agent, name, status: "running", started_at: start.toISOString(), ...labels };
  const { trace_id: id } = (await client.post("/api/v1/traces", body).expect(201)).body;
  for (const span of own) {
    const times = {
      started_at: after(start, span.offsetMs),
      ended_at: span.ms === null ? null : after(start, span.offsetMs + span.ms),
    };
    const error = span.status === "error" ? `failed in ${span.ms} ms` : null;
    const { name: spanName, status: spanStatus, attributes, input, output } = span;
    const contents = { attributes, input, output, error };
    await client
      .post(`/api/v1/traces/${id}/spans`, { name: spanName, status: spanStatus, ...times, ...contents })
      .expect(201);
  }
  if (status !== "running")
    await client.patch(`/api/v1/traces/${id}`, { status, ended_at: after(start, ms) }).expect(200);
  return id;
}

async function open(plan?: "free") {
  dashboard.setNow(now);
  api.setNow(now);
  const accountId = await dashboard.makeAccount(plan);
  return { viewer: await dashboard.signIn(accountId, "member"), client: await api.client(accountId) };
}

const queries = [
  "",
  "status=error,timeout",
  "status=running",
  "name=REFUND&agent_id=writer",
  "min_duration_ms=50000",
  "session_id=chat+1&user_id=u-1",
  "environment=live&tag=b",
  "from=2026-06-10T00:00:00Z&to=2026-06-25T00:00:00Z",
];

/** Compares conversations and users, by pages of two, and each conversation. */
async function expectSums(viewer: SignedIn, client: Client): Promise<void> {
  for (const list of ["sessions", "users"]) {
    for (let cursor: string | null = ""; cursor !== null; ) {
      const path: string = `/${list}?limit=2${cursor && `&cursor=${cursor}`}`;
      const answer = (await client.get(`/api/v1${path}`).expect(200)).body;
      expect((await viewer.get(path).expect(200)).body).toEqual(answer);
      for (const { id } of list === "sessions" ? answer.sessions : []) {
        const one = `/sessions/${encodeURIComponent(id)}`;
        const conversation = (await client.get(`/api/v1${one}`).expect(200)).body;
        expect((await viewer.get(one).expect(200)).body).toMatchObject(conversation);
      }
      cursor = answer.next_cursor;
    }
  }
}

describe("the numbers of the trace API", () => {
  it("are those of the list, its pages, the agents and the usage", async () => {
    await fc.assert(
      fc.asyncProperty(traces, async (made) => {
        const { viewer, client } = await open();
        for (const trace of made) await send(client, trace);
        for (const query of queries) {
          for (let cursor: string | null = ""; cursor !== null; ) {
            const path: string = `/traces?limit=3&${query}${cursor && `&cursor=${cursor}`}`;
            const answer = (await client.get(`/api/v1${path}&include=labels,usage,preview`).expect(200)).body;
            const own: TraceList = (await viewer.get(path).expect(200)).body;
            const rows = own.traces.map(({ error: _error, isMailed: _isMailed, ...row }: TraceRow) => row);
            expect({ traces: rows, next_cursor: own.nextCursor }).toEqual(answer);
            cursor = answer.next_cursor;
          }
        }
        await expectSums(viewer, client);
        const list: AgentList = (await viewer.get("/agents").expect(200)).body;
        const range = `from=${list.from}T00:00:00Z&to=${list.to}T00:00:00Z`;
        const { agents } = (await client.get(`/api/v1/agents?${range}`).expect(200)).body;
        type Listed = { id: string; traces: Record<string, number>; last_started_at: string };
        const expected = agents.map(({ id, traces: counts, last_started_at }: Listed) => {
          const { running = 0, success = 0, error = 0, timeout = 0 } = counts;
          return { id, traces: running + success + error + timeout, failures: error + timeout, last_started_at };
        });
        const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1);
        const figures = list.agents.map(({ id, traces: count, failures, last_started_at }) => {
          return { id, traces: count, failures, last_started_at };
        });
        expect(figures.sort(byId)).toEqual(expected.sort(byId));
        expect((await viewer.get("/usage").expect(200)).body).toEqual(
          (await client.get("/api/v1/usage").expect(200)).body,
        );
      }),
      randomRuns(3),
    );
  });

  it("are those of a trace's head and spans", async () => {
    await fc.assert(
      fc.asyncProperty(traces, async ([made]) => {
        if (!made) return;
        const { viewer, client } = await open();
        const id = await send(client, made);
        const answer = (await client.get(`/api/v1/traces/${id}`).expect(200)).body;
        const { trace, ...outline } = (await viewer.get(`/traces/${id}/outline`).expect(200)).body;
        const { spans: all, metadata: _metadata, ...head } = answer;
        const errors = all.filter(({ status }: { status: string }) => status === "error");
        expect(trace).toMatchObject({ ...head, spans: all.length, errors: errors.length });
        const micros = (from: string, to: string | null) => to && (Date.parse(to) - Date.parse(from)) * 1_000;
        const own = outline.id.map((spanId: string, row: number) => ({
          id: spanId,
          name: outline.names[outline.name[row]],
          start: Math.round(outline.start[row]),
          duration: outline.duration[row] && Math.round(outline.duration[row]),
          isFailed: (outline.flags[row] & 1) === 1,
        }));
        expect(own).toEqual(
          all.map(
            (span: { id: string; name: string; status: string; started_at: string; ended_at: string | null }) => ({
              id: span.id,
              name: span.name,
              start: micros(answer.started_at, span.started_at),
              duration: micros(span.started_at, span.ended_at),
              isFailed: span.status === "error",
            }),
          ),
        );
        expect((await viewer.get(`/traces/${id}/export`).expect(200)).body).toEqual(answer);
        const { usage } = (await client.get(`/api/v1/traces/${id}?include=usage`).expect(200)).body;
        expect((await viewer.get(`/traces/${id}/usage`).expect(200)).body).toEqual(usage);
        const other = await dashboard.signIn(await dashboard.makeAccount());
        await other.get(`/traces/${id}/usage`).expect(404);
      }),
      randomRuns(5),
    );
  });

  it("are those of a Free account at its limit", async () => {
    const { viewer, client } = await open("free");
    await dashboard.pool.query("INSERT INTO trace_usage (account_id, month, traces) VALUES ($1, '2026-06-01', 999)", [
      viewer.accountId,
    ]);
    const body = { agent_id: "one", name: "last", status: "success", started_at: now.toISOString() };
    for (const status of [201, 429]) {
      await client.post("/api/v1/traces", body).expect(status);
      const { body: own } = await viewer.get("/usage").expect(200);
      expect(own).toEqual((await client.get("/api/v1/usage").expect(200)).body);
      expect(own).toMatchObject({ traces: { current: 1_000, remaining: 0 }, agents: { current: 1, limit: 1 } });
    }
  });
});

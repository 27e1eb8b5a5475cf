import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import { spanBody, type TestAccount, traceBody, useApp } from "../app.fixture.js";
import { senders, transports, useLabelledRuns } from "../otlp/labelled-runs.fixture.js";

const texts = ["session_id", "user_id", "environment", "release"] as const;

interface Labels extends Record<(typeof texts)[number], string | null> {
  tags: string[];
}

interface Run {
  sender: "json" | "keyed" | (typeof senders)[number];
  transport: (typeof transports)[number];
  labels: Labels;
  /** Given by a PATCH afterwards. */
  change: Partial<Labels> | undefined;
  isDeleted: boolean;
  minute: number;
}

const text = fc.option(fc.constantFrom("a", "b", "é, %_"), { nil: null });
const labelsOf = fc.record({
  session_id: text,
  user_id: text,
  environment: text,
  release: text,
  tags: fc.uniqueArray(fc.constantFrom("a", "b", "c"), { maxLength: 3 }),
});
const sent: fc.Arbitrary<Run> = fc.record({
  sender: fc.constantFrom("json", "keyed", ...senders),
  transport: fc.constantFrom(...transports),
  labels: labelsOf,
  change: fc.option(labelsOf, { nil: undefined, freq: 2 }),
  isDeleted: fc.nat({ max: 3 }).map((n) => n === 0),
  minute: fc.nat({ max: 59 }),
});

/** An agent's event always names its session. */
const run = sent.map((each) => {
  const isOfAgent = each.sender === "claude" || each.sender === "codex";
  return isOfAgent ? { ...each, labels: { ...each.labels, session_id: each.labels.session_id ?? "a" } } : each;
});

const time = (minute: number) => `2026-06-01T12:${String(minute).padStart(2, "0")}:00.000Z`;
describe("finding traces by their labels", () => {
  const test = useApp();
  const exportRun = useLabelledRuns(test);

  async function make(account: TestAccount, each: Run, n: number): Promise<string> {
    const { sender, transport, labels, minute } = each;
    const at = time(minute);
    if (sender !== "json" && sender !== "keyed") {
      const told = { sender, transport, agent_id: "agent", status: "success", labels, at, calls: [] };
      return exportRun(account, told, `run ${n}`);
    }
    const post = account.post("/api/v1/traces", traceBody({ ...labels, started_at: at }));
    return (await (sender === "keyed" ? post.set("Idempotency-Key", `${n}`) : post).expect(201)).body.trace_id;
  }

  /** Sends everything. @returns what is left, newest first */
  async function send(account: TestAccount, runs: readonly Run[]) {
    const left: (Labels & { id: string; minute: number })[] = [];
    await Promise.all(
      runs.map(async (each, n) => {
        const id = await make(account, each, n);
        if (each.change) await account.patch(`/api/v1/traces/${id}`, each.change).expect(200);
        if (each.isDeleted) await account.delete(`/api/v1/traces/${id}`).expect(200);
        else left.push({ ...each.labels, ...each.change, id, minute: each.minute });
      }),
    );
    return left.toSorted((a, b) => b.minute - a.minute || (a.id < b.id ? 1 : -1));
  }

  async function find(account: TestAccount, query: Record<string, string>) {
    const found: string[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const answer = await account.get("/api/v1/traces").query({ ...query, limit: 2, ...(cursor && { cursor }) });
      expect(answer.status).toBe(200);
      for (const { id, session_id, user_id, environment, release, tags } of answer.body.traces)
        found.push(JSON.stringify({ id, session_id, user_id, environment, release, tags: tags.toSorted() }));
      cursor = answer.body.next_cursor;
    }
    return found;
  }

  it("gives those that have them, with all of them, whichever way they came and changed", async () => {
    const scenario = fc.array(run, { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(scenario, labelsOf, async (runs, asked) => {
        const account = await test.makeAccount("pro");
        const left = await send(account, runs);
        const expected = (matches: (labels: Labels) => boolean) =>
          left.filter(matches).map(({ minute: _, ...trace }) => JSON.stringify(shown(trace)));
        for (const name of texts) {
          const value = asked[name] ?? "a";
          const query = { include: "labels", [name]: value };
          expect(await find(account, query)).toEqual(expected((labels) => labels[name] === value));
        }
        const query = { include: "labels", tag: "a", user_id: asked.user_id ?? "b" };
        const hasBoth = (labels: Labels) => labels.tags.includes("a") && labels.user_id === query.user_id;
        expect(await find(account, query)).toEqual(expected(hasBoth));
      }),
      randomRuns(20),
    );
  });

  it("shows labels, tokens with cost, a preview, models and scores where asked for, each alone or together", async () => {
    const account = await test.makeAccount("pro");
    const id = await account.makeTrace({ session_id: "s", tags: ["x"] });
    const attributes = { "gen_ai.request.model": "gpt-4o", "gen_ai.usage.input_tokens": 1_000 };
    const input = [{ role: "user", content: "Refund order 42, please" }];
    await account.post(`/api/v1/traces/${id}/spans`, spanBody({ input, attributes })).expect(201);
    const list = async (include?: string) =>
      (
        await account
          .get("/api/v1/traces")
          .query({ ...(include && { include }) })
          .expect(200)
      ).body.traces[0];
    const plain = await list();
    const labels = { session_id: "s", user_id: null, environment: null, release: null, tags: ["x"] };
    const usage = { input_tokens: 1_000, output_tokens: 0, cost_usd: "0.0025" };
    const preview = { preview: "Refund order 42, please" };
    expect(Object.keys(plain)).not.toContain("tags");
    expect(await list("labels")).toEqual({ ...plain, ...labels });
    expect(await list("usage")).toEqual({ ...plain, ...usage });
    expect(await list("preview")).toEqual({ ...plain, ...preview });
    expect(await list("preview,labels,usage")).toEqual({ ...plain, ...labels, ...usage, ...preview });
    await account.post(`/api/v1/traces/${id}/spans`, spanBody({ attributes })).expect(201);
    const scores = [
      { name: "helpful", value: true },
      { name: "grade", value: 0.5 },
      { name: "why", value: "née" },
    ];
    for (const score of scores) await account.post(`/api/v1/traces/${id}/scores`, score).expect(201);
    const added = { models: ["gpt-4o"], scores: scores.toReversed() };
    expect(await list("models,scores")).toEqual({ ...plain, ...added });
    const bare = await account.makeTrace({ started_at: "2026-06-02T12:00:00Z" });
    const none = { session_id: null, tags: [], input_tokens: 0, cost_usd: null, preview: null };
    expect(await list("preview,labels,usage")).toMatchObject({ id: bare, ...none });
    expect(await list("models,scores")).toMatchObject({ id: bare, models: [], scores: [] });
  });

  it("finds none of another account", async () => {
    const [account, other] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
    const id = await account.makeTrace({ session_id: "s", user_id: "u", tags: ["t"] });
    for (const query of [{ session_id: "s" }, { user_id: "u" }, { tag: "t" }, { include: "labels" }])
      expect((await other.get("/api/v1/traces").query(query).expect(200)).body.traces).toEqual([]);
    const { body } = await account.get("/api/v1/traces").query({ session_id: "s", user_id: "u", tag: "t" }).expect(200);
    expect(body.traces).toMatchObject([{ id }]);
  });

  it.each([
    [{ session_id: "" }, { session_id: "Must not be empty" }],
    [{ tag: "t".repeat(101) }, { tag: "Must be at most 100 characters" }],
    [
      { include: "labels,all" },
      { include: "Must be one or several of these, separated by commas: labels, usage, preview, models, scores" },
    ],
  ])("answers 400 for %j", async (query, fields) => {
    const account = await test.makeAccount("pro");
    expect((await account.get("/api/v1/traces").query(query).expect(400)).body.fields).toEqual(fields);
  });
});

function shown({ id, tags, session_id, user_id, environment, release }: Labels & { id: string }) {
  return { id, session_id, user_id, environment, release, tags: tags.toSorted() };
}

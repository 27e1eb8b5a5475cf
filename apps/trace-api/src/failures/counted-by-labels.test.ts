import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import { spanBody, type TestAccount, useApp } from "../app.fixture.js";

const names = ["session_id", "user_id", "environment", "release"] as const;

interface Labels extends Record<(typeof names)[number], string | null> {
  tags: string[];
}

interface Run extends Labels {
  agent_id: string;
  status: "running" | "success" | "error" | "timeout";
  tokens: number;
  isDeleted: boolean;
}

const word = fc.constantFrom("a", "b");
const label = fc.option(word, { nil: null });
const labels = { session_id: label, user_id: label, environment: label, release: label };
const run: fc.Arbitrary<Run> = fc.record({
  ...labels,
  tags: fc.uniqueArray(word, { maxLength: 2 }),
  agent_id: word,
  status: fc.constantFrom("running", "success", "error", "timeout"),
  tokens: fc.nat({ max: 999 }),
  isDeleted: fc.nat({ max: 5 }).map((n) => n === 0),
});
type Filter = Record<(typeof names)[number] | "tag", string | null>;
const filter: fc.Arbitrary<Filter> = fc.record({ ...labels, tag: label });

interface Sums {
  asked: Filter;
  own: readonly Run[];
  spent: readonly Run[];
}

const isFound = (each: Run, { tag, ...texts }: Filter) =>
  !each.isDeleted &&
  (tag === null || each.tags.includes(tag)) &&
  names.every((name) => texts[name] === null || texts[name] === each[name]);

const queryOf = (asked: Filter) =>
  Object.entries(asked).flatMap(([name, text]) => (text === null ? [] : [`${name}=${text}`]));

describe("failures, agents, series and models by labels", () => {
  const test = useApp();

  async function make(account: TestAccount, { isDeleted, tokens, ...body }: Run) {
    const started_at = "2026-06-02T12:00:00.000Z";
    const traceId = await account.makeTrace({ ...body, started_at, ended_at: "2026-06-02T12:00:02.000Z" });
    const attributes = { "gen_ai.request.model": "house", "gen_ai.usage.input_tokens": tokens };
    await account.post(`/api/v1/traces/${traceId}/spans`, spanBody({ started_at, attributes })).expect(201);
    if (isDeleted) await account.delete(`/api/v1/traces/${traceId}`).expect(200);
  }

  async function expectCounts(account: TestAccount, runs: readonly Run[], asked: Filter) {
    const query = ["from=2026-06-01T00:00:00Z&to=2026-07-01T00:00:00Z", ...queryOf(asked)].join("&");
    const found = runs.filter((each) => isFound(each, asked));
    const { failures } = (await account.get(`/api/v1/failures?${query}`).expect(200)).body;
    const failed = found.filter(({ status }) => status === "error" || status === "timeout");
    const ofAgent = (agent: string) => failed.filter(({ agent_id }) => agent_id === agent).length;
    const counts = Object.fromEntries(
      failures.map(({ agent_id, count }: { agent_id: string; count: number }) => [agent_id, count]),
    );
    expect(counts).toEqual(
      Object.fromEntries(["a", "b"].flatMap((agent) => (ofAgent(agent) ? [[agent, ofAgent(agent)]] : []))),
    );
    const { agents } = (await account.get(`/api/v1/agents?include=figures&${query}`).expect(200)).body;
    for (const { id, traces, input_tokens } of agents) {
      const own = found.filter(({ agent_id }) => agent_id === id);
      const sum = (status: string) => own.filter((each) => each.status === status).length;
      const statuses = Object.fromEntries(Object.keys(traces).map((status) => [status, sum(status)]));
      const isFiltered = queryOf(asked).length > 0;
      // Deleting a trace keeps what it cost, but not the labels it had.
      const spent = isFiltered ? own : runs.filter(({ agent_id }) => agent_id === id);
      expect([traces, input_tokens]).toEqual([statuses, spent.reduce((all, { tokens }) => all + tokens, 0)]);
      await expectSums(account, id, { asked, own, spent });
    }
  }

  /** The series of an agent, by day and by hour, and its models. */
  async function expectSums(account: TestAccount, agent: string, { asked, own, spent }: Sums) {
    const filters = ["from=2026-06-02T00:00:00Z&to=2026-06-03T00:00:00Z", ...queryOf(asked)].join("&");
    const failures = own.filter(({ status }) => status === "error" || status === "timeout").length;
    const tokens = spent.reduce((all, each) => all + each.tokens, 0);
    for (const interval of ["day", "hour"]) {
      const path = `/api/v1/agents/${agent}/series?interval=${interval}&${filters}`;
      const { series } = (await account.get(path).expect(200)).body;
      const sum = (name: string) =>
        series.reduce((all: number, entry: Record<string, number>) => all + (entry[name] ?? 0), 0);
      const counted = { traces: sum("traces"), failures: sum("error") + sum("timeout"), tokens: sum("input_tokens") };
      expect(counted).toEqual({ traces: own.length, failures, tokens });
    }
    const { models, series } = (await account.get(`/api/v1/usage/models?agent_id=${agent}&${filters}`).expect(200))
      .body;
    const calls = spent.length;
    expect(models).toEqual(
      calls === 0 ? [] : [expect.objectContaining({ model: "house", calls, input_tokens: tokens })],
    );
    expect(series).toEqual(calls === 0 ? [] : [expect.objectContaining({ day: "2026-06-02", input_tokens: tokens })]);
  }

  it("are those of a recount, whatever is asked, also after deletions", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(run, { maxLength: 12 }),
        fc.array(filter, { minLength: 1, maxLength: 5 }),
        async (runs, asked) => {
          const account = await test.makeAccount("pro");
          for (const each of runs) await make(account, each);
          for (const each of asked) await expectCounts(account, runs, each);
        },
      ),
      randomRuns(8),
    );
  });

  it("refuse an unknown label", async () => {
    const account = await test.makeAccount("pro");
    for (const list of ["failures", "agents", "agents/a/series", "usage/models"])
      await account.get(`/api/v1/${list}?session=a`).expect(400, {
        error: "Validation failed",
        fields: { session: "Unknown parameter; did you mean session_id?" },
      });
  });
});

import { describe, expect, it } from "@jest/globals";
import { type CreateGroupCommit, createGroupCommit } from "@waymark/database";
import { createTraceReader } from "./get-trace.query.js";
import { useTraces } from "./traces.fixture.js";

const createTestGroupCommit: CreateGroupCommit = (options) => {
  const refuse = ({ limit }: { limit: string }) => new Error(`No capacity: ${limit}`);
  const queue = createGroupCommit({ ...options, ownerOf: ({ accountId }) => accountId, refuse });
  return (row) => queue.add(row);
};

describe("reading a large trace", () => {
  const { pool, makeAccount, insertTrace, insertSpans } = useTraces();
  const { readTrace } = createTraceReader({
    pool,
    createGroupCommit: createTestGroupCommit,
    largeAnswers: { take: () => undefined, give: () => undefined },
  });

  async function readChunks(accountId: string, traceId: string, parts: readonly string[] = []): Promise<string[]> {
    const answer = (await readTrace({ accountId, traceId, parts }))?.body;
    if (typeof answer !== "object") throw new Error("A large trace comes in chunks");
    const chunks: string[] = [];
    for await (const chunk of answer) {
      chunks.push(chunk);
      expect(pool.idleCount).toBe(pool.totalCount);
    }
    return chunks;
  }

  it("gives chunks of bounded size, each when it is asked for, and holds no connection in between", async () => {
    const accountId = await makeAccount();
    const traceId = await insertTrace(accountId);
    const value = "(SELECT to_json(string_agg(md5(n::text || m), '')) FROM generate_series(1, 3200) m)";
    await insertSpans(accountId, traceId, 100, value);
    const chunks = await readChunks(accountId, traceId);
    const text = chunks.join("");
    expect(text.length).toBeGreaterThan(10_000_000);
    expect(Math.max(...chunks.map(({ length }) => length))).toBeLessThan(300_000);
    expect(JSON.parse(text).spans).toHaveLength(100);
  });

  it.each([
    [5, 4_000_000, 4_001_000],
    [400, 10_000, 300_000],
    [1_500, 300, 700_000],
  ])("measures %i spans of %i bytes as they are, however small Postgres stores them", async (spans, bytes, most) => {
    const accountId = await makeAccount();
    const traceId = await insertTrace(accountId);
    await insertSpans(accountId, traceId, spans, `to_json(repeat('x', ${bytes}))`);
    const chunks = await readChunks(accountId, traceId);
    expect(Math.max(...chunks.map(({ length }) => length))).toBeLessThan(most);
    const trace = JSON.parse(chunks.join(""));
    expect(trace.spans).toHaveLength(spans);
    expect(trace.spans[0].input).toHaveLength(bytes);
  });

  it("counts what escapes add: an error of control characters is six times its length", async () => {
    const accountId = await makeAccount();
    const traceId = await insertTrace(accountId);
    await insertSpans(accountId, traceId, 10, "repeat(E'\\x01', 100000)", "error");
    const chunks = await readChunks(accountId, traceId, ["attributes"]);
    expect(chunks).toHaveLength(10);
    expect(JSON.parse(chunks.join("")).spans).toHaveLength(10);
  });
});

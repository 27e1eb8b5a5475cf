import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import { spanBody, type TestAccount, useApp } from "../app.fixture.js";

const queries = ["", "?include=attributes", "?include=usage", "?include=scores", "?include=scores,usage,attributes"];
const usage = { "gen_ai.request.model": "gpt-4o", "gen_ai.usage.input_tokens": 61 };

describe("the ETag of a trace", () => {
  const test = useApp();
  const finished = async (account: TestAccount) => {
    const id = await account.makeTrace();
    const { body } = await account.post(`/api/v1/traces/${id}/spans`, spanBody()).expect(201);
    await account.patch(`/api/v1/traces/${id}`, { status: "success" }).expect(200);
    return { path: `/api/v1/traces/${id}`, spanId: body.span_id as string };
  };

  it("makes a repeated read 304 without a body, also as a strong tag, in a list, and for HEAD", async () => {
    const account = await test.makeAccount("pro");
    const { path } = await finished(account);
    const first = await account.get(path).expect(200);
    const tag = `${first.headers["etag"]}`;
    expect(tag).toMatch(/^W\/"[0-9a-f]{32}"$/);
    expect(first.headers["cache-control"]).toBe("private, no-cache");
    for (const known of [tag, tag.slice(2), `"other", ${tag}`, "*"]) {
      const again = await account.get(path).set("If-None-Match", known).expect(304);
      expect([again.text, again.headers["etag"], again.headers["content-length"]]).toEqual(["", tag, undefined]);
      expect(again.headers["cache-control"]).toBe("private, no-cache");
    }
    await account.head(path).set("If-None-Match", tag).expect(304);
    for (const other of ['"other"', tag.replace(/.{3}$/, '0"'), "", "x"])
      await account.get(path).set("If-None-Match", other).expect(200);
  });

  it("is missing while the trace runs, and of no use to another account", async () => {
    const [account, other] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
    const running = await account.get(`/api/v1/traces/${await account.makeTrace()}`).expect(200);
    expect([running.headers["etag"], running.headers["cache-control"]]).toEqual([undefined, "no-store"]);
    const { path } = await finished(account);
    const tag = `${(await account.get(path)).headers["etag"]}`;
    for (const known of [tag, "*"]) await other.get(path).set("If-None-Match", known).expect(404);
    await account.delete(path).expect(200);
    for (const known of [tag, "*"]) await account.get(path).set("If-None-Match", known).expect(404);
  });

  it("is there for a large trace of few spans, and not for one of 1,000", async () => {
    const account = await test.makeAccount("pro");
    const { path } = await finished(account);
    await account.post(`${path}/spans`, spanBody({ input: "x".repeat(2_000_000) })).expect(201);
    const answer = await account.get(path).expect(200);
    expect(answer.headers["transfer-encoding"]).toBe("chunked");
    await account.get(path).set("If-None-Match", `${answer.headers["etag"]}`).expect(304);
    await account.post(`${path}/spans/batch`, { spans: Array.from({ length: 998 }, () => spanBody()) }).expect(201);
    const long = await account.get(path).expect(200);
    expect([long.body.spans.length, long.headers["etag"]]).toEqual([1_000, undefined]);
  });

  it("changes with a transaction that began before the trace's last change and commits after it", async () => {
    const account = await test.makeAccount("pro");
    const { path, spanId } = await finished(account);
    const held = await test.hold("UPDATE span SET output = '1', written_at = now() WHERE id = $1", [spanId]);
    await account.post(`${path}/spans`, spanBody()).expect(201);
    const before = `${(await account.get(path)).headers["etag"]}`;
    await held.commit();
    const after = await account.get(path).set("If-None-Match", before).expect(200);
    expect(after.headers["etag"]).not.toBe(before);
  });

  it("differs whenever the answer does, whatever was done", async () => {
    const account = await test.makeAccount("pro");
    const done = fc.constantFrom("status", "end", "late span", "output", "attributes", "score", "nothing");
    await fc.assert(
      fc.asyncProperty(fc.array(done, { minLength: 1, maxLength: 5 }), async (changes) => {
        const { path, spanId } = await finished(account);
        const bodies = new Map<string, string>();
        const look = async () => {
          for (const query of queries) {
            const { text, headers } = await account.get(path + query).expect(200);
            const tag = `${headers["etag"]}`;
            expect(bodies.get(tag) ?? text).toBe(text);
            for (const [known, body] of bodies) {
              const { status } = await account.get(path + query).set("If-None-Match", known);
              expect(status).toBe(known === tag ? 304 : 200);
              if (known === tag) expect(body).toBe(text);
            }
            bodies.set(tag, text);
          }
        };
        await look();
        for (const [n, change] of changes.entries()) {
          await applyChange(account, { path, spanId, change, n });
          await look();
        }
      }),
      randomRuns(4),
    );
  });
});

async function applyChange(
  account: TestAccount,
  { path, spanId, change, n }: { path: string; spanId: string; change: string; n: number },
): Promise<void> {
  const span = `${path}/spans/${spanId}`;
  if (change === "status") await account.patch(path, { status: n % 2 === 0 ? "error" : "success" }).expect(200);
  if (change === "end") await account.patch(path, { ended_at: `2026-06-01T12:00:0${n}Z` }).expect(200);
  if (change === "late span") await account.post(`${path}/spans`, spanBody({ attributes: usage })).expect(201);
  if (change === "output") await account.patch(span, { output: { n } }).expect(200);
  if (change === "attributes") await account.patch(span, { attributes: { ...usage, n } }).expect(200);
  if (change === "score") await account.post(`${path}/scores`, { name: `score-${n}`, value: n }).expect(201);
}

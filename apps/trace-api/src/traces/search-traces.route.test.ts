import { describe, expect, it } from "@jest/globals";
import type { ListedTrace } from "@waymark/traces";
import { spanBody, type TestAccount, useApp } from "../app.fixture.js";

const test = useApp({ lockTimeoutMs: 30_000 });

async function find(account: TestAccount, q: string, more: Record<string, string> = {}): Promise<string[]> {
  const { body } = await account
    .get("/api/v1/traces")
    .query({ q, ...more })
    .expect(200);
  expect(body.next_cursor).toBeNull();
  return body.traces.map(({ name }: ListedTrace) => name);
}

/** A trace with one span. */
async function makeRun(account: TestAccount, name: string, span: Record<string, unknown> = {}): Promise<string> {
  const id = await account.makeTrace({ name });
  await account.post(`/api/v1/traces/${id}/spans`, spanBody(span)).expect(201);
  return id;
}

describe("GET /api/v1/traces?q=", () => {
  describe("200", () => {
    it("finds words in names, inputs, outputs and errors, whatever their case and script", async () => {
      const account = await test.makeAccount("pro");
      await makeRun(account, "Refund order 1042");
      await makeRun(account, "by span", { name: "refundTool()" });
      await makeRun(account, "by input", { input: { question: "Wo ist meine\nREFUND-Straße?" } });
      await makeRun(account, "by output", { output: ["返金しました", { code: "a\tb" }] });
      await makeRun(account, "by error", { status: "error", error: "Refund refused: 返金" });
      expect(await find(account, "refund")).toEqual(["by error", "by input", "by span", "Refund order 1042"]);
      expect(await find(account, "返金")).toEqual(["by error", "by output"]);
      expect(await find(account, "返金 refused")).toEqual(["by error"]);
      expect(await find(account, '"meine\nrefund-STRASSE"')).toEqual(["by input"]);
      expect(await find(account, '"a\tb"')).toEqual(["by output"]);
      expect(await find(account, "order refund", { status: "running", name: "1042" })).toEqual(["Refund order 1042"]);
      expect(await find(account, "attributes")).toEqual([]);
    });

    it("follows changes and deletions at once", async () => {
      const account = await test.makeAccount("pro");
      const id = await account.makeTrace();
      const { body } = await account.post(`/api/v1/traces/${id}/spans`, spanBody()).expect(201);
      expect(await find(account, "zebra")).toEqual([]);
      await account.patch(`/api/v1/traces/${id}/spans/${body.span_id}`, { output: "a zebra" }).expect(200);
      expect(await find(account, "zebra")).toEqual(["A run"]);
      await account.delete(`/api/v1/traces/${id}`).expect(200);
      expect(await find(account, "zebra")).toEqual([]);
    });

    it("gives pages whose cursors go on", async () => {
      const account = await test.makeAccount("pro");
      for (let n = 0; n < 5; n++) await makeRun(account, `run ${n}`, { output: n === 2 ? "nothing" : "a zebra" });
      const names: string[] = [];
      for (let cursor: string | null = ""; cursor !== null; ) {
        const query: Record<string, string> = { q: "zebra", limit: "2", ...(cursor && { cursor }) };
        const { body } = await account.get("/api/v1/traces").query(query).expect(200);
        names.push(...body.traces.map(({ name }: ListedTrace) => name));
        cursor = body.next_cursor;
      }
      expect(names).toEqual(["run 4", "run 3", "run 1", "run 0"]);
    });

    it("finds nothing of another account", async () => {
      await makeRun(await test.makeAccount("pro"), "theirs", { output: "a zebra" });
      expect(await find(await test.makeAccount("pro"), "zebra")).toEqual([]);
    });
  });

  describe("429", () => {
    it("for an account with a search under way and 20 waiting; another account's goes on", async () => {
      const [busy, quiet] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
      for (const account of [busy, quiet]) await makeRun(account, "a run", { output: "a zebra" });
      const held = await test.hold("LOCK TABLE span IN ACCESS EXCLUSIVE MODE");
      const searches = [find(busy, "zebra")];
      await test.untilLockWaits();
      for (let n = 0; n < 20; n++) searches.push(find(busy, "zebra"));
      await test.untilWaiting("search-traces", 20);
      const { body } = await busy.get("/api/v1/traces?q=zebra").expect(429);
      expect(body.reason).toBe("At most 20 requests of one account may wait for search-traces");
      await busy.get("/api/v1/traces").expect(200);
      const other = find(quiet, "zebra");
      await held.commit();
      expect(await other).toEqual(["a run"]);
      expect(await Promise.all(searches)).toEqual(searches.map(() => ["a run"]));
    });
  });

  describe("400", () => {
    it.each([
      ["", /./],
      ['""', "Must have a word, or a phrase in quotes"],
      [" \t", "Must have a word, or a phrase in quotes"],
      ["a\u0001b", "Must not contain control characters other than tabs and line ends"],
      [Array.from({ length: 21 }, (_, n) => n).join(" "), "Must have at most 20 words and phrases"],
      ["x".repeat(201), /200/],
    ])("for %j", async (q, message) => {
      const account = await test.makeAccount("free");
      const { body } = await account.get("/api/v1/traces").query({ q }).expect(400);
      expect(body.fields.q).toEqual(typeof message === "string" ? message : expect.stringMatching(message));
    });

    it("for a cursor with a broken place in a trace", async () => {
      const account = await test.makeAccount("free");
      const id = "0198a3c4-0000-7000-8000-00000000000a";
      for (const rest of [id, `${id} ${id}`, `${id} ${id} 1 x`, `${id} ${id} 1 2 3`]) {
        const cursor = Buffer.from(`2026-06-01T12:00:00.000Z ${id} ${rest}`).toString("base64url");
        await account.get("/api/v1/traces").query({ q: "zebra", cursor }).expect(400);
      }
    });
  });
});

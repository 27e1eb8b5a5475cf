import { gzipSync } from "node:zlib";
import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import { spanBody, type TestAccount, traceBody, useApp } from "../app.fixture.js";

describe("spans with an Idempotency-Key", () => {
  const test = useApp();

  const times = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));
  const batchBody = (count: number, name = "step") => ({
    spans: times(count, (n) => spanBody({ name: `${name} ${n}` })),
  });
  const kinds = [
    { kind: "a span", suffix: "spans", body: spanBody(), other: spanBody({ name: "another" }), count: 1 },
    { kind: "a batch", suffix: "spans/batch", body: batchBody(1_000), other: batchBody(999), count: 1_000 },
  ];
  const countOf = async (account: TestAccount) => {
    const { rows } = await test.pool.query(
      `SELECT (SELECT count(*)::int FROM span WHERE account_id = $1) AS spans,
              (SELECT count(*)::int FROM idempotency_key WHERE account_id = $1) AS keys`,
      [account.id],
    );
    return rows[0];
  };
  const inProgress = { error: "A request with this idempotency key is in progress" };
  const reused = { error: "Idempotency key was used for another request" };

  describe.each(kinds)("$kind", ({ suffix, body, other, count }) => {
    const send = (account: TestAccount, traceId: string, key: string, sent: object = body) =>
      account.post(`/api/v1/traces/${traceId}/${suffix}`, sent).set("Idempotency-Key", key);

    it("is answered the same again, and stored once", async () => {
      const account = await test.makeAccount("free");
      const traceId = await account.makeTrace();
      const first = await send(account, traceId, "key").expect(201);
      expect(first.headers["idempotent-replayed"]).toBeUndefined();
      const again = await send(account, traceId, "key").expect(201);
      expect(again.body).toEqual(first.body);
      expect(again.headers["idempotent-replayed"]).toBe("true");
      expect(await countOf(account)).toEqual({ spans: count, keys: 1 });
    });

    it("is 422 with another body, another trace and another endpoint", async () => {
      const account = await test.makeAccount("free");
      const traceId = await account.makeTrace();
      await send(account, traceId, "key").expect(201);
      await send(account, traceId, "key", other).expect(422, reused);
      await send(account, await account.makeTrace(), "key").expect(422, reused);
      await account.post("/api/v1/traces", traceBody()).set("Idempotency-Key", "key").expect(422, reused);
      await account.post("/api/v1/traces", traceBody()).set("Idempotency-Key", "a trace's").expect(201);
      await send(account, traceId, "a trace's").expect(422, reused);
      expect(await countOf(account)).toEqual({ spans: count, keys: 2 });
    });

    it("keeps keys of accounts apart", async () => {
      const [one, two] = [await test.makeAccount("free"), await test.makeAccount("free")];
      const [first, second] = [await one.makeTrace(), await two.makeTrace()];
      const answer = await send(one, first, "key").expect(201);
      expect((await send(two, second, "key").expect(201)).body).not.toEqual(answer.body);
      await send(two, first, "key 2").expect(404);
    });

    it("leaves the key free after 400 and 404", async () => {
      const account = await test.makeAccount("free");
      const missing = "00000000-0000-7000-8000-000000000000";
      await send(account, missing, "key").expect(404);
      await send(account, missing, "key", {}).expect(400);
      expect(await countOf(account)).toEqual({ spans: 0, keys: 0 });
      await send(account, await account.makeTrace(), "key").expect(201);
    });

    it("refuses a key of no character and of 256", async () => {
      const account = await test.makeAccount("free");
      const traceId = await account.makeTrace();
      for (const key of ["", "a".repeat(256)]) {
        const answer = await send(account, traceId, key).expect(400);
        expect(Object.keys(answer.body.fields)).toEqual(["Idempotency-Key"]);
      }
      await send(account, traceId, "a".repeat(255)).expect(201);
    });

    it("is stored once of 50 requests at once, over two instances", async () => {
      const account = await test.makeAccount("pro");
      const traceId = await account.makeTrace();
      const both = [account, (await test.startInstance())(account)];
      const answers = await Promise.all(times(50, (n) => send(both[n % 2] ?? account, traceId, "key")));
      const stored = answers.filter(({ status }) => status === 201);
      expect(stored.filter(({ headers }) => headers["idempotent-replayed"] === undefined)).toHaveLength(1);
      expect(new Set(stored.map(({ text }) => text)).size).toBe(1);
      for (const { status, body: refused } of answers.filter((answer) => answer.status !== 201)) {
        expect([status, refused]).toEqual([409, inProgress]);
      }
      expect(await countOf(account)).toEqual({ spans: count, keys: 1 });
    });

    it("is 409 while the first waits, by the same process and by another instance", async () => {
      const account = await test.makeAccount("free");
      const traceId = await account.makeTrace();
      const elsewhere = (await test.startInstance())(account);
      // A row with the same key that is not committed stops the first where it has taken the key and stores it.
      const held = await test.hold(
        "INSERT INTO idempotency_key (account_id, key, request_hash, ids) VALUES ($1, 'key', sha256(''), '{}')",
        [account.id],
      );
      const first = send(account, traceId, "key").then((answer) => answer);
      await test.untilLockWaits();
      await send(account, traceId, "key").expect(409, inProgress);
      const answer = await send(elsewhere, traceId, "key");
      await held.rollback();
      expect([answer.status, answer.body, answer.headers["retry-after"]]).toEqual([409, inProgress, "1"]);
      const { status, body: made } = await first;
      expect(status).toBe(201);
      expect((await send(elsewhere, traceId, "key").expect(201)).body).toEqual(made);
      expect(await countOf(account)).toEqual({ spans: count, keys: 1 });
    });
  });

  it("are each stored once and answered their own, whatever comes together", async () => {
    const account = await test.makeAccount("pro");
    const traceId = await account.makeTrace();
    const missing = "00000000-0000-7000-8000-000000000000";
    const request = fc.record({
      key: fc.option(fc.integer({ min: 0, max: 6 })),
      size: fc.integer({ min: 0, max: 3 }),
      hasTrace: fc.integer({ min: 0, max: 4 }).map((n) => n > 0),
    });
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 40 }), async (requests) => {
        run++;
        await test.pool.query("DELETE FROM span WHERE account_id = $1", [account.id]);
        const answers = await Promise.all(
          requests.map(({ key, size, hasTrace }) => {
            const path = `/api/v1/traces/${hasTrace ? traceId : missing}/spans`;
            const ask = size === 0 ? account.post(path, spanBody()) : account.post(`${path}/batch`, batchBody(size));
            return key === null ? ask : ask.set("Idempotency-Key", `${run} ${key}`);
          }),
        );
        const stored: string[] = [];
        const firsts = new Map<number, string>();
        answers.forEach(({ status, headers, body, text }, n) => {
          const { key, size, hasTrace } = requests[n] ?? { key: null, size: 0, hasTrace: true };
          if (key === null) expect(status).toBe(hasTrace ? 201 : 404);
          else expect([201, 404, 409, 422]).toContain(status);
          if (status !== 201) return;
          const ids: string[] = body.span_ids ?? [body.span_id];
          expect(ids).toHaveLength(Math.max(1, size));
          if (headers["idempotent-replayed"] === undefined) stored.push(...ids);
          if (key !== null) expect(firsts.get(key) ?? text).toBe(text);
          if (key !== null) firsts.set(key, text);
        });
        const { rows } = await test.pool.query("SELECT id FROM span WHERE account_id = $1 ORDER BY id", [account.id]);
        expect(rows.map(({ id }) => id)).toEqual(stored.sort());
      }),
      randomRuns(12),
    );
  });

  it("tell requests by their bytes, after inflating: compressed or not, it is the same request", async () => {
    const account = await test.makeAccount("free");
    const traceId = await account.makeTrace();
    const text = JSON.stringify(spanBody());
    const send = (body: string | Buffer, encoding: string) =>
      account
        .post(`/api/v1/traces/${traceId}/spans`)
        .set({ "Idempotency-Key": "key", "Content-Type": "application/json", "Content-Encoding": encoding })
        .serialize((x) => x)
        .send(body as string);
    const first = await send(text, "identity").expect(201);
    expect((await send(gzipSync(text), "gzip").expect(201)).body).toEqual(first.body);
    await send(`${text} `, "identity").expect(422);
  });
});

import { describe, expect, it } from "@jest/globals";
import { type TestAccount, traceBody, useApp } from "../app.fixture.js";

describe("POST /api/v1/traces with an Idempotency-Key", () => {
  const test = useApp();

  const create = (account: TestAccount, key: string, changes: Record<string, unknown> = {}) =>
    account.post("/api/v1/traces", traceBody(changes)).set("Idempotency-Key", key);
  const countOf = async (account: TestAccount) => {
    const { rows } = await test.pool.query(
      `SELECT (SELECT count(*)::int FROM trace WHERE account_id = $1) AS traces,
              (SELECT count(*)::int FROM idempotency_key WHERE account_id = $1) AS keys,
              COALESCE((SELECT sum(traces)::int FROM trace_usage WHERE account_id = $1), 0) AS used`,
      [account.id],
    );
    return rows[0];
  };
  const setUsed = (account: TestAccount, traces: number) =>
    test.pool.query("UPDATE trace_usage SET traces = $2 WHERE account_id = $1", [account.id, traces]);
  const lockUsageSql = "SELECT FROM trace_usage WHERE account_id = $1 FOR UPDATE";
  const times = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));
  const inProgress = { error: "A request with this idempotency key is in progress" };

  describe("201", () => {
    it("answers the same again, says so, and stores and counts once", async () => {
      const account = await test.makeAccount("free");
      const first = await create(account, "key").expect(201);
      expect(first.headers["idempotent-replayed"]).toBeUndefined();
      for (let n = 0; n < 3; n++) {
        const again = await create(account, "key").expect(201);
        expect(again.body).toEqual(first.body);
        expect(again.headers).toMatchObject({
          "idempotent-replayed": "true",
          "ratelimit-limit": "1000",
          "ratelimit-remaining": "999",
        });
      }
      expect(await countOf(account)).toEqual({ traces: 1, keys: 1, used: 1 });
      const other = await create(account, "key 2").expect(201);
      expect(other.body).not.toEqual(first.body);
      expect(other.headers["ratelimit-remaining"]).toBe("998");
    });

    it("replays at the limit, in a later month with its count, and after the trace is gone", async () => {
      const account = await test.makeAccount("free");
      test.setNow(new Date("2026-03-31T23:59:59Z"));
      const first = await create(account, "key").expect(201);
      await setUsed(account, 1000);
      const full = await create(account, "key").expect(201);
      expect(full.headers).toMatchObject({ "idempotent-replayed": "true", "ratelimit-remaining": "0" });
      test.setNow(new Date("2026-04-01T00:00:00Z"));
      await test.pool.query("DELETE FROM trace WHERE account_id = $1", [account.id]);
      const later = await create(account, "key").expect(201);
      expect(later.body).toEqual(first.body);
      expect(later.headers["ratelimit-remaining"]).toBe("1000");
      test.setNow(new Date());
    });

    it("keeps keys of accounts apart", async () => {
      const [one, other] = [await test.makeAccount("free"), await test.makeAccount("free")];
      const first = await create(one, "key").expect(201);
      const second = await create(other, "key", { name: "Another" }).expect(201);
      expect(second.body).not.toEqual(first.body);
      expect(second.headers["idempotent-replayed"]).toBeUndefined();
      await one.get(`/api/v1/traces/${second.body.trace_id}`).expect(404);
    });

    it("takes keys of one character and of 255, and tells them by every character", async () => {
      const account = await test.makeAccount("pro");
      const keys = [
        "~",
        "a".repeat(255),
        `${"a".repeat(254)}b`,
        "a b",
        "A b",
        'q"\\{},NULL',
        "NULL",
        "é".normalize("NFD")[0] ?? "",
      ];
      const ids = new Set<string>();
      for (const key of keys) ids.add((await create(account, key).expect(201)).body.trace_id);
      for (const key of keys) ids.add((await create(account, key).expect(201)).body.trace_id);
      expect(ids.size).toBe(keys.length);
    });

    it("makes one trace of 50 requests at once, also the first of an agent, over two instances", async () => {
      const account = await test.makeAccount("free");
      const both = [account, (await test.startInstance())(account)];
      const answers = await Promise.all(times(50, (n) => create(both[n % 2] ?? account, "key")));
      const created = answers.filter(({ status }) => status === 201);
      expect(created.filter(({ headers }) => headers["idempotent-replayed"] === undefined)).toHaveLength(1);
      expect(new Set(created.map(({ body }) => body.trace_id)).size).toBe(1);
      const others = answers.filter(({ status }) => status !== 201);
      for (const { status, body } of others) expect([status, body]).toEqual([409, inProgress]);
      expect(await countOf(account)).toEqual({ traces: 1, keys: 1, used: 1 });
    });

    it("reaches the limit exactly with new keys, repeated keys and no keys at once", async () => {
      const account = await test.makeAccount("free");
      const before = await Promise.all(times(20, (n) => create(account, `old ${n}`)));
      await setUsed(account, 970);
      const [fresh, repeated, plain] = await Promise.all([
        Promise.all(times(60, (n) => create(account, `new ${n}`))),
        Promise.all(times(60, (n) => create(account, `old ${n % 20}`))),
        Promise.all(times(60, () => account.post("/api/v1/traces", traceBody()))),
      ]);
      const made = [...fresh, ...plain].filter(({ status }) => status === 201);
      expect(made).toHaveLength(30);
      expect(made.map(({ headers }) => Number(headers["ratelimit-remaining"])).sort((a, b) => a - b)).toEqual(
        times(30, (n) => n),
      );
      for (const { status, body } of [...fresh, ...plain].filter(({ status }) => status !== 201)) {
        expect([status, body.current]).toEqual([429, 1000]);
      }
      repeated.forEach(({ status, body }, n) => {
        expect([status === 409 ? 201 : status, body.trace_id ?? before[n % 20]?.body.trace_id]).toEqual([
          201,
          before[n % 20]?.body.trace_id,
        ]);
      });
      const keys = 20 + fresh.filter(({ status }) => status === 201).length;
      expect(await countOf(account)).toEqual({ traces: 50, keys, used: 1000 });
    });
  });

  describe("400", () => {
    it.each(["", "a".repeat(256), "caf\u00e9", "tab\tbed"])("refuses the key %j, and stores nothing", async (key) => {
      const account = await test.makeAccount("free");
      const answer = await create(account, key).expect(400);
      expect(answer.body).toEqual({
        error: "Validation failed",
        fields: { "Idempotency-Key": "Must be 1 to 255 printable ASCII characters" },
      });
      expect(await countOf(account)).toEqual({ traces: 0, keys: 0, used: 0 });
    });

    it("leaves the key free", async () => {
      const account = await test.makeAccount("free");
      await create(account, "key", { status: "unknown" }).expect(400);
      const answer = await create(account, "key").expect(201);
      expect(answer.headers["idempotent-replayed"]).toBeUndefined();
    });
  });

  describe("403 and 429", () => {
    it("leave the key free", async () => {
      const account = await test.makeAccount("free");
      await create(account, "first").expect(201);
      await create(account, "agent", { agent_id: "another" }).expect(403);
      await setUsed(account, 1000);
      await create(account, "limit").expect(429);
      await setUsed(account, 999);
      await create(account, "limit").expect(201);
      await setUsed(account, 1);
      await create(account, "agent").expect(201);
      expect(await countOf(account)).toMatchObject({ traces: 3, keys: 3 });
    });

    it("come after 422", async () => {
      const account = await test.makeAccount("free");
      await create(account, "key").expect(201);
      await create(account, "key", { agent_id: "another" }).expect(422);
      await setUsed(account, 1000);
      await create(account, "key", { name: "Another" }).expect(422);
    });
  });

  describe("409", () => {
    it("is answered while the first waits, by the same process and by another instance", async () => {
      const account = await test.makeAccount("free");
      const other = await test.startInstance();
      await create(account, "before").expect(201);
      const held = await test.hold(lockUsageSql, [account.id]);
      const first = create(account, "key").then((answer) => answer);
      await test.untilLockWaits();
      for (const account_ of [account, other(account)]) {
        const answer = await create(account_, "key").expect(409);
        expect(answer.body).toEqual(inProgress);
        expect(answer.headers["retry-after"]).toBe("1");
      }
      await held.rollback();
      const { status, body } = await first;
      expect(status).toBe(201);
      const again = await create(other(account), "key").expect(201);
      expect(again.body).toEqual(body);
      expect(again.headers["idempotent-replayed"]).toBe("true");
      expect(await countOf(account)).toEqual({ traces: 2, keys: 2, used: 2 });
    });

    it("is answered where the key is stored in the midst of the statement", async () => {
      const account = await test.makeAccount("free");
      await create(account, "before").expect(201);
      const held = await test.hold(
        "INSERT INTO idempotency_key (account_id, key, request_hash, ids) VALUES ($1, 'key', sha256(''), '{}')",
        [account.id],
      );
      const late = create(account, "key").then((answer) => answer);
      await test.untilLockWaits();
      await held.commit();
      const { status, body } = await late;
      expect([status, body]).toEqual([409, inProgress]);
      await create(account, "key").expect(422);
      expect(await countOf(account)).toEqual({ traces: 1, keys: 2, used: 1 });
    });

    it("keeps two instances from storing twice, whatever the order", async () => {
      const account = await test.makeAccount("pro");
      const other = await test.startInstance();
      const both = [account, other(account)];
      const answers = await Promise.all(
        times(200, (n) => create(both[n % 2] ?? account, `key ${n >> 2}`).then((answer) => ({ key: n >> 2, answer }))),
      );
      const ids = times(50, () => new Set<string>());
      for (const { key, answer } of answers) {
        expect([201, 409]).toContain(answer.status);
        if (answer.status === 201) ids[key]?.add(answer.body.trace_id);
      }
      expect(ids.map(({ size }) => size)).toEqual(times(50, () => 1));
      expect(await countOf(account)).toEqual({ traces: 50, keys: 50, used: 50 });
    });
  });

  describe("422", () => {
    it("is answered for another body, and changes nothing", async () => {
      const account = await test.makeAccount("free");
      const first = await create(account, "key").expect(201);
      const answer = await create(account, "key", { name: "Another" }).expect(422);
      expect(answer.body).toEqual({ error: "Idempotency key was used for another request" });
      expect((await create(account, "key").expect(201)).body).toEqual(first.body);
      expect(await countOf(account)).toEqual({ traces: 1, keys: 1, used: 1 });
    });
  });

  describe("503", () => {
    it("leaves the key free: what failed is stored by the next attempt, once", async () => {
      const account = await test.makeAccount("free");
      await create(account, "before").expect(201);
      const held = await test.hold(lockUsageSql, [account.id]);
      await create(account, "key").expect(503);
      await held.rollback();
      const answer = await create(account, "key").expect(201);
      expect(answer.headers["idempotent-replayed"]).toBeUndefined();
      expect(await countOf(account)).toEqual({ traces: 2, keys: 2, used: 2 });
    });
  });
});

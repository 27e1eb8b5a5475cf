import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { planOf, utcMonth } from "@waymark/plan";
import { createLogger } from "@waymark/service";
import { spanBody, type TestAccount, useApp } from "../app.fixture.js";
import { createByteReserve } from "./byte-reserve.js";
import type { CountedRequest } from "./stored-bytes.js";

const test = useApp();
const month = utcMonth(new Date()).firstDay;
const plan = planOf("pro");
const log = createLogger({ service: "trace-api", level: "silent" });

async function bytesOf(accountId: string): Promise<number> {
  const { rows } = await test.pool.query("SELECT bytes FROM trace_usage WHERE account_id = $1", [accountId]);
  return rows[0].bytes;
}

/** An account's requests of 1,000 bytes, counted as the statements count them. */
async function open() {
  const { id: accountId, makeTrace } = await test.makeAccount("pro");
  await makeTrace();
  const start = await bytesOf(accountId);
  const reserve = createByteReserve({ pool: test.pool, log });
  const seen = { paid: 0, counted: 0 };
  const store = async ({ bytes, isPaid, bytesToReserve = 0 }: CountedRequest) => {
    seen[isPaid ? "paid" : "counted"]++;
    if (isPaid) return { outcome: "stored", usedBytes: 0 };
    const { rows } = await test.pool.query(
      "UPDATE trace_usage SET bytes = bytes + $2 WHERE account_id = $1 AND bytes + $2 <= $3 RETURNING bytes",
      [accountId, bytes + bytesToReserve, plan.bytesPerMonth],
    );
    return rows[0] ? { outcome: "stored", usedBytes: rows[0].bytes as number } : { outcome: "byte_limit" };
  };
  const send = (answer: typeof store = store) => reserve.store({ accountId, month, plan, bytes: 1_000 }, answer);
  return { accountId, start, reserve, seen, store, send };
}

describe("a reserve of bytes", () => {
  it("pays the requests of a busy account, which is answered as if each were counted, and is given back", async () => {
    const { accountId, start, reserve, seen, send } = await open();
    const answers = [];
    for (let n = 0; n < 100; n++) answers.push((await send()).usedBytes);
    expect(answers).toEqual(answers.map((_, n) => start + (n + 1) * 1_000));
    expect(seen).toEqual({ paid: 79, counted: 21 });
    expect((await bytesOf(accountId)) - reserve.leftOf(accountId, month)).toBe(start + 100_000);
    await reserve.stop();
    expect(await bytesOf(accountId)).toBe(start + 100_000);
  });

  it("takes back what a request did not store, and nothing where that is not known", async () => {
    const { accountId, reserve, send } = await open();
    for (let n = 0; n < 30; n++) await send();
    const left = reserve.leftOf(accountId, month);
    await send(async () => ({ outcome: "trace_not_found", usedBytes: 0 }));
    expect(reserve.leftOf(accountId, month)).toBe(left);
    await send(async () => ({ outcome: "stored", usedBytes: 0, spareBytes: 400 }));
    expect(reserve.leftOf(accountId, month)).toBe(left - 600);
    await expect(send(() => Promise.reject(new Error("cut")))).rejects.toThrow("cut");
    expect(reserve.leftOf(accountId, month)).toBe(left - 1_600);
    await reserve.stop();
  });

  it("is not made close to the month's limit, and never keeps a request from the last bytes", async () => {
    const { accountId, reserve, seen, send } = await open();
    for (let n = 0; n < 30; n++) await send();
    const left = reserve.leftOf(accountId, month);
    await test.pool.query("UPDATE trace_usage SET bytes = $2 WHERE account_id = $1", [accountId, plan.bytesPerMonth]);
    const large = { accountId, month, plan, bytes: left + 1 };
    const refused = await reserve.store(large, async () => ({ outcome: "byte_limit", usedBytes: plan.bytesPerMonth }));
    expect(refused.outcome).toBe("byte_limit");
    expect([reserve.leftOf(accountId, month), await bytesOf(accountId)]).toEqual([0, plan.bytesPerMonth - left]);
    seen.paid = 0;
    for (let n = 0; n < 30; n++) expect((await send()).outcome).toBe("stored");
    expect([seen.paid, reserve.leftOf(accountId, month)]).toEqual([0, 0]);
    await reserve.stop();
  });
});

describe("spans of a busy account", () => {
  const current = async (account: TestAccount) => (await account.get("/api/v1/usage").expect(200)).body.bytes.current;

  it("count exactly, whichever way they come and however often", async () => {
    const account = await test.makeAccount("pro");
    const path = `/api/v1/traces/${await account.makeTrace()}/spans`;
    const missing = `/api/v1/traces/${randomUUID()}/spans`;
    const before = await current(account);
    await account.post(path, spanBody()).expect(201);
    const size = (await current(account)) - before;
    const key = randomUUID();
    for (let round = 0; round < 4; round++) {
      const sent = Array.from({ length: 40 }, (_, n) => {
        if (n % 8 === 0) return account.post(missing, spanBody()).expect(404);
        if (n % 8 === 1) return account.post(`${path}/batch`, { spans: [spanBody(), spanBody()] }).expect(201);
        if (n % 8 === 2) return account.post(path, spanBody()).set("Idempotency-Key", `${key} ${n}`).expect(201);
        return account.post(path, spanBody()).expect(201);
      });
      await Promise.all(sent);
    }
    // Of 40: 5 unknown, 5 of two spans, 25 alone; and 5 that are stored once.
    expect((await current(account)) - before).toBe(size * (1 + 4 * (5 * 2 + 25) + 5));
  });
});

import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { planOf, utcMonth } from "@waymark/plan";
import { createLogger } from "@waymark/service";
import { spanBody, type TestAccount, useApp } from "../app.fixture.js";
import { ByteReserve } from "./byte-reserve.js";

const test = useApp();
const month = utcMonth(new Date()).firstDay;
const plan = planOf("pro");
const chunk = 524_288;

async function bytesOf(accountId: string): Promise<number> {
  const { rows } = await test.pool.query("SELECT bytes FROM trace_usage WHERE account_id = $1", [accountId]);
  return rows[0].bytes;
}

const setBytes = (accountId: string, bytes: number) =>
  test.pool.query("UPDATE trace_usage SET bytes = $2 WHERE account_id = $1", [accountId, bytes]);

/** An account's requests, counted as the statements count them. */
async function open() {
  const { id: accountId, makeTrace } = await test.makeAccount("pro");
  await makeTrace();
  const log = createLogger({ service: "trace-api", level: "silent" });
  const reserve = new ByteReserve(test.pool, log);
  const seen = { paid: 0, counted: 0 };
  const store = async (counted: number) => {
    seen[counted === 0 ? "paid" : "counted"]++;
    if (counted === 0) return { outcome: "stored", usedBytes: 0 };
    const { rows } = await test.pool.query(
      "UPDATE trace_usage SET bytes = bytes + $2 WHERE account_id = $1 AND bytes + $2 <= $3 RETURNING bytes",
      [accountId, counted, plan.bytesPerMonth],
    );
    return rows[0] ? { outcome: "stored", usedBytes: rows[0].bytes as number } : { outcome: "byte_limit" };
  };
  const send = (answer: (counted: number) => Promise<{ outcome: string; usedBytes?: number }> = store, bytes = 1_000) =>
    reserve.store({ accountId, month, plan }, bytes, answer);
  /** Sends until the reserve is full and pays. */
  const untilPaid = async () => {
    for (seen.paid = 0; seen.paid === 0; ) await send();
  };
  return { accountId, start: await bytesOf(accountId), reserve, seen, send, untilPaid };
}

describe("a reserve of bytes", () => {
  it("pays the requests of a busy account, counts at most 512 KiB ahead, and is given back", async () => {
    const { accountId, start, reserve, seen, send } = await open();
    for (let n = 1; n <= 200; n++) {
      await send();
      const ahead = (await bytesOf(accountId)) - start - n * 1_000;
      expect(ahead).toBeGreaterThanOrEqual(0);
      expect(ahead).toBeLessThanOrEqual(chunk);
    }
    expect(seen.paid).toBeGreaterThan(100);
    await reserve.stop();
    expect(await bytesOf(accountId)).toBe(start + 200_000);
  });

  it("is given back soon after the last request", async () => {
    const { accountId, start, seen, untilPaid } = await open();
    await untilPaid();
    const stored = start + (seen.paid + seen.counted) * 1_000;
    while ((await bytesOf(accountId)) !== stored) await setTimeout(20);
  });

  it("takes back what a request did not store, and nothing where that is not known", async () => {
    const { accountId, start, reserve, seen, send, untilPaid } = await open();
    await untilPaid();
    await send(async () => ({ outcome: "trace_not_found" }));
    await expect(send(() => Promise.reject(new Error("cut")))).rejects.toThrow("cut");
    await reserve.stop();
    expect(await bytesOf(accountId)).toBe(start + (seen.paid + seen.counted + 1) * 1_000);
  });

  it("is not made close to the month's limit, by large requests, or by a quiet account", async () => {
    const { accountId, reserve, seen, send } = await open();
    for (let n = 0; n < 4; n++) await send();
    await setBytes(accountId, plan.bytesPerMonth - 16 * chunk + 1);
    for (let n = 0; n < 30; n++) await send();
    await setBytes(accountId, 0);
    for (let n = 0; n < 30; n++) await send(undefined, 16_385);
    expect(seen.paid).toBe(0);
    await reserve.stop();
  });

  it("never keeps a request from the last bytes", async () => {
    const { accountId, send, untilPaid, reserve } = await open();
    await untilPaid();
    await setBytes(accountId, plan.bytesPerMonth);
    expect((await send(undefined, 16_000)).outcome).toBe("stored");
    while ((await send(undefined, 16_000)).outcome === "stored");
    await reserve.stop();
    expect(await bytesOf(accountId)).toBeLessThanOrEqual(plan.bytesPerMonth);
    expect(await bytesOf(accountId)).toBeGreaterThan(plan.bytesPerMonth - 16_000);
  });
});

describe("spans of a busy account", () => {
  it("show what is stored in every answer, and in the usage that follows at once", async () => {
    const account = await test.makeAccount("pro");
    const path = `/api/v1/traces/${await account.makeTrace()}/spans`;
    const remainingOf = ({ headers }: { headers: Record<string, string> }) =>
      Number(headers["waymark-bytes-remaining"]);
    const first = remainingOf(await account.post(path, spanBody()).expect(201));
    const size = first - remainingOf(await account.post(path, spanBody()).expect(201));
    for (let sent = 2; sent < 60; sent++) {
      const answer = await account.post(path, spanBody()).expect(201);
      expect(remainingOf(answer)).toBe(first - sent * size);
    }
    const score = remainingOf(
      await account.post(path.replace("/spans", "/scores"), { name: "good", value: 1 }).expect(201),
    );
    expect(first - 59 * size - score).toBeLessThan(1_000);
    expect(await remaining(account)).toBe(score);
  });

  const read = async (account: TestAccount) => (await account.get("/api/v1/usage").expect(200)).body.bytes;
  const current = async (account: TestAccount) => (await read(account)).current;
  const remaining = async (account: TestAccount) => (await read(account)).remaining;

  it("count exactly, whichever way they come and however often", async () => {
    const account = await test.makeAccount("pro");
    const path = `/api/v1/traces/${await account.makeTrace()}/spans`;
    const missing = `/api/v1/traces/${randomUUID()}/spans`;
    const before = await current(account);
    await account.post(path, spanBody()).expect(201);
    const size = (await current(account)) - before;
    const key = randomUUID();
    const attributes = spanBody({ attributes: {} });
    for (let round = 0; round < 4; round++) {
      const sent = Array.from({ length: 48 }, (_, n) => {
        if (n % 8 === 0) return account.post(missing, spanBody()).expect(404);
        if (n % 8 === 1) return account.post(`${path}/batch`, { spans: [spanBody(), spanBody()] }).expect(201);
        if (n % 8 === 2) return account.post(path, spanBody()).set("Idempotency-Key", `${key} ${n}`).expect(201);
        if (n % 8 === 3) return account.post(path, attributes).expect(201);
        return account.post(path, spanBody()).expect(201);
      });
      await Promise.all(sent);
    }
    // Of 48: 6 unknown, 6 of two spans, 6 with attributes of two bytes, 24 plain; and 6 that are stored once.
    const expected = size * (1 + 4 * (6 * 2 + 6 + 24) + 6) + 4 * 6 * 2;
    expect((await current(account)) - before).toBe(expected);
  });
});

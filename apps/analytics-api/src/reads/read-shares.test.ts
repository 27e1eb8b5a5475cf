import { describe, expect, it } from "@jest/globals";
import { createRefusals } from "@waymark/http";
import { Registry } from "prom-client";
import { useApp } from "../app.fixture.js";
import { createReadShares } from "./read-shares.js";

describe("one account's slow reads", () => {
  const test = useApp(undefined, 20_000);

  it("hold two connections, are refused above ten with 429, and another account is answered meanwhile", async () => {
    const [busy, other] = [await test.makeAccount(), await test.makeAccount()];
    const siteId = await busy.makeSite();
    const otherSite = await other.makeSite();
    const blocker = await test.pool.connect();
    const paths = ["events?range=7d", "stats?range=30d", "stats?from=2025-01-01&to=2025-12-31", "stats?lists=browsers"];
    try {
      await blocker.query("BEGIN");
      await blocker.query("LOCK TABLE daily_stat, daily_event IN ACCESS EXCLUSIVE MODE");
      const answers = Array.from({ length: 60 }, (_, n) =>
        busy.get(`/api/v1/sites/${siteId}/${paths[n % paths.length]}`).then((answer) => answer),
      );
      const first = await Promise.race(answers);
      expect([first.status, first.body]).toEqual([
        429,
        {
          error: "Too much in progress for this account",
          reason: "An account has at most 2 reads under way and 8 waiting, each for at most 3 s",
        },
      ]);
      expect(Number(first.headers["retry-after"])).toBeGreaterThanOrEqual(1);
      const { body } = await other.get("/api/v1/sites").expect(200);
      expect(body.sites).toMatchObject([{ id: otherSite }]);
      await other.get(`/api/v1/sites/${otherSite}/realtime`).expect(200);
      await blocker.query("ROLLBACK");
      const statuses = (await Promise.all(answers)).map(({ status }) => status);
      expect([...new Set(statuses)].sort()).toEqual([200, 429]);
      expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(10);
      await busy.get(`/api/v1/sites/${siteId}/realtime`).expect(429);
      await other.get(`/api/v1/sites/${otherSite}/stats`).expect(200);
    } finally {
      blocker.release(true);
    }
  });
});

describe("reads", () => {
  const open = (maxReading: number) => createReadShares({ refusals: createRefusals(new Registry()), maxReading });

  /** Makes works; `endNext` ends them in the order of their starts. */
  function createWorks() {
    const begun: string[] = [];
    const ends: (() => void)[] = [];
    const work = (name: string) => () =>
      new Promise<string>((resolve) => {
        begun.push(name);
        ends.push(() => resolve(name));
      });
    const endNext = async () => {
      ends.shift()?.();
      for (let n = 0; n < 10; n++) await Promise.resolve();
    };
    return { begun, work, endNext };
  }

  it("go round between accounts, two of one at most", async () => {
    const shares = open(3);
    const { begun, work, endNext } = createWorks();
    const reads = ["a1", "a2", "a3", "a4", "b1", "b2", "c1"].map((name) => shares.read(name.slice(0, 1), work(name)));
    expect(begun).toEqual(["a1", "a2", "b1"]);
    for (let n = 0; n < 7; n++) await endNext();
    expect(begun).toEqual(["a1", "a2", "b1", "c1", "a3", "b2", "a4"]);
    expect(await Promise.all(reads)).toHaveLength(7);
  });

  it("are not done for a client that has left, and a read that fails makes room", async () => {
    const shares = open(1);
    const { begun, work, endNext } = createWorks();
    const first = shares.read("a", work("a1"));
    const left = shares.read("a", work("a2"), () => true);
    const failing = shares.read("a", () => Promise.reject(new Error("broken")));
    const last = shares.read("b", work("b1"));
    await Promise.all([endNext(), expect(left).rejects.toThrow("unavailable")]);
    await Promise.all([endNext(), expect(failing).rejects.toThrow("broken")]);
    expect(await Promise.all([first, last])).toEqual(["a1", "b1"]);
    expect(begun).toEqual(["a1", "b1"]);
  });

  it("wait in a bounded number over all accounts, and are refused above it with 503", async () => {
    const shares = open(1);
    const { work, endNext } = createWorks();
    const reads = Array.from({ length: 201 }, (_, n) => shares.read(`account ${n}`, work(`${n}`)));
    await expect(shares.read("one more", work("x"))).rejects.toMatchObject({ status: 503, code: "busy" });
    for (let n = 0; n < 201; n++) await endNext();
    expect(await Promise.all(reads)).toHaveLength(201);
  });
});

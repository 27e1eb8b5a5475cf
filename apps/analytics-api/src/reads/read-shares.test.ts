import { describe, expect, it } from "@jest/globals";
import { issueKey } from "@waymark/accounts";
import { useApp } from "../app.fixture.js";

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
      let refused = 0;
      const answers = Array.from({ length: 60 }, async (_, n) => {
        const answer = await busy.get(`/api/v1/sites/${siteId}/${paths[n % paths.length]}`);
        if (answer.status === 429) refused++;
        return answer;
      });
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
      while (refused < 50) await new Promise((resolve) => setTimeout(resolve, 10));
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

  it("with filters wait for one another, a hundred of them, and are answered in the end", async () => {
    const busy = await test.makeAccount();
    const path = `/api/v1/sites/${await busy.makeSite()}/stats?filters=country:is:DE`;
    // Each key has 60 requests a minute.
    const { key: other } = await issueKey(test.pool, { accountId: busy.id, service: "analytics", name: "other" });
    let refused = 0;
    const ask = async (key: string) => {
      const answer = await busy.get(path).set("Authorization", `Bearer ${key}`);
      if (answer.status === 429) refused++;
      return answer;
    };
    const blocker = await test.pool.connect();
    try {
      await blocker.query("BEGIN");
      await blocker.query("LOCK TABLE site IN ACCESS EXCLUSIVE MODE");
      const answers = Array.from({ length: 103 }, (_, n) => ask(n % 2 ? busy.key : other));
      const { status, body } = await Promise.race(answers);
      const reason = "An account has at most 1 filtered_reads under way and 100 waiting, each for at most 10 s";
      expect([status, body.reason]).toEqual([429, reason]);
      while (refused < 2) await new Promise((resolve) => setTimeout(resolve, 10));
      await blocker.query("ROLLBACK");
      const statuses = (await Promise.all(answers)).map(({ status }) => status);
      expect(statuses.sort()).toEqual([...Array(101).fill(200), 429, 429]);
    } finally {
      blocker.release(true);
    }
  });
});

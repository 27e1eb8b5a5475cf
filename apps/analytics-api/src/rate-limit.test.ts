import { describe, expect, it } from "@jest/globals";
import { describeWithRedis } from "@waymark/testing";
import { type TestApp, useApp } from "./app.fixture.js";

describe("the rate limit, counted in Postgres", () => {
  expectLimit(useApp());
});

describeWithRedis("the rate limit, counted in Redis", (redisUrl) => {
  expectLimit(useApp(redisUrl));
});

/** Holds for each store of counts. */
function expectLimit(test: TestApp): void {
  it("allows exactly 60 of 200 parallel requests of a key over two instances, and refuses the rest with 429", async () => {
    const account = await test.makeAccount();
    // It reads nothing: a slow database has some of many reads refused by their share.
    const path = "/api/v1/sites/x/stats?range=bad";
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, n) => account.get(path, n % 2 ? test.app : test.secondApp)),
    );
    expect(answers.filter((answer) => answer.status === 400)).toHaveLength(60);
    const refused = answers.filter((answer) => answer.status === 429);
    expect(refused).toHaveLength(140);
    for (const { body, headers } of refused) {
      const seconds = Number(headers["retry-after"]);
      expect(seconds).toBeGreaterThanOrEqual(1);
      expect(seconds).toBeLessThanOrEqual(60);
      expect(body).toEqual({ error: "Rate limit exceeded", limit: 60, retry_after: seconds });
      expect(headers).toMatchObject({
        "ratelimit-limit": "60",
        "ratelimit-remaining": "0",
        "ratelimit-reset": String(seconds),
      });
    }
  });

  it("counts down, and spends a request on whatever is answered after it", async () => {
    const account = await test.makeAccount();
    const remaining = async (path: string) => Number((await account.get(path)).headers["ratelimit-remaining"]);
    expect(await remaining("/api/v1/sites")).toBe(59);
    expect(await remaining("/api/v1/sites/x/stats?range=bad")).toBe(58);
    expect(await remaining("/api/v1/sites/x/stats")).toBe(57);
    expect(await remaining("/api/v1/none")).toBe(56);
  });

  it("comes before the plan, and counts each key for itself", async () => {
    const [free, other] = [await test.makeAccount("free"), await test.makeAccount("free")];
    const answers = await Promise.all(Array.from({ length: 61 }, () => free.get("/api/v1/sites")));
    expect(answers.map((answer) => answer.status).sort()).toEqual([...Array(60).fill(403), 429]);
    await other.get("/api/v1/sites").expect(403);
  });
}

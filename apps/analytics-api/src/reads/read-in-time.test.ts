import { describe, expect, it } from "@jest/globals";
import { useApp } from "../app.fixture.js";

describe("days that cannot be added up in time", () => {
  const test = useApp(undefined, 1_000);

  it.each(["stats", "events"])(
    "of %s: 400 that says what helps where the client chose them, else 503",
    async (what) => {
      const account = await test.makeAccount();
      const path = `/api/v1/sites/${await account.makeSite()}/${what}`;
      const client = await test.pool.connect();
      try {
        await client.query("BEGIN");
        await client.query("LOCK TABLE daily_stat, daily_event IN ACCESS EXCLUSIVE MODE");
        const [chosen, fixed] = await Promise.all([
          account.get(`${path}?from=2026-01-01&to=2026-12-31`),
          account.get(`${path}?range=30d`),
        ]);
        expect([chosen.status, chosen.body]).toEqual([
          400,
          { error: "Validation failed", fields: { to: "These days could not be added up in time; ask for fewer" } },
        ]);
        expect([fixed.status, fixed.body]).toEqual([503, { error: "Service temporarily unavailable" }]);
        expect(Number(fixed.headers["retry-after"])).toBeGreaterThanOrEqual(1);
      } finally {
        await client.query("ROLLBACK");
        client.release();
      }
    },
  );
});

import { randomUUID } from "node:crypto";
import { afterAll } from "@jest/globals";
import { createPool } from "@waymark/database";
import { useDatabase } from "@waymark/testing";
import { createWork } from "./work.js";

export const testWork = () => createWork({ owner: "account", turn: async () => undefined });

/** Gives a test file a database whose pool reads as the services' pools do. */
export function useSites() {
  const { url } = useDatabase();
  const pool = createPool({
    connectionString: url,
    maxConnections: 4,
    applicationName: "test",
    statementTimeoutMs: 10_000,
  });
  afterAll(() => pool.end());
  return {
    pool,
    url,
    async makeSite(): Promise<string> {
      const [accountId, siteId] = [randomUUID(), randomUUID()];
      await pool.query("INSERT INTO account (id, email, plan) VALUES ($1, $2, 'pro')", [
        accountId,
        `${accountId}@a.example`,
      ]);
      await pool.query("INSERT INTO site (id, account_id, domain, name) VALUES ($1, $2, 'a.example', 's')", [
        siteId,
        accountId,
      ]);
      return siteId;
    },
  };
}

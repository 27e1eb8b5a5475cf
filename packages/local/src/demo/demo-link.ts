import { createPool } from "@waymark/database";
import { createSignInLink } from "@waymark/identity/sign-in-link";
import type { DemoAccounts } from "./demo-accounts.js";

/** A day's work; `waymark sign-in-link` makes another. */
const lifeMs = 12 * 3_600_000;

/** A link that signs in once as the demo's Pro account; undefined where its people have other addresses now. */
export async function makeDemoLink(options: {
  databaseUrl: string;
  accounts: DemoAccounts;
  dashboardUrl: string;
  now: Date;
}): Promise<string | undefined> {
  const { databaseUrl, accounts, dashboardUrl, now } = options;
  const pool = createPool({
    connectionString: databaseUrl,
    maxConnections: 1,
    applicationName: "waymark demo",
    statementTimeoutMs: 10_000,
  });
  try {
    // Its name in the dashboard, until somebody gives it another.
    await pool.query("UPDATE account SET name = 'Demo' WHERE id = $1 AND name IS NULL", [accounts.pro.id]);
    return (await createSignInLink({ pool, account: accounts.pro, dashboardUrl, lifeMs, now }))?.url;
  } finally {
    await pool.end();
  }
}

import { createSignInLink } from "@waymark/accounts/identity/sign-in-link";
import { createPool } from "@waymark/database";
import type pg from "pg";
import type { DemoAccounts } from "./demo/demo-accounts.js";

/** The page of the dashboard to begin at. */
export interface Entry {
  url: string;
  note: string;
}

interface EntryOptions {
  databaseUrl: string;
  dashboardUrl: string;
  accounts: DemoAccounts | undefined;
  /** A link that signs in is only for a dashboard that nobody else reaches. */
  isDashboardLocal: boolean;
  /** Whether anybody may make an account. */
  isSignUpOpen: boolean;
  now: Date;
}

/** A day's work; `waymark sign-in-link` makes another. */
const lifeMs = 12 * 3_600_000;

/** Signs in as the demo; without it, leads to sign-up until somebody has an account. */
export async function findEntry(options: EntryOptions): Promise<Entry> {
  const { databaseUrl, dashboardUrl, accounts, isDashboardLocal, isSignUpOpen } = options;
  const pool = createPool({
    connectionString: databaseUrl,
    maxConnections: 1,
    applicationName: "waymark start",
    statementTimeoutMs: 10_000,
  });
  try {
    const link = accounts && isDashboardLocal ? await makeDemoLink(pool, accounts, options) : undefined;
    if (link !== undefined) return { url: link, note: "signs you in as the demo" };
    const hasPeople = (await pool.query("SELECT FROM person LIMIT 1")).rowCount !== 0;
    if (hasPeople) return { url: `${dashboardUrl}/dashboard`, note: "sign in, or use `waymark sign-in-link`" };
    if (isSignUpOpen) return { url: `${dashboardUrl}/dashboard/sign-up`, note: "make an account" };
    return { url: `${dashboardUrl}/dashboard`, note: "`waymark sign-in-link` lets you in" };
  } finally {
    await pool.end();
  }
}

/** A link that signs in once as the demo's Pro account; undefined where its people have other addresses now. */
async function makeDemoLink(pool: pg.Pool, { pro }: DemoAccounts, { dashboardUrl, now }: EntryOptions) {
  // Its name in the dashboard, until somebody gives it another.
  await pool.query("UPDATE account SET name = 'Demo' WHERE id = $1 AND name IS NULL", [pro.id]);
  return (await createSignInLink({ pool, account: pro, dashboardUrl, lifeMs, now }))?.url;
}

import { createUuidV7 } from "@waymark/database";
import { hashOfVisit } from "@waymark/traces";
import { createRecorder } from "@waymark/web-stats/analytics";
import type pg from "pg";

const uuid = createUuidV7();
const domain = "example.com";
const referrers = {
  Search: "https://www.google.com/",
  "AI Assistants": "https://chatgpt.com/",
  Social: "https://www.reddit.com/",
  Direct: null,
} as const;

export type Referred = keyof typeof referrers;
export const channels = Object.keys(referrers) as Referred[];

interface View {
  /** The n-th visitor, by the address. */
  visitor: number;
  from?: Referred;
  path?: string;
  /** A custom event. */
  name?: string;
  revenue?: string;
}

export interface Run {
  status?: string;
  cost?: string;
  seconds?: number;
}

/** A trace with a model call, and the hash of a token. @returns its id */
async function addRun(
  pool: pg.Pool,
  {
    at,
    token,
    owner,
    status = "success",
    cost = "0",
    seconds = 1,
  }: Run & { at: string; token: string | null; owner: string },
): Promise<string> {
  const id = uuid();
  await pool.query(
    `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, ended_at)
     VALUES ($1, $2, 'guide', 'n', $3, $4, $4::timestamptz + make_interval(secs => $5))`,
    [owner, id, status, at, seconds],
  );
  await pool.query(
    `INSERT INTO model_call (account_id, trace_id, span_id, started_at, agent_id, cost, counts, settle_at)
     VALUES ($1, $2, gen_random_uuid(), $3, 'guide', $4, true, NULL)`,
    [owner, id, at, cost],
  );
  if (token !== null) {
    const sql = "INSERT INTO trace_visit (account_id, trace_id, visit) VALUES ($1, $2, decode($3, 'hex'))";
    await pool.query(sql, [owner, id, hashOfVisit(token)]);
  }
  return id;
}

/** An account with a site whose costs count, collectors at a time of the test's, and runs of agents. */
export async function makeCostSite(pool: pg.Pool, { isOn = true, collectors = 1 } = {}) {
  const [accountId, siteId] = [uuid(), uuid()];
  const host = `${siteId}.${domain}`;
  await pool.query("INSERT INTO account (id, email, plan) VALUES ($1, $2, 'pro')", [
    accountId,
    `${accountId}@${domain}`,
  ]);
  await pool.query("INSERT INTO site (id, account_id, domain, name, costs_until) VALUES ($1, $2, $3, 's', $4)", [
    siteId,
    accountId,
    host,
    isOn ? "2026-01-01" : null,
  ]);
  let now = 0;
  let turn = 0;
  const recorders = Array.from({ length: collectors }, () => createRecorder({ pool, now: () => now }));
  const recorder = () => {
    const next = recorders[turn++ % recorders.length];
    if (!next) throw new Error("a site has a collector");
    return next;
  };
  const senderOf = (visitor: number) => ({
    domains: [host],
    ip: `192.0.2.${visitor}`,
    userAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
  });
  return {
    accountId,
    siteId,
    host,
    /** @param at such as `2026-05-04T10:00:00Z` */
    async view(at: string, { visitor, from = "Direct", path = "/", name = "pageview", revenue }: View) {
      now = Date.parse(at);
      const shared = { isHashPath: false, props: null, country: null, ...senderOf(visitor) };
      const paid = revenue === undefined ? {} : { revenue: { amount: revenue, currency: "EUR" } };
      const url = new URL(`https://${host}${path}`);
      const { dropped } = await recorder().record({ name, url, referrer: referrers[from], ...shared, ...paid });
      if (dropped !== null) throw new Error(`an event was dropped: ${dropped}`);
    },
    async token(at: string, visitor: number): Promise<string | null> {
      now = Date.parse(at);
      return recorder().visit(senderOf(visitor));
    },
    run: (at: string, token: string | null, run: Run = {}, owner = accountId) =>
      addRun(pool, { at, token, owner, ...run }),
    drain: () => Promise.all(recorders.map((each) => each.drain())),
  };
}

export type CostSite = Awaited<ReturnType<typeof makeCostSite>>;

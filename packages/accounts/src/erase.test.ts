import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { byRole, createPool, grantRoles, roleUrl } from "@waymark/database";
import { useDatabase, useRolePrefix } from "@waymark/testing";
import { createRecorder, importEvents, SiteDeletedError } from "@waymark/web-stats/analytics";
import { eraseAccount, eraseDeletedSites, eraseMovedAccount, eraseOrphans, eraseSite } from "./erase.js";
import { countRows, fill, makeFullAccount, total } from "./full-account.fixture.js";

const database = useDatabase();
const { pool } = database;
const goOn = { isStopping: () => false };

async function leftOf({ accountId, siteId }: { accountId: string; siteId: string }) {
  const counts = { ...(await countRows(pool, "account_id", accountId)), ...(await countRows(pool, "site_id", siteId)) };
  const { rowCount } = await pool.query("SELECT FROM account WHERE id = $1", [accountId]);
  return { rows: total(counts), accounts: rowCount, tables: Object.keys(counts).length };
}

describe("eraseAccount", () => {
  it("leaves nothing of the account in any table of the database, and everything of another", async () => {
    const [gone, kept] = [await makeFullAccount(pool), await makeFullAccount(pool)];
    const before = await leftOf(kept);
    expect(before.tables).toBeGreaterThan(15);
    expect(before.rows).toBeGreaterThanOrEqual(before.tables - 1);
    const erased = await eraseAccount(pool, gone.accountId, goOn);
    expect(await leftOf(gone)).toMatchObject({ rows: 0, accounts: 0 });
    expect(await leftOf(kept)).toEqual(before);
    const { rows: people } = await pool.query("SELECT id FROM person WHERE id = ANY ($1)", [
      [gone.accountId, kept.accountId],
    ]);
    expect(people).toEqual([{ id: kept.accountId }]);
    expect(erased).toMatchObject({
      trace: 1,
      span: 1,
      alert: 1,
      alert_summary: 1,
      event: 1,
      site: 1,
      account: 1,
    });
  });

  it("deletes the account before the first piece of its rows, and the worker goes on where it was stopped", async () => {
    const { accountId, siteId } = await makeFullAccount(pool);
    await pool.query(
      `INSERT INTO span (account_id, trace_id, id, name, status, started_at)
       SELECT $1, gen_random_uuid(), gen_random_uuid(), 's', 'ok', now() FROM generate_series(1, 4500)`,
      [accountId],
    );
    const pieces: number[] = [];
    const control = {
      isStopping: () => pieces.length > 1,
      onProgress: (table: string, rows: number) => void (table === "span" && pieces.push(rows)),
    };
    await eraseAccount(pool, accountId, control);
    expect(pieces).toEqual([2_000, 4_000]);
    const left =
      "SELECT (SELECT count(*) FROM api_key WHERE account_id = $1) + (SELECT count(*) FROM account WHERE id = $1) AS n";
    expect((await pool.query(left, [accountId])).rows).toEqual([{ n: "0" }]);
    await eraseDeletedSites(pool, goOn);
    expect(await eraseOrphans(pool, goOn)).toMatchObject({ span: 501 });
    expect(await leftOf({ accountId, siteId })).toMatchObject({ rows: 0, accounts: 0 });
  });

  it("removes events of all months in pieces", async () => {
    const { accountId, siteId } = await makeFullAccount(pool);
    await pool.query("SELECT ensure_event_partition('2026-01-01'), ensure_event_partition('2026-02-01')");
    await pool.query(
      `INSERT INTO event (site_id, id, at, type, channel)
       SELECT $1, overlay(gen_random_uuid()::text PLACING left(uuid_floor(at)::text, 13) FROM 1)::uuid, at, 'pageview', 'Direct'
       FROM generate_series('2025-12-31'::timestamptz, '2026-03-01', interval '20 minutes') AS at`,
      [siteId],
    );
    const pieces: number[] = [];
    const onProgress = (table: string, rows: number) => void (table === "event" && pieces.push(rows));
    await eraseAccount(pool, accountId, { ...goOn, onProgress });
    expect(pieces).toEqual([2_000, 4_000, 4_322]);
    expect(await leftOf({ accountId, siteId })).toMatchObject({ rows: 0, accounts: 0 });
  });

  it("removes what a request under way wrote while it went on", async () => {
    const { accountId, siteId } = await makeFullAccount(pool);
    let isLate = true;
    const writeLate = async () => {
      isLate = false;
      await pool.query("INSERT INTO trace_usage VALUES ($1, '2020-01-01', 1)", [accountId]);
    };
    const late: Promise<void>[] = [];
    await eraseAccount(pool, accountId, {
      isStopping: () => false,
      onProgress: (table) => void (table === "trace_usage" && isLate && late.push(writeLate())),
    });
    await Promise.all(late);
    await eraseOrphans(pool, goOn);
    expect(await leftOf({ accountId, siteId })).toMatchObject({ rows: 0, accounts: 0 });
  });
});

describe("eraseSite", () => {
  it("leaves nothing of the site, and the account's other site as it was", async () => {
    const { accountId, siteId } = await makeFullAccount(pool);
    const other = randomUUID();
    await pool.query("INSERT INTO site (id, account_id, domain, name) VALUES ($1, $2, 'other.example', 's')", [
      other,
      accountId,
    ]);
    await fill(pool, "site_id", other);
    const [kept, account] = [
      await countRows(pool, "site_id", other),
      (await countRows(pool, "account_id", accountId))["trace"],
    ];
    await eraseSite(pool, siteId, goOn);
    expect(total(await countRows(pool, "site_id", siteId))).toBe(0);
    expect(await countRows(pool, "site_id", other)).toEqual(kept);
    expect((await countRows(pool, "account_id", accountId))["trace"]).toBe(account);
    const { rows } = await pool.query("SELECT id FROM site WHERE account_id = $1", [accountId]);
    expect(rows).toEqual([{ id: other }]);
  });
});

describe("a stopped eraseSite", () => {
  it("has deleted the site with its shared keys before its figures, and the worker goes on", async () => {
    const { accountId, siteId } = await makeFullAccount(pool);
    const seen: number[] = [];
    const onProgress = () =>
      void pool.query("SELECT FROM site WHERE id = $1", [siteId]).then(({ rowCount }) => seen.push(rowCount ?? 0));
    await eraseSite(pool, siteId, { isStopping: () => seen.length > 0, onProgress });
    expect(seen[0]).toBe(0);
    const { rows } = await pool.query("SELECT service, revoked_at FROM api_key WHERE account_id = $1 OR site_id = $2", [
      accountId,
      siteId,
    ]);
    expect(rows).toEqual([{ service: "trace", revoked_at: null }]);
    await eraseDeletedSites(pool, goOn);
    expect(total(await countRows(pool, "site_id", siteId))).toBe(0);
  });
});

describe("eraseSite among writers", () => {
  const beacon = (domain: string, n: number) => ({
    name: "pageview",
    url: new URL(`https://${domain}/${n % 7}`),
    isHashPath: false,
    domains: [domain],
    referrer: null,
    props: null,
    ip: `192.0.2.${n % 50}`,
    userAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0",
    country: null,
  });

  it("lets no beacon fail, ends an import with an error, and leaves no row behind", async () => {
    const recorder = createRecorder({ pool });
    for (let round = 0; round < 2; round++) {
      const domain = `${randomUUID()}.example`;
      const { siteId } = await makeFullAccount(pool, { domain });
      let isOver = false;
      let sent = 0;
      const send = async () => {
        while (!isOver) await recorder.record(beacon(domain, sent++));
      };
      async function* lines() {
        for (let n = 0; !isOver; n++) {
          yield Buffer.from(`${JSON.stringify({ ts: new Date(), path: `/${n % 7}`, visitor: `${n}` })}\n`);
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
      }
      const sending = Promise.all(Array.from({ length: 3 }, send));
      const site = { id: siteId, domain };
      const importing = importEvents({ pool: database.directPool, site, input: lines() }).catch(
        (error: Error) => error,
      );
      const begun = (async () => {
        while (sent < 200) await new Promise((resolve) => setImmediate(resolve));
      })();
      await Promise.race([begun, sending]);
      await eraseSite(pool, siteId, goOn);
      isOver = true;
      await sending;
      expect(await importing).toBeInstanceOf(SiteDeletedError);
      await eraseDeletedSites(pool, goOn);
      expect(total(await countRows(pool, "site_id", siteId))).toBe(0);
    }
    await recorder.drain();
  });
});

describe("eraseMovedAccount", () => {
  it("keeps the account's row to the end, goes on where it was stopped, and lets its site come back", async () => {
    const { accountId, siteId } = await makeFullAccount(pool);
    let batches = 0;
    await eraseMovedAccount(pool, accountId, { isStopping: () => batches > 2, onProgress: () => void batches++ });
    expect(await leftOf({ accountId, siteId })).toMatchObject({ accounts: 1 });
    expect(await eraseMovedAccount(pool, accountId, goOn)).toMatchObject({ site: 1, account: 1 });
    expect(await leftOf({ accountId, siteId })).toMatchObject({ rows: 0, accounts: 0 });
    expect((await pool.query("SELECT FROM deleted_site WHERE id = $1", [siteId])).rowCount).toBe(0);
  });
});

describe("eraseOrphans", () => {
  it("removes what accounts and sites left that were deleted by SQL, and nothing else", async () => {
    const [gone, kept] = [await makeFullAccount(pool), await makeFullAccount(pool)];
    const before = await leftOf(kept);
    await pool.query("DELETE FROM account WHERE id = $1", [gone.accountId]);
    expect((await leftOf(gone)).rows).toBeGreaterThan(10);
    const erased = await eraseOrphans(pool, goOn);
    expect(await leftOf(gone)).toMatchObject({ rows: 0 });
    expect(await leftOf(kept)).toEqual(before);
    expect(erased).toMatchObject({ trace: 1, event: 1 });
    expect(await eraseOrphans(pool, goOn)).toEqual({});
  });

  it("removes nothing where there is no account at all, as while a dump is restored", async () => {
    const { accountId } = await makeFullAccount(pool);
    await pool.query("DELETE FROM account");
    await eraseOrphans(pool, goOn);
    expect((await countRows(pool, "account_id", accountId))["trace"]).toBe(1);
  });
});

const prefix = useRolePrefix();

describe("eraseOrphans as the worker's role", () => {
  const passwords = byRole((role) => `password-of-${role}`);

  it("removes what accounts and sites left", async () => {
    await grantRoles(database.url, passwords, prefix);
    await pool.query("DELETE FROM account");
    const id = "00000000-0000-7000-8000-000000000001";
    await pool.query("INSERT INTO account (id, email, plan) VALUES ($1, 'one@example.com', 'pro')", [id]);
    await pool.query("INSERT INTO site (id, account_id, domain, name) VALUES ($1, $1, 'one.example', 's')", [id]);
    await eraseOrphans(pool, goOn);
    await pool.query("INSERT INTO daily_size VALUES (gen_random_uuid(), '2026-01-01', 'page', 1)");
    await pool.query("INSERT INTO trace_usage VALUES (gen_random_uuid(), '2026-01-01', 1)");
    const workerPool = createPool({
      connectionString: roleUrl(database.url, "worker", passwords.worker, prefix),
      maxConnections: 1,
      applicationName: "test",
      statementTimeoutMs: 10_000,
    });
    expect(await eraseOrphans(workerPool, goOn)).toEqual({ daily_size: 1, trace_usage: 1 });
    await workerPool.end();
  });
});

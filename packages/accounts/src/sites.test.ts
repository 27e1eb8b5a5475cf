import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { createPrisma } from "@waymark/database/prisma";
import { useDatabase } from "@waymark/testing";
import { createAccount } from "./accounts.js";
import { createSite, findSite, findSitesOfDomain, listSites, renameSite } from "./sites.js";
import { countOwned, countOwnedBySite, readUsage } from "./usage.js";

const { pool } = useDatabase();
const prisma = createPrisma(pool);

async function newAccount(): Promise<string> {
  return (await createAccount(prisma, { email: `${randomUUID()}@example.com`, plan: "pro" })).id;
}

const newSite = async (accountId: string, domain = `${randomUUID()}.example`) =>
  (await createSite(pool, { accountId, domain, name: "s", whenTaken: "share" as const })).site;

describe("a site", () => {
  it("is found by its id and by its domain, oldest first", async () => {
    const [accountId, other] = [await newAccount(), await newAccount()];
    const site = await newSite(accountId);
    expect(await findSite(pool, { siteId: site.id })).toEqual(site);
    expect(await findSite(pool, { siteId: site.id, accountId })).toEqual(site);
    const second = await newSite(other, site.domain);
    expect(await findSitesOfDomain(pool, `https://${site.domain.toUpperCase()}/`)).toEqual([site, second]);
    expect(await findSitesOfDomain(pool, "nothing.example")).toEqual([]);
    await expect(findSitesOfDomain(pool, "no domain")).rejects.toMatchObject({ refusal: "invalid_domain" });
  });

  it("of another account is not found where the account is given", async () => {
    const [accountId, other] = [await newAccount(), await newAccount()];
    const site = await newSite(accountId);
    const foreign = { siteId: site.id, accountId: other };
    await expect(findSite(pool, foreign)).rejects.toMatchObject({ refusal: "unknown_site" });
    const change = { ...foreign, name: "x", whenTaken: "share" as const };
    await expect(renameSite(pool, change)).rejects.toMatchObject({ refusal: "unknown_site" });
    await expect(renameSite(pool, { ...change, siteId: "x" })).rejects.toMatchObject({ refusal: "unknown_site" });
    expect(await listSites(pool, accountId)).toEqual([site]);
  });

  it("gets another name, another domain, or both", async () => {
    const accountId = await newAccount();
    const { id: siteId, domain } = await newSite(accountId);
    const change = { siteId, accountId };
    expect(await renameSite(pool, { ...change, name: "n" })).toEqual({ id: siteId, domain, name: "n" });
    const moved = `${randomUUID()}.example`;
    expect(await renameSite(pool, { ...change, domain: moved })).toMatchObject({ domain: moved, name: "n" });
    expect(await renameSite(pool, { ...change, name: "m", domain })).toMatchObject({ domain, name: "m" });
  });

  it("is refused with a code", async () => {
    const [accountId, other] = [await newAccount(), await newAccount()];
    const { domain } = await newSite(accountId);
    const create = (input: { accountId: string; domain: string; name: string }) => createSite(pool, input);
    for (const [input, refusal] of [
      [{ accountId: other, domain, name: "s" }, "domain_taken"],
      [{ accountId, domain: "no domain", name: "s" }, "invalid_domain"],
      [{ accountId, domain, name: " " }, "invalid_name"],
      [{ accountId: randomUUID(), domain, name: "s" }, "unknown_account"],
    ] as const) {
      await expect(create(input)).rejects.toMatchObject({ name: "AccountError", refusal });
    }
    for (let n = 1; n < 10; n++) await newSite(accountId, domain);
    await expect(create({ accountId, domain, name: "s" })).rejects.toMatchObject({ refusal: "domain_full" });
  });
});

describe("what an account has", () => {
  it("is counted, traces up to ten thousand", async () => {
    const accountId = await newAccount();
    const { id } = await newSite(accountId);
    await pool.query("INSERT INTO goal (id, site_id, name, page) VALUES (gen_random_uuid(), $1, 'g', '/')", [id]);
    await pool.query("INSERT INTO funnel (id, site_id, name) VALUES (gen_random_uuid(), $1, 'f')", [id]);
    expect(await countOwnedBySite(pool, id)).toEqual({ goals: 1, funnels: 1 });
    const addTraces = (count: number) =>
      pool.query(
        `INSERT INTO trace (account_id, id, agent_id, name, status, started_at)
         SELECT $1, gen_random_uuid(), 'a', 'n', 'success', now() FROM generate_series(1, $2::int)`,
        [accountId, count],
      );
    await addTraces(10_000);
    const owned = { sites: 1, keys: 0, goals: 1, funnels: 1, traces: 10_000 };
    expect(await countOwned(pool, accountId)).toEqual({ ...owned, hasMoreTraces: false });
    await addTraces(1);
    expect(await countOwned(pool, accountId)).toEqual({ ...owned, hasMoreTraces: true });
  });

  it("is its use of the month, too", async () => {
    const accountId = await newAccount();
    await pool.query("INSERT INTO trace_usage VALUES ($1, '2026-05-01', 17), ($1, '2026-04-01', 900)", [accountId]);
    await pool.query("INSERT INTO agent (account_id, id) VALUES ($1, 'a'), ($1, 'b')", [accountId]);
    expect(await readUsage(pool, accountId, new Date("2026-05-31T23:59:59Z"))).toMatchObject({
      account_id: accountId,
      month: "2026-05",
      traces: { current: 17, limit: 50_000 },
      agents: { current: 2, limit: null },
      resets_in_seconds: 1,
    });
  });
});

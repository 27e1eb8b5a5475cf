import { describe, expect, it } from "@jest/globals";
import { hashApiKey } from "@waymark/auth";
import { createPrisma } from "@waymark/database/prisma";
import { useDatabase } from "@waymark/testing";
import { createAccount } from "./accounts.js";
import { issueKey, listKeys, maxKeysPerAccount, readLiveKeys, renameKey, revokeKey } from "./keys.js";
import { createSite, shareSite } from "./sites.js";

const { pool } = useDatabase();
const prisma = createPrisma(pool);
const nobody = "00000000-0000-7000-8000-000000000000";
let accounts = 0;

async function makeSite() {
  const { id: accountId } = await createAccount(prisma, { email: `share-${++accounts}@example.com`, plan: "pro" });
  const { site } = await createSite(pool, { accountId, domain: `site-${accounts}.example`, name: "s" });
  return { accountId, siteId: site.id, domain: site.domain };
}

const hourMs = 3_600_000;
const later = () => new Date(Date.now() + hourMs);
const end = (keyId: string) => pool.query("UPDATE api_key SET expires_at = now() WHERE id = $1", [keyId]);

describe("shareSite", () => {
  it("makes a key of the site's account, whose hash alone is stored", async () => {
    const { siteId, accountId, domain } = await makeSite();
    const expiresAt = later();
    const shared = await shareSite(pool, { siteId, name: "agency", expiresAt });
    expect(shared).toEqual({
      id: expect.any(String),
      key: expect.stringMatching(/^wmk_stats_/),
      expires_at: expiresAt.toISOString(),
    });
    const { rows } = await pool.query("SELECT hash FROM api_key WHERE id = $1", [shared.id]);
    expect(rows).toEqual([{ hash: hashApiKey(shared.key) }]);
    const bounds = { site_id: siteId, site: domain, expires_at: shared.expires_at, revoked_at: null };
    const [listed] = await listKeys(pool, accountId);
    expect(listed).toMatchObject({ id: shared.id, service: "analytics", name: "agency", ...bounds });
    expect(await renameKey(pool, { keyId: shared.id, name: "new" })).toEqual({ ...listed, name: "new" });
    const [live] = await readLiveKeys(pool, accountId);
    expect(live).toMatchObject({ service: "analytics", createdBy: null, share: { siteId, domain, expiresAt } });
  });

  it("makes a key without an end, and others have neither site nor end", async () => {
    const { siteId, accountId, domain } = await makeSite();
    expect(await shareSite(pool, { siteId, name: "k", expiresAt: null })).toMatchObject({ expires_at: null });
    await issueKey(pool, { accountId, service: "analytics", name: "whole" });
    expect(await listKeys(pool, accountId)).toMatchObject([
      { site: domain, expires_at: null },
      { site_id: null, site: null, expires_at: null },
    ]);
    const [whole, shared] = await readLiveKeys(pool, accountId);
    expect(Object.keys(whole ?? {})).not.toContain("share");
    expect(shared?.share).toEqual({ siteId, domain, expiresAt: null });
  });

  it("knows no site by another id", async () => {
    for (const siteId of [nobody, "x"]) {
      const refused = shareSite(pool, { siteId, name: "k", expiresAt: null });
      await expect(refused).rejects.toMatchObject({ refusal: "unknown_site" });
    }
  });

  it("counts towards the account's keys while the key works, also at once", async () => {
    const { siteId, accountId } = await makeSite();
    for (let n = 0; n < maxKeysPerAccount - 3; n++) await issueKey(pool, { accountId, service: "trace", name: "k" });
    const share = () => shareSite(pool, { siteId, name: "k", expiresAt: later() });
    const outcomes = await Promise.allSettled(Array.from({ length: 5 }, share));
    const made = outcomes.flatMap((each) => (each.status === "fulfilled" ? [each.value.id] : []));
    expect(made).toHaveLength(3);
    await expect(share()).rejects.toMatchObject({ refusal: "too_many_keys" });
    const [ended = "", revoked = ""] = made;
    await end(ended);
    await share();
    await expect(share()).rejects.toMatchObject({ refusal: "too_many_keys" });
    await revokeKey(pool, { keyId: revoked });
    await share();
    expect(await readLiveKeys(pool, accountId)).toHaveLength(maxKeysPerAccount);
  });

  it("goes with its site, and leaves the account's other keys", async () => {
    const { siteId, accountId } = await makeSite();
    await shareSite(pool, { siteId, name: "k", expiresAt: null });
    await issueKey(pool, { accountId, service: "analytics", name: "whole" });
    await pool.query("DELETE FROM site WHERE id = $1", [siteId]);
    expect(await listKeys(pool, accountId)).toMatchObject([{ name: "whole" }]);
  });
});

describe("an ended key", () => {
  it("leaves the live ones, and stays listed with its end", async () => {
    const { siteId, accountId } = await makeSite();
    const { id } = await shareSite(pool, { siteId, name: "k", expiresAt: later() });
    await end(id);
    expect(await readLiveKeys(pool, accountId)).toEqual([]);
    expect(await listKeys(pool, accountId)).toMatchObject([{ id, revoked_at: null, expires_at: expect.any(String) }]);
  });
});

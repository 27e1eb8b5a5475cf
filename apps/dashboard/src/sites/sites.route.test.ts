import { describe, expect, it } from "@jest/globals";
import { createSite, eraseDeletedSites } from "@waymark/accounts";
import { createSiteDirectory } from "@waymark/web-stats/analytics";
import { type SignedIn, useDashboard } from "../dashboard.fixture.js";
import { createRecordNetwork, newDomain } from "./sites.fixture.js";

const { records, network } = createRecordNetwork();
let allowed = 0;
const spend = async () => ({ isAllowed: allowed-- > 0, remaining: allowed, resetSeconds: 7 });
const dashboard = useDashboard({ deps: { proofs: { limiter: { spend }, network } } });
const nobody = "00000000-0000-7000-8000-000000000000";
const newOwner = async () => dashboard.signIn(await dashboard.makeAccount());
const add = async (owner: SignedIn, domain: string) =>
  (await owner.post("/sites", { domain, name: "My site" }).expect(201)).body;
/** The sites that the collector gives a domain's events. */
async function receiving(domain: string): Promise<string[]> {
  return (await createSiteDirectory(dashboard).find(domain)).map(({ id }) => id);
}

async function addVisit(siteId: string, day: string) {
  const sql =
    "INSERT INTO daily_stat (site_id, dimension, day, value, visitors, pageviews) VALUES ($1, 'total', $2, '', 1, 1)";
  await dashboard.pool.query(sql, [siteId, day]);
}

describe("PUT /sites/:id/costs", () => {
  it("200: switches what a visit costs on and off, which the record says, and 404 or 403 otherwise", async () => {
    const owner = await newOwner();
    const site = await add(owner, newDomain());
    expect(site.countsCosts).toBe(false);
    const put = (countsCosts: boolean) => owner.put(`/sites/${site.id}/costs`, { countsCosts });
    expect((await put(true).expect(200)).body).toEqual({ ...site, countsCosts: true });
    const until = async () =>
      (await dashboard.pool.query("SELECT costs_until FROM site WHERE id = $1", [site.id])).rows[0];
    const first = await until();
    await put(true).expect(200);
    expect(await until()).toEqual(first);
    expect((await put(false).expect(200)).body).toEqual(site);
    expect(await until()).toEqual({ costs_until: null });
    const { rows } = await dashboard.pool.query("SELECT action FROM audit WHERE account_id = $1 ORDER BY id", [
      owner.accountId,
    ]);
    expect(rows.map(({ action }) => action)).toEqual(["site_costs_on", "site_costs_on", "site_costs_off"]);
    expect((await owner.put(`/sites/${site.id}/costs`, { countsCosts: 1 }).expect(400)).body.fields).toHaveProperty(
      "countsCosts",
    );
    await (await newOwner()).put(`/sites/${site.id}/costs`, { countsCosts: true }).expect(404);
    await (await dashboard.signIn(owner.accountId, "member"))
      .put(`/sites/${site.id}/costs`, { countsCosts: true })
      .expect(403);
  });
});

describe("GET and POST /sites", () => {
  it("201: adds a site that gets its domain's events, and 200: lists it with its first and last day", async () => {
    const owner = await newOwner();
    const domain = newDomain();
    const site = await add(owner, `https://${domain.toUpperCase()}/path`);
    const nothingYet = { firstDay: null, lastDay: null, isWaiting: false, proof: expect.any(Object) };
    expect(site).toEqual({ ...site, domain, name: "My site", ...nothingYet });
    expect(await receiving(domain)).toEqual([site.id]);
    for (const day of ["2026-11-02", "2026-11-01"]) await addVisit(site.id, day);
    const sql =
      "INSERT INTO daily_event (site_id, day, name, property, value, count) VALUES ($1, $2, 'signup', '', '', 1)";
    await dashboard.pool.query(sql, [site.id, "2026-11-05"]);
    const { body } = await owner.get("/sites").expect(200);
    expect(body).toEqual({ sites: [{ ...site, firstDay: "2026-11-01", lastDay: "2026-11-05" }] });
    expect((await (await newOwner()).get("/sites")).body).toEqual({ sites: [] });
  });

  it("201: lets members add", async () => {
    const member = await dashboard.signIn(await dashboard.makeAccount(), "member");
    await add(member, newDomain());
  });

  it("400: names the field", async () => {
    const owner = await newOwner();
    const { body } = await owner.post("/sites", { domain: "no domain", name: "x" }).expect(400);
    expect(body.fields).toEqual({ domain: "'no domain' is not a domain. Give one like example.com." });
    const domain = newDomain();
    for (let n = 0; n < 10; n++) await add(owner, domain);
    const { body: full } = await owner.post("/sites", { domain, name: "x" }).expect(400);
    expect(full.fields.domain).toContain("has 10 sites");
  });

  it("409: adds two hundred sites and no more", async () => {
    const owner = await newOwner();
    const sql =
      "INSERT INTO site (id, account_id, domain, name) SELECT gen_random_uuid(), $1, 'd' || n || '.example', 'x' FROM generate_series(1, 199) n";
    await dashboard.pool.query(sql, [owner.accountId]);
    await add(owner, newDomain());
    const { body } = await owner.post("/sites", { domain: newDomain(), name: "x" }).expect(409);
    expect(body).toMatchObject({ limit: 200, reason: "An account has at most 200 sites." });
  });
});

describe("PATCH and DELETE /sites/:id", () => {
  it("200: changes the name alone", async () => {
    const owner = await newOwner();
    const site = await add(owner, newDomain());
    const { body } = await owner.patch(`/sites/${site.id}`, { name: "Other" }).expect(200);
    expect(body).toEqual({ ...site, name: "Other" });
    await owner.patch(`/sites/${site.id}`, { name: "x", domain: "other.example" }).expect(400);
  });

  it("200: deletes the site at once, and the worker removes its figures, also of the last site of all", async () => {
    const owner = await newOwner();
    const domain = newDomain();
    const { id } = await add(owner, domain);
    await addVisit(id, "2026-11-01");
    await owner.delete(`/sites/${id}`).expect(200);
    expect((await owner.get("/sites")).body).toEqual({ sites: [] });
    expect(await receiving(domain)).toEqual([]);
    const [entry] = (await owner.get("/audit")).body.entries;
    expect(entry).toMatchObject({ action: "site_deleted", subject: domain });
    expect(await eraseDeletedSites(dashboard.pool, { isStopping: () => false })).toMatchObject({ daily_stat: 1 });
    const left = async () => (await dashboard.pool.query("SELECT FROM deleted_site WHERE id = $1", [id])).rowCount;
    expect(await left()).toBe(1);
    await dashboard.pool.query("UPDATE deleted_site SET deleted_at = now() - interval '6 minutes'");
    await eraseDeletedSites(dashboard.pool, { isStopping: () => false });
    expect(await left()).toBe(0);
    expect(await add(await newOwner(), domain)).toMatchObject({ isWaiting: false });
  });

  it("403: keeps deletion from members", async () => {
    const owner = await newOwner();
    const { id } = await add(owner, newDomain());
    const member = await dashboard.signIn(owner.accountId, "member");
    await member.delete(`/sites/${id}`).expect(403);
    await member.patch(`/sites/${id}`, { name: "n" }).expect(200);
  });

  it("404: knows no site of another account, no unknown and no malformed one", async () => {
    const [owner, other] = [await newOwner(), await newOwner()];
    const { id } = await add(owner, newDomain());
    for (const unknown of [id, nobody, "x"]) {
      await other.patch(`/sites/${unknown}`, { name: "n" }).expect(404);
      await other.delete(`/sites/${unknown}`).expect(404);
      await other.post(`/sites/${unknown}/proof`).expect(404);
    }
    expect((await owner.get("/sites")).body.sites).toMatchObject([{ id, name: "My site" }]);
  });
});

describe("a domain that two accounts claim", () => {
  const stateOf = async (owner: Awaited<ReturnType<typeof newOwner>>) => (await owner.get("/sites")).body.sites[0];

  it("delivers to none of them before a proof, then to who proved it, whoever asks afterwards", async () => {
    allowed = 100;
    const [first, second] = [await newOwner(), await newOwner()];
    const domain = newDomain();
    const held = await add(first, domain);
    expect(held).toMatchObject({ isWaiting: false });
    expect(await receiving(domain)).toEqual([held.id]);
    const waiting = await add(second, `www.${domain}`);
    for (const asked of [domain, `www.${domain}`]) expect(await receiving(asked)).toEqual([]);
    expect([(await stateOf(first)).isWaiting, (await stateOf(second)).isWaiting]).toEqual([true, true]);
    records.set(`_waymark.${domain}`, held.proof.text);
    expect((await first.post(`/sites/${held.id}/proof`).expect(200)).body).toEqual({ isProven: true });
    expect(await receiving(domain)).toEqual([held.id]);
    expect(await stateOf(first)).toMatchObject({ isWaiting: false, proof: null });
    expect(await stateOf(second)).toMatchObject({ id: waiting.id, isWaiting: true });
    await add(await newOwner(), domain);
    expect(await receiving(domain)).toEqual([held.id]);
  });

  it("delivers to the first again when the second takes its claim back", async () => {
    const [first, second] = [await newOwner(), await newOwner()];
    const domain = newDomain();
    const held = await add(first, domain);
    const rival = await add(second, domain);
    expect(await receiving(domain)).toEqual([]);
    await second.delete(`/sites/${rival.id}`).expect(200);
    expect(await receiving(domain)).toEqual([held.id]);
  });

  it("delivers on where the operator made the first site", async () => {
    const accountId = await dashboard.makeAccount();
    const domain = newDomain();
    const { site } = await createSite(dashboard.pool, { accountId, domain, name: "By command" });
    await add(await newOwner(), domain);
    expect(await receiving(domain)).toEqual([site.id]);
  });

  it("409: is one of five unproven ones of a Free account at most; proven ones do not count", async () => {
    allowed = 100;
    const owner = await dashboard.signIn(await dashboard.makeAccount("free"));
    const sites = [];
    for (let n = 0; n < 5; n++) sites.push(await add(owner, newDomain()));
    const { body } = await owner.post("/sites", { domain: newDomain(), name: "x" }).expect(409);
    const reason = "A Free account has at most 5 sites of unproven domains. Prove one first.";
    expect(body).toMatchObject({ limit: 5, reason });
    records.set(`_waymark.${sites[0].domain}`, sites[0].proof.text);
    await owner.post(`/sites/${sites[0].id}/proof`).expect(200, { isProven: true });
    await add(owner, newDomain());
    const pro = await newOwner();
    for (let n = 0; n < 6; n++) await add(pro, newDomain());
  });
});

describe("POST /sites/:id/proof", () => {
  it("200: gives a proven domain's further events to the account, and the former holder's sites wait", async () => {
    allowed = 100;
    const [first, second] = [await newOwner(), await newOwner()];
    const domain = newDomain();
    const held = await add(first, domain);
    const waiting = await add(second, `www.${domain}`);
    expect(waiting.proof).toEqual({
      text: expect.stringMatching(/^waymark-site=[0-9a-f]{32}$/),
      fileUrl: `https://${domain}/.well-known/waymark-site.txt`,
      recordName: `_waymark.${domain}`,
    });
    expect(await receiving(`www.${domain}`)).toEqual([]);

    const refused = await second.post(`/sites/${waiting.id}/proof`).expect(200);
    expect(refused.body).toEqual({
      isProven: false,
      file: "The domain has no address.",
      record: "There is no TXT record.",
    });
    records.set(`_waymark.${domain}`, held.id);
    expect((await second.post(`/sites/${waiting.id}/proof`)).body).toMatchObject({ isProven: false });
    expect(await receiving(`www.${domain}`)).toEqual([]);

    records.set(`_waymark.${domain}`, waiting.proof.text);
    expect((await second.post(`/sites/${waiting.id}/proof`).expect(200)).body).toEqual({ isProven: true });
    expect(await receiving(`www.${domain}`)).toEqual([waiting.id]);
    expect((await second.get("/sites")).body.sites).toMatchObject([{ id: waiting.id, proof: null }]);
    const [lost] = (await first.get("/sites")).body.sites;
    expect(lost).toMatchObject({ id: held.id, proof: { recordName: `_waymark.${domain}` } });
    expect(lost.proof.text).not.toBe(waiting.proof.text);
    expect((await first.get("/audit")).body.entries[0]).toMatchObject({ action: "site_lost", person: null });
    expect((await second.get("/audit")).body.entries[0]).toMatchObject({
      action: "site_proven",
      subject: `www.${domain}`,
    });
  });

  it("200: needs no proof once the domain is free, and gives a free domain to nobody unasked", async () => {
    allowed = 100;
    const [first, second] = [await newOwner(), await newOwner()];
    const domain = newDomain();
    const held = await add(first, domain);
    const waiting = await add(second, domain);
    await first.delete(`/sites/${held.id}`).expect(200);
    expect(await receiving(domain)).toEqual([]);
    expect((await second.post(`/sites/${waiting.id}/proof`)).body).toEqual({ isProven: true });
    expect(await receiving(domain)).toEqual([waiting.id]);
  });

  it("403: lets no member take a domain from another account", async () => {
    const [first, second] = [await newOwner(), await newOwner()];
    const domain = newDomain();
    await add(first, domain);
    const member = await dashboard.signIn(second.accountId, "member");
    const waiting = await add(member, domain);
    records.set(`_waymark.${domain}`, waiting.proof.text);
    const { body } = await member.post(`/sites/${waiting.id}/proof`).expect(403);
    expect(body).toEqual({ error: "Only an owner of the account may do this" });
    expect(await receiving(domain)).toEqual([]);
  });

  it("429: bounds an account's checks", async () => {
    const [first, second] = [await newOwner(), await newOwner()];
    const domain = newDomain();
    await add(first, domain);
    const { id } = await add(second, domain);
    allowed = 1;
    await second.post(`/sites/${id}/proof`).expect(200);
    const answer = await second.post(`/sites/${id}/proof`).expect(429);
    expect(answer.headers["retry-after"]).toBe("7");
  });
});

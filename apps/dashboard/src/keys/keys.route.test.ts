import { describe, expect, it } from "@jest/globals";
import { createSite, issueKey, shareSite } from "@waymark/accounts";
import { createKeyDirectory } from "@waymark/auth";
import { createLogger } from "@waymark/service";
import { directUrlOf } from "@waymark/testing";
import { useDashboard } from "../dashboard.fixture.js";

const dashboard = useDashboard();
const nobody = "00000000-0000-7000-8000-000000000000";

async function team() {
  const accountId = await dashboard.makeAccount("free");
  const [owner, member] = [await dashboard.signIn(accountId), await dashboard.signIn(accountId, "member")];
  return { accountId, owner, member };
}

describe("POST /keys", () => {
  it("201: shows the key once, and its hash is stored with its maker", async () => {
    const { member, owner } = await team();
    const { body } = await member.post("/keys", { name: " laptop ", service: "trace" }).expect(201);
    expect(body).toEqual({
      id: expect.any(String),
      name: "laptop",
      service: "trace",
      scope: "all",
      key: expect.stringMatching(/^wmk_trace_/),
    });
    const { body: list, text } = await owner.get("/keys").expect(200);
    expect(list.keys).toEqual([
      {
        ...{
          id: body.id,
          name: "laptop",
          service: "trace",
          scope: "all",
          hint: `wmk_trace_…${body.key.slice(-4)}`,
          lastUsedAt: null,
        },
        createdBy: { id: member.personId, name: "A member" },
        createdAt: expect.any(String),
      },
    ]);
    expect(text).not.toContain(body.key);
    const { body: audit } = await owner.get("/audit").expect(200);
    expect(audit.entries[0]).toMatchObject({ action: "key_created", subject: "laptop", person: "A member" });
  });

  it("201: makes a key of the trace API with a scope; 400 for an unknown one, or for the analytics API", async () => {
    const { owner } = await team();
    const make = (service: string, scope: string) => owner.post("/keys", { name: "k", service, scope });
    expect((await make("trace", "ingest").expect(201)).body).toMatchObject({ scope: "ingest" });
    expect((await owner.get("/keys")).body.keys).toMatchObject([{ service: "trace", scope: "ingest" }]);
    for (const [service, scope] of [
      ["trace", "write"],
      ["analytics", "read"],
    ] as const)
      expect(Object.keys((await make(service, scope).expect(400)).body.fields)).toEqual(["scope"]);
  });

  it("400: wants a name and one of both services", async () => {
    const { owner } = await team();
    const { body } = await owner.post("/keys", { name: " ", service: "web" }).expect(400);
    expect(Object.keys(body.fields)).toEqual(["name", "service"]);
    await owner.post("/keys", { name: "a\u0000", service: "trace" }).expect(400);
  });

  it("409: makes a hundredth key and no more, also at once, until one is revoked", async () => {
    const { owner, accountId } = await team();
    for (let n = 0; n < 97; n++) await issueKey(dashboard.pool, { accountId, service: "trace", name: "k" });
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => owner.post("/keys", { name: "k", service: "analytics" })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, 409, 409, 409]);
    expect(answers.find(({ status }) => status === 409)?.body).toEqual({
      error: "The account has no room for another one",
      limit: 100,
      reason: "An account has at most 100 keys. Revoke one that is not used.",
    });
    const { keys } = (await owner.get("/keys")).body;
    await owner.delete(`/keys/${keys[0].id}`).expect(200);
    await owner.post("/keys", { name: "k", service: "trace" }).expect(201);
  });
});

describe("a shared key", () => {
  async function share(accountId: string, expiresAt: Date | null) {
    const domain = `${accountId}.example`;
    const { site } = await createSite(dashboard.pool, { accountId, domain, name: "s" });
    const { id } = await shareSite(dashboard.pool, { siteId: site.id, name: "agency", expiresAt });
    return { id, siteId: site.id, domain };
  }

  it("200: is among the account's keys with its site and end, until then", async () => {
    const [{ owner, accountId }, other] = [await team(), await team()];
    const expiresAt = new Date(Date.now() + 3_600_000);
    const { id, ...site } = await share(accountId, expiresAt);
    const { keys } = (await owner.get("/keys").expect(200)).body;
    const bounds = { ...site, expiresAt: expiresAt.toISOString() };
    expect(keys).toMatchObject([{ id, service: "analytics", name: "agency", createdBy: null, share: bounds }]);
    expect((await other.owner.get("/keys")).body).toEqual({ keys: [] });
    await other.owner.delete(`/keys/${id}`).expect(404);
    await dashboard.pool.query("UPDATE api_key SET expires_at = now() WHERE id = $1", [id]);
    expect((await owner.get("/keys")).body).toEqual({ keys: [] });
    await owner.delete(`/keys/${id}`).expect(404);
  });

  it("403, 200: is revoked by owners, and recorded", async () => {
    const { owner, member, accountId } = await team();
    const { id } = await share(accountId, null);
    await member.delete(`/keys/${id}`).expect(403);
    await owner.delete(`/keys/${id}`).expect(200);
    expect((await owner.get("/keys")).body).toEqual({ keys: [] });
    const [entry] = (await owner.get("/audit")).body.entries;
    expect(entry).toMatchObject({ action: "key_revoked", subject: expect.stringMatching(/^agency \(wmk_stats_…/) });
  });

  it("goes with its site", async () => {
    const { owner, accountId } = await team();
    const { siteId } = await share(accountId, null);
    expect((await owner.get("/keys")).body.keys).toMatchObject([{ share: { siteId, expiresAt: null } }]);
    await owner.delete(`/sites/${siteId}`).expect(200);
    expect((await owner.get("/keys")).body).toEqual({ keys: [] });
  });
});

describe("DELETE /keys/:id", () => {
  it("200: ends the key in running services within a second, and leaves the list", async () => {
    const { owner } = await team();
    const { body: created } = await owner.post("/keys", { name: "k", service: "trace" }).expect(201);
    const connectionString = directUrlOf(dashboard.databaseUrl);
    const log = createLogger({ service: "trace-api", level: "silent" });
    const keys = createKeyDirectory({ service: "trace", pool: dashboard.pool, connectionString, log });
    expect(await keys.find(created.key)).toMatchObject({ keyId: created.id });
    await owner.delete(`/keys/${created.id}`).expect(200);
    let tries = 0;
    while ((await keys.find(created.key)) && ++tries < 100) await new Promise((resolve) => setTimeout(resolve, 10));
    await keys.stop();
    expect(tries).toBeLessThan(100);
    expect((await owner.get("/keys")).body.keys).toEqual([]);
    const [entry] = (await owner.get("/audit")).body.entries;
    expect(entry).toMatchObject({ action: "key_revoked", subject: `k (wmk_trace_…${created.key.slice(-4)})` });
    await owner.delete(`/keys/${created.id}`).expect(404);
  });

  it("403: keeps others' keys from members, who revoke their own", async () => {
    const { owner, member } = await team();
    const make = async (who: typeof owner) => (await who.post("/keys", { name: "k", service: "trace" })).body.id;
    const [theirs, own] = [await make(owner), await make(member)];
    const { body } = await member.delete(`/keys/${theirs}`).expect(403);
    expect(body).toEqual({ error: "Only an owner of the account may do this" });
    await member.delete(`/keys/${own}`).expect(200);
    expect((await owner.get("/keys")).body.keys).toMatchObject([{ id: theirs }]);
  });

  it("404: knows no key of another account, no unknown and no malformed one", async () => {
    const [{ owner }, other] = [await team(), await team()];
    const { body: created } = await owner.post("/keys", { name: "k", service: "trace" });
    for (const id of [created.id, nobody, "x"]) await other.owner.delete(`/keys/${id}`).expect(404);
    expect((await other.owner.get("/keys")).body).toEqual({ keys: [] });
    expect((await owner.get("/keys")).body.keys).toMatchObject([{ id: created.id }]);
  });
});

import { describe, expect, it } from "@jest/globals";
import { ConfigError } from "@waymark/service";
import { loadConfig } from "../config.js";
import { useDashboard } from "../dashboard.fixture.js";

const operator = "operator@example.com";
const test = useDashboard({ env: { OPERATORS: operator } });

async function signInOperator(accountId: string) {
  const person = await test.signIn(accountId, "member");
  await test.pool.query("UPDATE person SET email = $2 WHERE id = $1", [person.personId, operator]);
  return person;
}

describe("GET /usage", () => {
  it("has the account's own numbers, and the first day of the next month", async () => {
    const [own, other] = [await test.makeAccount("free"), await test.makeAccount("pro")];
    test.setNow(new Date("2026-12-31T23:59:59Z"));
    const viewer = await test.signIn(own, "member");
    const use = "INSERT INTO trace_usage (account_id, month, traces, bytes) VALUES ($1, '2026-12-01', $2, 1000)";
    await test.pool.query(use, [own, 240]);
    await test.pool.query(use, [other, 7_000]);
    await test.pool.query("INSERT INTO agent (account_id, id) VALUES ($1, 'a'), ($2, 'b'), ($2, 'c')", [own, other]);
    const { body } = await viewer.get("/usage").expect(200);
    expect(body).toEqual({
      plan: "free",
      month: "2026-12",
      traces: { limit: 1_000, current: 240, remaining: 760, resets_at: "2027-01-01T00:00:00.000Z" },
      keep: "all",
      leave_out: [],
      dropped: { traces: 0, since: "2026-12-01T00:00:00.000Z" },
      bytes: { limit: 256_000_000, current: 1_000, remaining: 255_999_000 },
      agents: { limit: 1, current: 1 },
      retention_days: 30,
    });
    test.setNow(new Date());
  });

  it("is refused without a session", async () => {
    await test.anonymous().get("/usage").expect(401);
    await test.anonymous().get("/billing").expect(401);
  });
});

describe("PUT /keep", () => {
  it("sets what an owner's account keeps, and records it once", async () => {
    const accountId = await test.makeAccount();
    const owner = await test.signIn(accountId);
    expect((await owner.get("/usage").expect(200)).body.keep).toBe("all");
    for (let times = 0; times < 2; times++)
      await owner.put("/keep", { keep: "agents" }).expect(200, { keep: "agents" });
    expect((await owner.get("/usage").expect(200)).body.keep).toBe("agents");
    const { entries } = (await owner.get("/audit").expect(200)).body;
    expect(entries).toEqual([expect.objectContaining({ action: "keep_changed", subject: "traces of agents" })]);
    const other = await test.signIn(await test.makeAccount());
    expect((await other.get("/usage").expect(200)).body.keep).toBe("all");
  });

  it("refuses members and other words", async () => {
    const accountId = await test.makeAccount();
    await (await test.signIn(accountId, "member")).put("/keep", { keep: "agents" }).expect(403);
    await (await test.signIn(accountId)).put("/keep", { keep: "some" }).expect(400);
  });
});

describe("PUT /plan", () => {
  it("sets the plan for an operator, and records it once", async () => {
    const viewer = await signInOperator(await test.makeAccount("free"));
    await viewer.put("/plan", { plan: "pro" }).expect(200, { plan: "pro" });
    await viewer.put("/plan", { plan: "pro" }).expect(200);
    expect((await viewer.get("/usage").expect(200)).body.plan).toBe("pro");
    const { entries } = (await viewer.get("/audit").expect(200)).body;
    expect(entries).toEqual([expect.objectContaining({ action: "plan_changed", subject: "Pro", person: "A member" })]);
    await test.pool.query("UPDATE person SET email = id::text WHERE email = $1", [operator]);
  });

  it("refuses owners and members, a wrong plan and another site", async () => {
    const accountId = await test.makeAccount("free");
    for (const role of ["owner", "member"] as const) {
      const viewer = await test.signIn(accountId, role);
      const { body } = await viewer.put("/plan", { plan: "pro" }).expect(403);
      expect(body.error).toBe("Only who runs this installation may do this");
      await viewer.put("/plan", { plan: "gold" }).expect(400);
      await viewer.put("/plan", { plan: "pro" }).set("Sec-Fetch-Site", "cross-site").expect(403);
    }
    await test.anonymous().put("/plan", { plan: "pro" }).expect(401);
    const { rows } = await test.pool.query("SELECT plan FROM account WHERE id = $1", [accountId]);
    expect(rows).toEqual([{ plan: "free" }]);
  });
});

describe("without Stripe", () => {
  it("has no payments", async () => {
    const viewer = await test.signIn(await test.makeAccount("free"));
    const { body } = await viewer.get("/billing").expect(200);
    expect(body).toMatchObject({ plan: "free", paidBy: "operator", hasPortal: false, hasSubscription: false });
    await viewer.post("/billing/checkout", {}).expect(404);
    await viewer.post("/billing/portal", {}).expect(404);
  });

  it("counts what the Free plan would take away, of this account alone", async () => {
    const [own, other] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
    const insert = `INSERT INTO trace (account_id, id, agent_id, name, status, started_at)
      SELECT $1, ('01900000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'a', 'n', 'success', now()
      FROM generate_series(1, $2::int) n`;
    await test.pool.query(insert, [own, 3]);
    await test.pool.query(insert, [other, 10_001]);
    await test.pool.query(
      `INSERT INTO api_key (id, account_id, service, name, hash, hint, revoked_at)
       SELECT gen_random_uuid(), $1, service, 'k', sha256(random()::text::bytea), 'h', revoked
       FROM (VALUES ('analytics', NULL), ('analytics', now()), ('trace', NULL)) v (service, revoked)`,
      [own],
    );
    const onFreeOf = async (id: string) => (await (await test.signIn(id)).get("/billing").expect(200)).body.onFree;
    expect(await onFreeOf(own)).toEqual({ oldTraces: 3, hasMoreOldTraces: false, statisticsKeys: 1 });
    expect(await onFreeOf(other)).toEqual({ oldTraces: 10_000, hasMoreOldTraces: true, statisticsKeys: 0 });
  });
});

describe("Stripe's settings", () => {
  const env = { DATABASE_URL: "postgres://localhost/waymark" };

  it("are all there, or none", () => {
    expect(loadConfig(env).stripe).toBeUndefined();
    const all = { STRIPE_SECRET_KEY: "sk", STRIPE_WEBHOOK_SECRET: "whsec", STRIPE_PRICE_ID: "price, former" };
    expect(loadConfig({ ...env, ...all }).stripe).toMatchObject({ secretKey: "sk", priceIds: ["price", "former"] });
    expect(() => loadConfig({ ...env, STRIPE_SECRET_KEY: "sk_secret" })).toThrow(
      new ConfigError([
        "STRIPE_WEBHOOK_SECRET must be set, as the other settings of Stripe are",
        "STRIPE_PRICE_ID must be set, as the other settings of Stripe are",
      ]),
    );
  });
});

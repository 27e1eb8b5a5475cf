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
      await owner.put("/keep", { keep: "agents" }).expect(200, { keep: "agents", leave_out: [] });
    expect((await owner.get("/usage").expect(200)).body.keep).toBe("agents");
    const { entries } = (await owner.get("/audit").expect(200)).body;
    expect(entries).toEqual([expect.objectContaining({ action: "keep_changed", subject: "traces of agents" })]);
    const other = await test.signIn(await test.makeAccount());
    expect((await other.get("/usage").expect(200)).body.keep).toBe("all");
  });

  it("sets what is left out below agents, and records it", async () => {
    const owner = await test.signIn(await test.makeAccount());
    await owner.put("/keep", { keep: "agents", leave_out: ["http", "fs"] }).expect(200);
    const kept = { keep: "agents", leave_out: ["fs"] };
    await owner.put("/keep", { leave_out: ["fs"] }).expect(200, kept);
    expect((await owner.get("/usage").expect(200)).body).toMatchObject(kept);
    const { entries } = (await owner.get("/audit").expect(200)).body;
    expect(entries[0]).toMatchObject({ subject: "traces of agents, without fs" });
    await owner.put("/keep", { leave_out: ["all"] }).expect(400);
  });

  it("refuses members and other words", async () => {
    const accountId = await test.makeAccount();
    await (await test.signIn(accountId, "member")).put("/keep", { keep: "agents" }).expect(403);
    await (await test.signIn(accountId)).put("/keep", { keep: "some" }).expect(400);
  });
});

describe("GET /keep", () => {
  /** Traces of OpenTelemetry, each with spans of the kinds. */
  async function makeTraces(accountId: string, count: number, kinds: readonly (string | null)[], month = "2026-11-05") {
    await test.pool.query(
      `WITH made AS (
         INSERT INTO trace (account_id, id, agent_id, name, status, started_at, otel_trace_id)
         SELECT $1, gen_random_uuid(), 'web', 'n', 'success', $3::timestamptz, uuid_send(gen_random_uuid())
         FROM generate_series(1, $2::int) RETURNING id
       )
       INSERT INTO span (account_id, trace_id, id, name, status, started_at, kind)
       SELECT $1, made.id, gen_random_uuid(), 's', 'ok', $3::timestamptz, kind FROM made, unnest($4::text[]) AS kind`,
      [accountId, count, month, kinds],
    );
  }

  it.each([
    [20, 80, true],
    [19, 81, false],
    [0, 100, false],
  ])("tells of %i traces without an agent beside %i of agents: %s", async (noise, agents, isMuch) => {
    test.setNow(new Date("2026-11-20T00:00:00Z"));
    const accountId = await test.makeAccount("pro");
    await makeTraces(accountId, noise, [null, "other", "chain"]);
    await makeTraces(accountId, agents, [null, "tool"]);
    await makeTraces(accountId, 500, [null], "2026-10-31T23:59:59Z");
    await makeTraces(await test.makeAccount("pro"), 300, [null]);
    const viewer = await test.signIn(accountId, "member");
    const { body } = await viewer.get("/keep").expect(200);
    expect(body).toEqual({ noise: { traces: 100, isPart: false, noise, isMuch }, dropped: [] });
    test.setNow(new Date());
  });

  it("looks at the latest 2,000 traces and 200 spans of each, and has the names that were dropped", async () => {
    test.setNow(new Date("2026-11-20T00:00:00Z"));
    const accountId = await test.makeAccount("pro");
    await makeTraces(accountId, 1, Array(200).fill(null), "2026-11-06");
    await makeTraces(accountId, 1_900, [null]);
    await makeTraces(accountId, 200, ["model"], "2026-11-04");
    const insert = "INSERT INTO dropped_name (account_id, month, name, traces) VALUES ($1, '2026-11-01', $2, $3)";
    await test.pool.query(insert, [accountId, "GET /health", 40]);
    await test.pool.query(insert, [accountId, "", 2]);
    const { body } = await (await test.signIn(accountId)).get("/keep").expect(200);
    expect(body).toEqual({
      noise: { traces: 2_000, isPart: true, noise: 1_900, isMuch: true },
      dropped: [
        { name: "GET /health", traces: 40 },
        { name: null, traces: 2 },
      ],
    });
    test.setNow(new Date());
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

import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { issueKey } from "@waymark/accounts";
import { createKeyDirectory } from "@waymark/auth";
import { createLogger } from "@waymark/service";
import { directUrlOf } from "@waymark/testing";
import request from "supertest";
import { useDashboard } from "../dashboard.fixture.js";
import { eventText, signatureOf, useFakeStripe } from "./fake-stripe.fixture.js";

const stripe = useFakeStripe();
const test = useDashboard({ deps: stripe.deps });

/** Sends an event as Stripe does: no cookie, no origin. */
function deliver(body: string, signature = signatureOf(body), app = test.app) {
  const sent = request(app).post("/webhooks/stripe").set("Content-Type", "application/json; charset=utf-8");
  return sent.set("Stripe-Signature", signature).send(body);
}

let subscriptions = 0;

/** An account that has been at Checkout, and its new subscription. */
async function payer(status = "active") {
  const accountId = await test.makeAccount("free");
  const owner = await test.signIn(accountId);
  await owner.post("/billing/checkout", {}).expect(200);
  const customer = stripe.customerOf(accountId);
  const subscription = `sub_${++subscriptions}`;
  stripe.subscriptions.set(subscription, { status, customer });
  const event = (type: string, of = subscription) =>
    eventText(type, { id: of, object: "subscription", customer, status: "whatever it was" });
  return { accountId, owner, customer, subscription, event };
}

async function planOf(accountId: string): Promise<string> {
  const { rows } = await test.pool.query<{ plan: string }>("SELECT plan FROM account WHERE id = $1", [accountId]);
  return rows[0]?.plan ?? "";
}

/** The requests for sessions of an account. */
function sessionsOf(accountId: string) {
  return stripe.received.filter(({ form }) => form["client_reference_id"] === accountId);
}

async function auditOf(accountId: string) {
  const sql = "SELECT action, subject, person_id FROM audit WHERE account_id = $1 ORDER BY id";
  return (await test.pool.query(sql, [accountId])).rows;
}

describe("POST /billing/checkout", () => {
  it("leads to Checkout with the account's customer, the price and the way back", async () => {
    const { accountId, customer } = await payer();
    const asked = sessionsOf(accountId);
    expect(asked).toHaveLength(1);
    expect(asked[0]?.form).toMatchObject({
      mode: "subscription",
      customer,
      "line_items[0][price]": "price_pro",
      "line_items[0][quantity]": "1",
      success_url: "http://localhost:4000/dashboard/billing?paid=1",
      cancel_url: "http://localhost:4000/dashboard/billing",
    });
  });

  it("makes one customer and one session for calls at once, on two instances", async () => {
    const accountId = await test.makeAccount("free");
    const owners = await Promise.all(
      [test.app, test.secondApp, test.app, test.secondApp].map((app) => test.signIn(accountId, "owner", app)),
    );
    const answers = await Promise.all(owners.map((owner) => owner.post("/billing/checkout", {}).expect(200)));
    expect(new Set(answers.map(({ body }) => body.url)).size).toBe(1);
    const { rows } = await test.pool.query("SELECT stripe_customer_id AS id FROM account WHERE id = $1", [accountId]);
    expect(rows).toEqual([{ id: stripe.customerOf(accountId) }]);
    const keys = stripe.received.filter(({ form }) => form["metadata[account_id]"] === accountId);
    expect(new Set(keys.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    expect(new Set(sessionsOf(accountId).map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
  });

  it("leads a second tab to the open session, and to the portal once it is paid, before the webhook", async () => {
    const accountId = await test.makeAccount("free");
    const [one, other] = [await test.signIn(accountId), await test.signIn(accountId, "owner", test.secondApp)];
    await one.post("/billing/checkout", {}).expect(200);
    await other.post("/billing/checkout", {}).expect(200);
    expect(sessionsOf(accountId)).toHaveLength(1);
    const customer = stripe.customerOf(accountId);
    stripe.completeCheckout(customer);
    stripe.subscriptions.set(`sub_${++subscriptions}`, { status: "active", customer });
    const { body } = await other.post("/billing/checkout", {}).expect(200);
    expect(body.url).toContain(`customer=${customer}`);
    expect(sessionsOf(accountId)).toHaveLength(1);
  });

  it("opens a new session when the last one brought no subscription that lives", async () => {
    const { accountId, owner, customer } = await payer("canceled");
    stripe.completeCheckout(customer);
    await owner.post("/billing/checkout", {}).expect(200);
    expect(sessionsOf(accountId)).toHaveLength(2);
  });

  it("leads an account with a subscription to its portal", async () => {
    const { owner, customer, event } = await payer();
    await owner.post("/billing/portal", {}).expect(200);
    await deliver(event("customer.subscription.created")).expect(200);
    const { body } = await owner.post("/billing/checkout", {}).expect(200);
    expect(body.url).toContain(`customer=${customer}`);
    expect((await owner.get("/billing").expect(200)).body).toMatchObject({ hasPortal: true, hasSubscription: true });
  });

  it("refuses members, other sites, and a portal before the first Checkout", async () => {
    const accountId = await test.makeAccount("free");
    const [owner, member] = [await test.signIn(accountId), await test.signIn(accountId, "member")];
    for (const path of ["/billing/checkout", "/billing/portal"]) {
      await member.post(path, {}).expect(403);
      await owner.post(path, {}).set("Sec-Fetch-Site", "cross-site").expect(403);
      await test.anonymous().post(path, {}).expect(401);
    }
    await owner.post("/billing/portal", {}).expect(404);
  });

  it("answers 502 while Stripe is down, and keeps no customer", async () => {
    const accountId = await test.makeAccount("free");
    const owner = await test.signIn(accountId);
    stripe.isBroken = true;
    const { body } = await owner.post("/billing/checkout", {}).expect(502);
    stripe.isBroken = false;
    expect(body.error).toMatch(/^Stripe does not answer/);
    await owner.post("/billing/checkout", {}).expect(200);
  });
});

describe("POST /webhooks/stripe", () => {
  it("moves the account to Pro once, and answers repeats", async () => {
    const { accountId, customer, subscription } = await payer();
    const object = { id: "cs_1", object: "checkout.session", customer, subscription };
    const body = eventText("checkout.session.completed", object);
    const both = [deliver(body), deliver(body, signatureOf(body), test.secondApp), deliver(body)];
    for (const answer of await Promise.all(both)) expect(answer.status).toBe(200);
    await deliver(body).expect(200);
    expect(await planOf(accountId)).toBe("pro");
    expect(await auditOf(accountId)).toEqual([{ action: "plan_changed", subject: "Pro, by Stripe", person_id: null }]);
  });

  it("ends with the same plan in any order, since it reads the subscription anew", async () => {
    const { accountId, subscription, customer, event } = await payer();
    await deliver(event("customer.subscription.created")).expect(200);
    stripe.subscriptions.set(subscription, { status: "canceled", customer });
    // The late "updated" says active, and Stripe says canceled.
    await deliver(event("customer.subscription.deleted")).expect(200);
    await deliver(event("customer.subscription.updated")).expect(200);
    expect(await planOf(accountId)).toBe("free");

    const late = await payer("canceled");
    await deliver(late.event("customer.subscription.deleted")).expect(200);
    await deliver(late.event("customer.subscription.created")).expect(200);
    expect(await planOf(late.accountId)).toBe("free");
  });

  it.each([
    ["active", "pro"],
    ["trialing", "pro"],
    ["past_due", "pro"],
    ["unpaid", "free"],
    ["canceled", "free"],
    ["paused", "free"],
    ["incomplete_expired", "free"],
  ])("a subscription that becomes %s means %s", async (status, plan) => {
    const { accountId, subscription, customer, event } = await payer();
    await deliver(event("customer.subscription.created")).expect(200);
    stripe.subscriptions.set(subscription, { status, customer });
    await deliver(event("customer.subscription.updated")).expect(200);
    expect(await planOf(accountId)).toBe(plan);
  });

  it.each([
    ["another product's", "price_of_a_mug", "free"],
    ["an earlier", "price_of_before", "pro"],
  ])("a live subscription of %s price means %s", async (_name, price, plan) => {
    const { accountId, customer, subscription, event } = await payer();
    stripe.subscriptions.set(subscription, { status: "active", customer, price });
    await deliver(event("customer.subscription.created")).expect(200);
    expect(await planOf(accountId)).toBe(plan);
  });

  it("refuses a signed event whose id the database cannot hold", async () => {
    const { customer, subscription } = await payer();
    const object = { id: subscription, object: "subscription", customer };
    const { body } = await deliver(eventText("customer.subscription.created", object, "evt_\0")).expect(400);
    expect(Object.keys(body.fields)).toEqual(["id"]);
    const foreign = { ...object, customer: "cus_\0" };
    await deliver(eventText("customer.subscription.created", foreign)).expect(200);
  });

  it("keeps Pro when an earlier subscription ends, or when Stripe forgot one that never paid", async () => {
    const { accountId, customer, event } = await payer();
    await deliver(event("customer.subscription.created")).expect(200);
    stripe.subscriptions.set("sub_earlier", { status: "canceled", customer });
    await deliver(event("customer.subscription.deleted", "sub_earlier")).expect(200);
    await deliver(event("customer.subscription.deleted", "sub_unknown")).expect(200);
    expect(await planOf(accountId)).toBe("pro");
  });

  it("keeps Pro as long as one of two subscriptions lives", async () => {
    const { accountId, customer, subscription, event } = await payer();
    await deliver(event("customer.subscription.created")).expect(200);
    stripe.subscriptions.set("sub_second", { status: "active", customer });
    await deliver(event("customer.subscription.created", "sub_second")).expect(200);
    stripe.subscriptions.set(subscription, { status: "canceled", customer });
    await deliver(event("customer.subscription.deleted")).expect(200);
    expect(await planOf(accountId)).toBe("pro");
    stripe.subscriptions.set("sub_second", { status: "canceled", customer });
    await deliver(event("customer.subscription.deleted", "sub_second")).expect(200);
    expect(await planOf(accountId)).toBe("free");
  });

  it("keeps a plan that the operator set, while a payment is not complete", async () => {
    const { accountId, event } = await payer("incomplete");
    await test.pool.query("UPDATE account SET plan = 'pro' WHERE id = $1", [accountId]);
    await deliver(event("customer.subscription.created")).expect(200);
    expect(await planOf(accountId)).toBe("pro");
  });

  it("refuses forged, old and missing signatures, and stores nothing", async () => {
    const { accountId, event } = await payer();
    const body = event("customer.subscription.created");
    const now = Date.now();
    test.setNow(new Date(now));
    const [old, recent] = [new Date(now - 302_000), new Date(now - 298_000)];
    for (const signature of [
      signatureOf(body, { at: old }),
      signatureOf(body, { secret: "whsec_of_somebody_else" }),
      signatureOf(`${body} `),
      "t=1,v1=00",
      "",
    ]) {
      const { body: answer } = await deliver(body, signature).expect(400);
      expect(answer.error).toBe("Bad signature");
    }
    expect(await planOf(accountId)).toBe("free");
    const { id } = JSON.parse(body);
    expect((await test.pool.query("SELECT FROM stripe_event WHERE id = $1", [id])).rowCount).toBe(0);
    await deliver(body, signatureOf(body, { at: recent })).expect(200);
    expect(await planOf(accountId)).toBe("pro");
  });

  it("gives no account the subscription of another customer", async () => {
    const [rich, poor] = [await payer(), await payer("incomplete")];
    const object = { id: rich.subscription, object: "subscription", customer: poor.customer };
    await deliver(eventText("customer.subscription.created", object)).expect(200);
    expect(await planOf(poor.accountId)).toBe("free");
  });

  it("answers 200 for unknown customers and other events", async () => {
    const stranger = { id: "sub_1", object: "subscription", customer: "cus_stranger" };
    await deliver(eventText("customer.subscription.created", stranger)).expect(200);
    await deliver(eventText("payout.paid", { id: "po_1", object: "payout" })).expect(200);
    await deliver(eventText("customer.created", { id: "cus_1", object: "customer" })).expect(200);
  });

  it("stores nothing while Stripe is down, so that its next try counts", async () => {
    const { accountId, event } = await payer();
    const body = event("customer.subscription.created");
    stripe.isBroken = true;
    await deliver(body).expect(502);
    stripe.isBroken = false;
    expect(await planOf(accountId)).toBe("free");
    await deliver(body).expect(200);
    expect(await planOf(accountId)).toBe("pro");
  });

  it("refuses large bodies, other types and other methods", async () => {
    const large = eventText("a", { text: "x".repeat(300_000) });
    await deliver(large).expect(413);
    const body = eventText("a", {});
    await deliver(body).set("Content-Type", "text/plain").expect(415);
    await request(test.app).get("/webhooks/stripe").expect(405);
  });
});

describe("GET /billing/invoices", () => {
  const invoice = { number: "W-1", created: 1_780_000_000, total: 2_900, currency: "usd", status: "paid" };
  const shown = { number: "W-1", createdAt: "2026-05-28T20:26:40.000Z", amount: 2_900, currency: "USD", state: "paid" };

  it("has the account's own invoices without drafts, with links of https alone, for owners", async () => {
    const [own, other] = [await payer(), await payer()];
    const url = "https://invoice.stripe.com/i/1";
    stripe.invoices.set(own.customer, [
      { ...invoice, id: "in_3", status: "draft", hosted_invoice_url: null },
      { ...invoice, id: "in_2", hosted_invoice_url: "javascript:alert(1)" },
      { ...invoice, id: "in_1", hosted_invoice_url: url },
    ]);
    const invoices = [
      { ...shown, id: "in_2", url: null },
      { ...shown, id: "in_1", url },
    ];
    await own.owner.get("/billing/invoices").expect(200, { invoices });
    await other.owner.get("/billing/invoices").expect(200, { invoices: [] });
    await (await test.signIn(own.accountId, "member")).get("/billing/invoices").expect(403);
    await (await test.signIn(await test.makeAccount())).get("/billing/invoices").expect(404);
    await test.anonymous().get("/billing/invoices").expect(401);
  });

  it("are asked for once in 30 seconds, and anew after a failure", async () => {
    const { owner, customer } = await payer();
    const now = new Date();
    test.setNow(now);
    stripe.isBroken = true;
    await owner.get("/billing/invoices").expect(502);
    stripe.isBroken = false;
    await owner.get("/billing/invoices").expect(200, { invoices: [] });
    stripe.invoices.set(customer, [{ ...invoice, id: "in_1", hosted_invoice_url: null }]);
    await owner.get("/billing/invoices").expect(200, { invoices: [] });
    test.setNow(new Date(now.getTime() + 31_000));
    await owner.get("/billing/invoices").expect(200, { invoices: [{ ...shown, id: "in_1", url: null }] });
    test.setNow(new Date());
  });
});

describe("the APIs", () => {
  it("see the new plan of a key that they have in their caches", async () => {
    const { accountId, event } = await payer();
    const { pool, databaseUrl } = test;
    const { key } = await issueKey(pool, { accountId, service: "trace", name: "k" });
    const log = createLogger({ service: "trace-api", level: "silent" });
    const keys = createKeyDirectory({ service: "trace", pool, connectionString: directUrlOf(databaseUrl), log });
    expect(await keys.find(key)).toMatchObject({ plan: "free" });
    await deliver(event("customer.subscription.created")).expect(200);
    while ((await keys.find(key))?.plan !== "pro") await setTimeout(10);
    await keys.stop();
  });
});

import { expect, it } from "@jest/globals";
import { describeWithChromium } from "@waymark/testing";
import type { Page } from "playwright-core";
import request from "supertest";
import { useBrowser } from "../browser.fixture.js";
import { useTraceApi } from "../traces/trace-api.fixture.js";
import { eventText, signatureOf, useFakeStripe } from "./fake-stripe.fixture.js";

const operator = "operator@example.com";

async function open(page: Page, query = "") {
  await page.goto(`/dashboard/billing${query}`);
  await page.getByRole("heading", { level: 1, name: "Plan and usage" }).waitFor();
  await page.getByRole("table", { name: "Plans" }).waitFor();
}

describeWithChromium("plan and usage with Stripe", (executablePath) => {
  const stripe = useFakeStripe();
  const browser = useBrowser(executablePath, { deps: stripe.deps });
  const { dashboard } = browser;

  it("upgrades by Checkout, waits for the webhook, and then leads to the portal", async () => {
    const accountId = await dashboard.makeAccount("free");
    const use =
      "INSERT INTO trace_usage (account_id, month, traces, bytes) VALUES ($1, date_trunc('month', now())::date, 240, 12345678)";
    await dashboard.pool.query(use, [accountId]);
    const page = await browser.page(await dashboard.signIn(accountId));
    await open(page);
    await page.getByText("240 of 1\u202f000").waitFor();
    await page.getByText("12.3\u00a0MB of 256\u00a0MB").waitFor();
    await page.getByText("0 of 1", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Upgrade to Pro" }).click();
    await page.getByText("Waiting for Stripe").waitFor();

    const customer = stripe.customerOf(accountId);
    stripe.subscriptions.set("sub_1", { status: "active", customer });
    const body = eventText("checkout.session.completed", {
      object: "checkout.session",
      customer,
      subscription: "sub_1",
    });
    const sent = request(dashboard.app).post("/webhooks/stripe").set("Content-Type", "application/json");
    await sent.set("Stripe-Signature", signatureOf(body)).send(body).expect(200);
    await page.getByText("This account is on Pro now.").waitFor();
    await page.getByText("240 of 50\u202f000").waitFor();
    await page.getByRole("button", { name: "Upgrade to Pro" }).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Invoices, payment and cancellation" }).click();
    await page.waitForURL(`**/dashboard/team?customer=${customer}`);
  });

  const api = useTraceApi(dashboard, { dashboardUrl: () => browser.origin });

  it("leads from the trace that the API refuses to the one that it takes", async () => {
    const accountId = await dashboard.makeAccount("free");
    const use =
      "INSERT INTO trace_usage (account_id, month, traces) VALUES ($1, date_trunc('month', now())::date, 1000)";
    await dashboard.pool.query(use, [accountId]);
    const client = await api.client(accountId);
    const trace = { agent_id: "agent", name: "Refused first", status: "success", started_at: new Date().toISOString() };
    const refused = await client.post("/api/v1/traces", trace).expect(429);
    expect(refused.body.upgrade_url).toBe("/dashboard/billing");
    const { headers } = await client.get(refused.body.upgrade_url).expect(302);

    const page = await browser.page(await dashboard.signIn(accountId));
    await page.goto(headers["location"] ?? "");
    await page.getByText("1\u202f000 of 1\u202f000").waitFor();
    await page.getByRole("button", { name: "Upgrade to Pro" }).click();
    await page.getByText("Waiting for Stripe").waitFor();
    const customer = stripe.customerOf(accountId);
    stripe.subscriptions.set("sub_2", { status: "active", customer });
    stripe.invoices.set(customer, [
      {
        id: "in_1",
        number: "W-0001",
        created: 1_780_000_000,
        total: 2_900,
        currency: "usd",
        status: "paid",
        hosted_invoice_url: "https://invoice.stripe.com/i/1",
      },
    ]);
    const body = eventText("customer.subscription.created", { object: "subscription", id: "sub_2", customer });
    const sent = request(dashboard.app).post("/webhooks/stripe").set("Content-Type", "application/json");
    await sent.set("Stripe-Signature", signatureOf(body)).send(body).expect(200);
    await page.getByText("This account is on Pro now.").waitFor();
    let answer = await client.post("/api/v1/traces", trace);
    // The key's plan reaches the API's cache by a notice of the database.
    while (answer.status === 429) answer = await client.post("/api/v1/traces", trace);
    expect(answer.status).toBe(201);
    await page.reload();
    const row = page.getByRole("table", { name: "Invoices" }).getByRole("row", { name: /W-0001/ });
    await row.getByText("$29.00").waitFor();
    expect(await row.getByRole("link").getAttribute("href")).toBe("https://invoice.stripe.com/i/1");
    expect(await browser.findings(page)).toEqual([]);
    await page.goto("/dashboard/traces");
    await page.getByRole("row", { name: /Refused first/ }).waitFor();
  });

  it("shows a member who may, and no button", async () => {
    const accountId = await dashboard.makeAccount("free");
    const page = await browser.page(await dashboard.signIn(accountId, "member"));
    await open(page);
    await page.getByText("An owner of the account may change the plan.").waitFor();
    expect(await page.getByRole("button", { name: "Upgrade to Pro" }).count()).toBe(0);
  });
});

describeWithChromium("plan and usage without Stripe", (executablePath) => {
  const browser = useBrowser(executablePath, { env: { OPERATORS: operator } });
  const { dashboard } = browser;

  it("lets an operator switch the plan, with what Free takes away", async () => {
    const viewer = await dashboard.signIn(await dashboard.makeAccount("free"));
    await dashboard.pool.query("UPDATE person SET email = $2 WHERE id = $1", [viewer.personId, operator]);
    const page = await browser.page(viewer);
    await open(page);
    await page.getByRole("button", { name: "Upgrade to Pro" }).press("Enter");
    await page.getByRole("button", { name: "Switch to Free" }).press("Enter");
    const dialog = page.getByRole("dialog", { name: "Switch to Free?" });
    await dialog.getByText("Retention: 30 days instead of 90.").waitFor();
    await dialog.getByRole("button", { name: "Switch to Free" }).click();
    await page.getByRole("button", { name: "Upgrade to Pro" }).waitFor();
    expect((await viewer.get("/usage").expect(200)).body.plan).toBe("free");
  });

  it("tells an owner that much of the month has no agent, with the switch beside, and what was dropped", async () => {
    const accountId = await dashboard.makeAccount("pro");
    await dashboard.pool.query(
      `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, otel_trace_id)
       SELECT $1, gen_random_uuid(), 'web', 'GET /health', 'success', now(), uuid_send(gen_random_uuid()) FROM generate_series(1, 30)`,
      [accountId],
    );
    const name =
      "INSERT INTO dropped_name (account_id, month, name, traces) VALUES ($1, date_trunc('month', now())::date, $2, $3)";
    await dashboard.pool.query(name, [accountId, "GET /metrics", 12_345]);
    await dashboard.pool.query(name, [accountId, "", 3]);
    const viewer = await dashboard.signIn(accountId);
    const page = await browser.page(viewer);
    await open(page);
    const banner = page.getByText("100\u202f% of this month's traces have no");
    await banner.waitFor();
    await page.getByRole("row", { name: "GET /metrics 12\u202f345" }).waitFor();
    expect(await browser.findings(page)).toEqual([]);

    await page.getByText("Traces of agents", { exact: true }).click();
    await banner.waitFor({ state: "detached" });
    await page.getByRole("checkbox", { name: "databases" }).check();
    await page.getByRole("checkbox", { name: "files" }).check();
    await page.getByRole("button", { name: "Save" }).click();
    while ((await viewer.get("/usage")).body.leave_out.length < 2) await page.waitForTimeout(20);
    expect((await viewer.get("/usage")).body).toMatchObject({ keep: "agents", leave_out: ["database", "fs"] });
    expect(await browser.findings(page)).toEqual([]);
  });

  it("names the command to others", async () => {
    const page = await browser.page(await dashboard.signIn(await dashboard.makeAccount("free")));
    await open(page);
    await page.getByRole("button", { name: "Upgrade to Pro" }).click();
    const command = await page.getByRole("textbox", { name: "Command" }).inputValue();
    expect(command).toMatch(/^waymark account plan \S+@example\.com --plan pro$/);
  });
});

import { randomBytes } from "node:crypto";
import { expect, it } from "@jest/globals";
import { describeWithChromium } from "@waymark/testing";
import { useBrowser } from "../browser.fixture.js";
import { insertTrace } from "../traces/traces.fixture.js";

describeWithChromium("the palette", (executablePath) => {
  const browser = useBrowser(executablePath);
  const { dashboard } = browser;

  async function open(role: "owner" | "member" = "owner") {
    const accountId = await dashboard.makeAccount();
    const trace = await insertTrace(dashboard.pool, accountId, { agent: "refund-writer", name: "返金 of order 7" });
    const page = await browser.page(await dashboard.signIn(accountId, role));
    await page.goto("/dashboard/team");
    await page.getByRole("heading", { level: 1, name: "Team" }).waitFor();
    const field = page.getByRole("combobox", { name: "Page, agent, site, trace, conversation or user" });
    const active = () => page.locator('[role="option"][aria-selected="true"]');
    return { accountId, trace, page, field, active };
  }

  it("opens by Ctrl+K, goes to what was typed by Enter, and shows it first the next time", async () => {
    const { page, field, active } = await open();
    await page.getByRole("link", { name: "Team" }).focus();
    await page.keyboard.press("Control+k");
    await field.and(page.locator(":focus")).waitFor();
    expect(await browser.findings(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await field.waitFor({ state: "detached" });
    await page.getByRole("link", { name: "Team" }).and(page.locator(":focus")).waitFor();

    await page.keyboard.press("Meta+k");
    browser.clearRequests();
    await page.keyboard.type("refund", { delay: 5 });
    const agent = page.getByRole("group", { name: "Agents" }).getByRole("option", { name: "refund-writer" });
    await agent.waitFor();
    expect(browser.requests).toEqual(["GET /dashboard/api/find?q=refund"]);
    expect(await field.getAttribute("aria-activedescendant")).toBe(await active().getAttribute("id"));
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "refund-writer" }).waitFor();
    expect(new URL(page.url()).pathname).toBe("/dashboard/agents/refund-writer");

    await page.getByRole("button", { name: "Go to" }).click();
    const recent = page.getByRole("group", { name: "Recent" }).getByRole("option");
    await recent.first().waitFor();
    expect(await recent.allTextContents()).toEqual(["refund-writer"]);
    expect(await active().textContent()).toBe("refund-writer");
  });

  it("moves by arrows past both ends, and searches names and contents with its last choice", async () => {
    const { page, field, active } = await open();
    await page.keyboard.press("Control+k");
    await field.fill("返金");
    await page.getByRole("option", { name: "返金 of order 7" }).waitFor();
    await page.keyboard.press("ArrowUp");
    expect(await active().textContent()).toBe("Traces with “返金”");
    await page.keyboard.press("ArrowDown");
    expect(await active().textContent()).toContain("返金 of order 7");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Traces" }).waitFor();
    expect(new URL(page.url()).searchParams.get("q")).toBe("返金");
  });

  it("opens a pasted id, also OpenTelemetry's", async () => {
    const { page, field, trace } = await open();
    const digits = randomBytes(16);
    await dashboard.pool.query("UPDATE trace SET otel_trace_id = $2 WHERE id = $1", [trace, digits]);
    for (const pasted of [trace.toUpperCase(), `00-${digits.toString("hex")}-00f067aa0ba902b7-01`]) {
      await page.goto("/dashboard/team");
      await page.getByRole("heading", { level: 1, name: "Team" }).waitFor();
      await page.keyboard.press("Control+k");
      await field.fill(pasted);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name: "返金 of order 7" }).waitFor();
      expect(new URL(page.url()).pathname).toBe(`/dashboard/traces/${trace}`);
    }
  });

  it("offers a member nothing that only owners do, and keeps six choices of an account apart from others", async () => {
    const { page, field } = await open("member");
    await page.keyboard.press("Control+k");
    await page.getByRole("option", { name: "Add a site" }).waitFor();
    expect(await page.getByRole("option", { name: "Invite somebody" }).count()).toBe(0);
    for (const name of ["Agents", "Costs", "Users", "Failures", "Sites", "Alerts", "Traces"]) {
      await field.fill(name);
      await page.getByRole("group", { name: "Pages" }).getByRole("option", { name, exact: true }).click();
      await page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
      await page.keyboard.press("Control+k");
    }
    const recent = page.getByRole("group", { name: "Recent" }).getByRole("option");
    await recent.first().waitFor();
    expect(await recent.allTextContents()).toEqual(["Traces", "Alerts", "Sites", "Failures", "Users", "Costs"]);
    const other = await dashboard.signIn(await dashboard.makeAccount());
    const [name = "", value = ""] = other.cookie.split("=");
    await page.context().addCookies([{ name, value, url: browser.origin, httpOnly: true, sameSite: "Lax" }]);
    await page.goto("/dashboard/team");
    await page.getByRole("heading", { level: 1, name: "Team" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("option", { name: "Invite somebody" }).waitFor();
    expect(await recent.count()).toBe(0);
  });
});

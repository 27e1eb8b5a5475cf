import { expect, it } from "@jest/globals";
import { describeWithChromium } from "@waymark/testing";
import { useBrowser } from "../browser.fixture.js";
import { insertTrace } from "../traces/traces.fixture.js";
import { insertModelDay } from "./model-days.fixture.js";

describeWithChromium("the costs in a browser", (executablePath) => {
  const browser = useBrowser(executablePath);
  const { dashboard } = browser;

  it("lead from the month to the dearest trace, compare, and take a budget, by keyboard", async () => {
    const owner = await dashboard.signIn(await dashboard.makeAccount());
    const { pool } = dashboard;
    const trace = await insertTrace(pool, owner.accountId, { name: "A dear trace", agent: "請求" });
    await pool.query(
      `INSERT INTO model_call (account_id, trace_id, span_id, agent_id, started_at, cost, counts, settle_at)
       VALUES ($1, $2, gen_random_uuid(), '請求', now(), 12.5, true, NULL)`,
      [owner.accountId, trace],
    );
    await insertModelDay(pool, owner.accountId, { agent: "請求", cost: "12.5" });
    await insertModelDay(pool, owner.accountId, { ago: 1, cost: "3" });
    await insertModelDay(pool, owner.accountId, { ago: 12, cost: "2" });
    const page = await browser.page(owner, { width: 390, height: 844 });
    await page.goto("/dashboard/costs?days=7");
    const figures = page.getByRole("group", { name: "Figures" });
    await figures.getByRole("button", { name: /^Cost \$15\.50.*up 50/ }).waitFor();
    await page.getByText("$12.50 a trace on average, of 1 trace with a price.").waitFor();
    await page.getByRole("img", { name: /^Most \$12\.50 on/ }).waitFor();
    await page.getByRole("button", { name: "Add rule" }).press("Enter");
    const dialog = page.getByRole("dialog");
    expect(await dialog.getByRole("radio", { name: "Cost of a month" }).isChecked()).toBe(true);
    await dialog.getByRole("textbox", { name: "Above, in dollars" }).fill("40");
    await page.keyboard.press("Enter");
    await page.getByRole("table", { name: "Budgets of the month" }).getByText("costs more than $40 a month").waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
    await page.getByRole("link", { name: "A dear trace" }).press("Enter");
    await page.getByRole("heading", { level: 1, name: "A dear trace" }).waitFor();
  });

  it("leave no budget to add to a member", async () => {
    const accountId = await dashboard.makeAccount();
    await insertModelDay(dashboard.pool, accountId);
    const page = await browser.page(await dashboard.signIn(accountId, "member"));
    await page.goto("/dashboard/costs");
    await page.getByRole("region", { name: "Budgets of the month" }).waitFor();
    await page.getByRole("table", { name: "Dearest traces" }).waitFor();
    expect(await page.getByRole("button", { name: "Add rule" }).count()).toBe(0);
  });
});

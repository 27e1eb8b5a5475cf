import { expect, it } from "@jest/globals";
import { describeWithChromium } from "@waymark/testing";
import { useBrowser } from "../browser.fixture.js";
import { insertTrace } from "../traces/traces.fixture.js";

describeWithChromium("a failure in a browser", (executablePath) => {
  const browser = useBrowser(executablePath);
  const { dashboard } = browser;
  const { pool } = dashboard;

  async function open(error = "Order 7 not found") {
    const accountId = await dashboard.makeAccount();
    const fail = (ago: number) => insertTrace(pool, accountId, { status: "error", error, ago });
    for (const ago of [9 * 86_400, 3_600, 60]) await fail(ago);
    const member = await dashboard.signIn(accountId, "member");
    return { fail, member, page: await browser.page(member) };
  }

  it("is resolved, opens again by itself, is assigned and muted, all by keyboard", async () => {
    const { fail, member, page } = await open();
    await page.goto("/dashboard/failures");
    await page.getByRole("link", { name: "Order N not found" }).press("Enter");
    const heading = page.getByRole("heading", { level: 1, name: "Order 7 not found" });
    await heading.waitFor();
    const rows = page.getByRole("table", { name: "Traces" }).locator(".trace-row");
    await rows.nth(2).waitFor();
    await page.getByText("New", { exact: true }).waitFor();
    await page.getByRole("button", { name: "7 days" }).press("Enter");
    await page.getByText("Traces of 7 days").waitFor();
    await page.getByText("New", { exact: true }).waitFor({ state: "detached" });

    await page.getByRole("button", { name: "Resolve", exact: true }).press("Enter");
    await page.getByRole("button", { name: "Open again" }).waitFor();
    const focused = () => page.evaluate("document.activeElement.textContent");
    expect(await focused()).toBe("Open again");
    await page.goto("/dashboard/failures");
    await page.getByRole("heading", { name: "No failures in these days" }).waitFor();
    await page.getByRole("button", { name: "Resolved", exact: true }).press("Enter");
    await page.getByRole("button", { name: "7 days" }).press("Enter");
    const link = page.getByRole("link", { name: "Order N not found" });
    await link.waitFor();
    expect(page.url()).toMatch(/days=7&state=resolved$/);
    await pool.query("UPDATE failure SET resolved_at = now() - interval '30 s' WHERE account_id = $1", [
      member.accountId,
    ]);
    await link.press("Enter");
    await heading.waitFor();
    await page.getByText("Resolved", { exact: true }).first().waitFor();

    await fail(0);
    await page.reload();
    await page.getByRole("button", { name: "Resolve", exact: true }).waitFor();
    await rows.nth(3).waitFor();
    await page.getByRole("combobox", { name: "Assigned to" }).focus();
    const saved = page.waitForResponse((response) => response.url().endsWith("/assignee"));
    await page.keyboard.press("ArrowDown");
    await saved;
    const assigned = "SELECT assigned_to FROM failure WHERE account_id = $1";
    await page.getByRole("button", { name: "Mute", exact: true }).press("Enter");
    await page.getByRole("dialog").getByRole("button", { name: "Mute", exact: true }).press("Enter");
    await page.getByText("muted until").waitFor();
    const { rows: stored } = await pool.query(assigned, [member.accountId]);
    expect(stored).toEqual([{ assigned_to: member.personId }]);
    await page.getByRole("button", { name: "Unmute" }).press("Enter");
    await page.getByText("muted until").waitFor({ state: "detached" });
  });

  it("says so where the account has none of this address", async () => {
    const { page } = await open();
    for (const id of ["00000000-0000-7000-8000-000000000000", "x"]) {
      await page.goto(`/dashboard/failures/${id}`);
      await page.getByRole("heading", { name: "Failure not found" }).waitFor();
    }
  });
});

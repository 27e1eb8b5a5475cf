import { expect, it } from "@jest/globals";
import { describeWithChromium } from "@waymark/testing";
import { useBrowser } from "../browser.fixture.js";

describeWithChromium("rules in a browser", (executablePath) => {
  const browser = useBrowser(executablePath);
  const { dashboard } = browser;

  it("makes a rule about the account's cost by keyboard, says what is wrong, and lists the rule", async () => {
    const owner = await dashboard.signIn(await dashboard.makeAccount("pro"));
    const page = await browser.page(owner, { width: 390 });
    await page.goto("/dashboard/channels");
    await page.getByRole("button", { name: "Add rule" }).press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("radio", { name: "Failures" }).press("ArrowDown");
    await dialog.getByRole("textbox", { name: "Above, in dollars" }).fill("a lot");
    await page.keyboard.press("Enter");
    await dialog.getByText("Must be dollars, such as 5.00").waitFor();
    expect(await browser.findings(page)).toEqual([]);
    await dialog.getByRole("textbox", { name: "Above, in dollars" }).fill("5.00");
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    const row = page.getByRole("table", { name: "Rules" }).getByRole("row").filter({ hasText: "All agents" });
    await row.getByText("costs more than $5 a day").waitFor();
    await page.getByRole("button", { name: "Add rule" }).click();
    await dialog.getByRole("radio", { name: "Duration" }).check();
    await dialog.getByRole("textbox", { name: "Above, in seconds" }).fill("30");
    await dialog.getByRole("button", { name: "Add" }).click();
    await page.getByText(/^95th percentile above 30/).waitFor();
    await page.getByRole("button", { name: "Add rule" }).click();
    await dialog.getByRole("radio", { name: "Cost of a trace" }).check();
    await dialog.getByRole("radio", { name: "A user" }).check();
    await dialog.getByRole("textbox", { name: "User" }).fill("ann");
    await dialog.getByRole("textbox", { name: "Above, in dollars" }).fill("1");
    expect(await browser.findings(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Add" }).click();
    await page.getByText("costs more than $1 a trace").waitFor();
    await page.getByRole("table", { name: "Rules" }).getByText("User ann").waitFor();
    const { rules } = (await owner.get("/alert-rules").expect(200)).body;
    expect(rules).toMatchObject([
      { agent_id: null, cost_per: "day", above_cost: "5", state: "quiet" },
      { p95_above_ms: 30_000 },
      { user_id: "ann", cost_per: "trace", above_cost: "1" },
    ]);
  });
});

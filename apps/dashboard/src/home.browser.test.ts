import { expect, it } from "@jest/globals";
import { describeWithChromium } from "@waymark/testing";
import { useBrowser } from "./browser.fixture.js";
import { insertModelDay } from "./costs/model-days.fixture.js";
import { makeSite } from "./statistics/statistics.fixture.js";
import { insertTrace } from "./traces/traces.fixture.js";

const dayMs = 86_400_000;

describeWithChromium("the first page", (executablePath) => {
  const browser = useBrowser(executablePath);
  const { dashboard } = browser;
  const { pool } = dashboard;

  it("shows what is new since yesterday: failures, cost against the week before, visitors of each site", async () => {
    const owner = await dashboard.signIn(await dashboard.makeAccount());
    const { accountId } = owner;
    const failed = (error: string, ago = 60) => insertTrace(pool, accountId, { status: "error", error, ago });
    await failed("接続が切れました");
    await failed("seen before");
    await failed("seen before", (3 * dayMs) / 1_000);
    await insertModelDay(pool, accountId, { ago: 2, cost: "3" });
    await insertModelDay(pool, accountId, { ago: 13, cost: "2" });
    const lines = [0, 0, 1, 9].map((ago, at) => ({
      ts: new Date(Date.now() - ago * dayMs).toISOString(),
      type: "pageview",
      path: "/",
      visitor: `visitor-${at}`,
      user_agent: "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
    }));
    await makeSite(dashboard, { accountId, lines });
    await makeSite(dashboard, { accountId: await dashboard.makeAccount(), domain: "theirs.example", lines });

    const page = await browser.page(owner, { width: 390, height: 844 });
    await page.goto("/dashboard/");
    const failures = page.getByRole("table", { name: "New failures" });
    await failures.getByRole("link", { name: "接続が切れました" }).waitFor();
    expect(await failures.getByRole("row").count()).toBe(2);
    await page
      .getByRole("region", { name: "Model calls, a week to today" })
      .getByText(/\$3\.00.*up.*50/)
      .waitFor();
    const sites = page.getByRole("table", { name: "Sites" });
    const site = sites.getByRole("row", { name: /The example\.com/ });
    await site.getByText("3", { exact: true }).waitFor();
    await site.getByText(/up.*200/).waitFor();
    expect(await sites.textContent()).not.toContain("theirs");
    expect(await browser.findings(page)).toEqual([]);
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
    await failures.getByRole("link").press("Enter");
    await page.getByRole("heading", { level: 1, name: "接続が切れました" }).waitFor();
  });

  it("has no part about traces for an account with sites alone", async () => {
    const accountId = await dashboard.makeAccount();
    await makeSite(dashboard, { accountId, domain: "alone.example" });
    const page = await browser.page(await dashboard.signIn(accountId, "member"));
    await page.goto("/dashboard");
    await page.getByRole("table", { name: "Sites" }).getByRole("link", { name: "The alone.example" }).waitFor();
    expect(await page.getByRole("heading", { level: 2 }).allTextContents()).not.toContain("New failures");
  });
});

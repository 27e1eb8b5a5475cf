import { expect, it } from "@jest/globals";
import { describeWithChromium } from "@waymark/testing";
import { useBrowser } from "../browser.fixture.js";

describeWithChromium("the agents in a browser", (executablePath) => {
  const browser = useBrowser(executablePath);
  const { dashboard } = browser;
  const agent = "team/planner 50%";

  async function owner() {
    const accountId = await dashboard.makeAccount();
    await dashboard.pool.query(
      `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, ended_at)
       SELECT $1, gen_random_uuid(), CASE WHEN n % 3 = 0 THEN 'quiet' ELSE $2 END, 'task ' || n,
         CASE WHEN n % 4 = 1 THEN 'error' ELSE 'success' END, now() - n * interval '1 day', now() - n * interval '1 day' + interval '2 s'
       FROM generate_series(0, 20) n`,
      [accountId, agent],
    );
    return dashboard.signIn(accountId);
  }

  it("leads from the list to an agent and to its traces", async () => {
    const page = await browser.page(await owner());
    await page.goto("/dashboard/agents");
    const rows = page.getByRole("table", { name: "Agents" }).getByRole("row");
    await rows.nth(2).waitFor();
    expect(await rows.nth(1).getByRole("link").textContent()).toBe(agent);
    await rows.nth(1).getByText("2.00").first().waitFor();
    await page.getByRole("link", { name: agent }).press("Enter");
    await page.getByRole("heading", { level: 1, name: agent }).waitFor();
    await page.getByRole("table", { name: "Latest failures" }).getByRole("link").first().waitFor();
    const href = await page.getByRole("link", { name: "All traces" }).getAttribute("href");
    expect(href).toBe(`/dashboard/traces?agent=${encodeURIComponent(agent)}`);
  });

  it("says so where there is none", async () => {
    const page = await browser.page(await dashboard.signIn(await dashboard.makeAccount()));
    await page.goto("/dashboard/agents");
    await page.getByRole("heading", { name: "No agents yet" }).waitFor();
    await page.goto("/dashboard/agents/nobody");
    await page.getByText("No trace of the last 60 days names this agent.").waitFor();
  });
});

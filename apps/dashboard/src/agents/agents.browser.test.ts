import { expect, it } from "@jest/globals";
import { describeWithChromium } from "@waymark/testing";
import { useBrowser } from "../browser.fixture.js";

describeWithChromium("the agents in a browser", (executablePath) => {
  const browser = useBrowser(executablePath);
  const { dashboard } = browser;
  const agent = "team/planner 50%";

  async function owner() {
    const accountId = await dashboard.makeAccount();
    await dashboard.pool.query("INSERT INTO agent (account_id, id) VALUES ($1, $2), ($1, 'quiet')", [accountId, agent]);
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
    await page.getByRole("link", { name: "Show 14 traces" }).waitFor();
    await page.getByRole("button", { name: /^Failure rate/ }).press("Enter");
    const failed = await page.getByRole("link", { name: "Show 4 failed traces" }).getAttribute("href");
    expect(failed).toContain(
      `/dashboard/traces?agent=${new URLSearchParams({ a: agent }).toString().slice(2)}&status=failed&from=`,
    );
    const failure = await page
      .getByRole("table", { name: "Open failures" })
      .getByRole("link")
      .first()
      .getAttribute("href");
    expect(failure).toMatch(/^\/dashboard\/failures\/[0-9a-f-]{36}$/);
    const href = await page.getByRole("link", { name: "All traces" }).getAttribute("href");
    expect(href).toBe(`/dashboard/traces?${new URLSearchParams({ agent })}`);
  });

  it("sorts and searches 200 agents, with few nodes and by keyboard alone", async () => {
    const accountId = await dashboard.makeAccount();
    await dashboard.pool.query(
      `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, ended_at)
       SELECT $1, gen_random_uuid(), CASE a WHEN 77 THEN '請求 ' || repeat('長', 196) ELSE 'agent ' || a END, 'n',
         CASE WHEN a = 5 THEN 'error' ELSE 'success' END, now() - a * interval '1 min', now() - a * interval '1 min' + a * interval '1 s'
       FROM generate_series(1, 200) a, generate_series(1, CASE WHEN a = 120 THEN 3 ELSE 1 END)`,
      [accountId],
    );
    const page = await browser.page(await dashboard.signIn(accountId), { width: 390, height: 844 });
    await page.goto("/dashboard/agents");
    const rows = page.getByRole("table", { name: "Agents" }).getByRole("row");
    const first = async () => (await rows.nth(1).getByRole("rowheader").textContent())?.slice(0, 12);
    await rows.nth(25).waitFor();
    expect(await rows.count()).toBe(26);
    expect(Number(await page.evaluate("document.querySelectorAll('*').length"))).toBeLessThan(1_500);
    expect(await first()).toBe("agent 5");
    const sort = (name: string) => page.getByRole("button", { name, exact: true });
    await sort("Traces").press("Enter");
    expect(await first()).toBe("agent 120");
    await rows.getByText("2 min", { exact: true }).first().waitFor();
    await sort("p95").press("Space");
    expect(await first()).toBe("agent 200");
    const sorted = page.getByRole("columnheader", { name: "p95" });
    expect(await sorted.getAttribute("aria-sort")).toBe("descending");
    await sorted.getByRole("button").press("Enter");
    expect(await first()).toBe("agent 1");
    expect(await sorted.getAttribute("aria-sort")).toBe("ascending");
    await page.getByRole("searchbox", { name: "Search agents" }).fill("請求");
    await page.getByText("1 match", { exact: true }).waitFor();
    expect(await rows.count()).toBe(2);
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
    expect(await browser.findings(page)).toEqual([]);
    await page.getByRole("searchbox", { name: "Search agents" }).fill("");
    await page.getByRole("button", { name: "Show more of 200" }).press("Enter");
    await rows.nth(125).waitFor();
  });

  it("says so where there is none", async () => {
    const page = await browser.page(await dashboard.signIn(await dashboard.makeAccount()));
    await page.goto("/dashboard/agents");
    await page.getByRole("heading", { name: "No agents yet" }).waitFor();
    await page.goto("/dashboard/agents/nobody");
    await page.getByText("This account has no agent of this name.").waitFor();
  });
});

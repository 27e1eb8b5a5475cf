import { expect, it } from "@jest/globals";
import { describeWithChromium } from "@waymark/testing";
import { useBrowser } from "../browser.fixture.js";
import { insertLabelled } from "../pages/conversation-states.fixture.js";
import { settled } from "../pages/page-state.fixture.js";
import { insertTrace } from "../traces/traces.fixture.js";

describeWithChromium("conversations and users in a browser", (executablePath) => {
  const browser = useBrowser(executablePath);
  const { dashboard } = browser;
  const { pool } = dashboard;

  async function open(path: string, count = 0) {
    const accountId = await dashboard.makeAccount();
    const chat = { session: "chat/7 会話", user: "ü & co", environment: "live" };
    await insertTrace(pool, accountId, {
      ...chat,
      name: "first",
      ago: 60,
      input: "Refund?",
      output: "Of which order?",
    });
    await insertTrace(pool, accountId, {
      ...chat,
      name: "second",
      ago: 30,
      status: "error",
      error: "gone",
      input: "7",
    });
    await pool.query(
      `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, ended_at, session_id, user_id)
       SELECT $1, gen_random_uuid(), 'writer', 'many', 'success', now() - n * interval '1 min', now() - n * interval '1 min',
         left(n || repeat('長い名前', 50), 200), left(n || repeat('مستخدم', 40), 200) FROM generate_series(1, $2::int) n`,
      [accountId, count],
    );
    const page = await browser.page(await dashboard.signIn(accountId), { width: 1280 });
    await page.goto(`/dashboard/${path}`);
    return page;
  }

  it("reads as one dialogue, from the list to a trace and its conversation by keyboard", async () => {
    const page = await open("conversations");
    await page.getByRole("link", { name: "chat/7 会話" }).press("Enter");
    await page.getByRole("heading", { level: 1, name: "chat/7 会話" }).waitFor();
    const turns = page.getByRole("list", { name: "Traces" }).getByRole("listitem");
    await turns.first().waitFor();
    const words = (await turns.allTextContents()).join(" ");
    expect(words).toMatch(/first.*Refund\?.*Of which order\?.*second.*Error.*7.*gone/s);
    await page.getByRole("link", { name: "second" }).press("Enter");
    await page.getByRole("heading", { level: 1, name: "second" }).waitFor();
    await page.getByRole("link", { name: "Conversation chat/7 会話" }).press("Enter");
    await page.getByRole("heading", { level: 1, name: "chat/7 会話" }).waitFor();
  });

  it("leads from a user to their conversations and traces", async () => {
    const page = await open("users");
    await page.getByRole("link", { name: "ü & co" }).click();
    await page.getByRole("button", { name: "Remove filter User “ü & co”" }).waitFor();
    await page.getByRole("table", { name: "Conversations" }).getByText("chat/7 会話").waitFor();
    await page.goBack();
    await page
      .getByRole("row", { name: /ü & co/ })
      .getByRole("link", { name: "2", exact: true })
      .click();
    await page.getByRole("row", { name: /second/ }).waitFor();
    expect(new URL(page.url()).searchParams.get("user")).toBe("ü & co");
  });

  it("has each column in sight of a phone, a large cost too", async () => {
    const accountId = await dashboard.makeAccount();
    await insertLabelled(pool, accountId);
    const page = await browser.page(await dashboard.signIn(accountId), { width: 390 });
    for (const name of ["Conversations", "Users"]) {
      await page.goto(`/dashboard/${name.toLowerCase()}`);
      const cost = page.getByRole("table", { name, exact: true }).getByText("$12,345.68");
      await cost.waitFor();
      await page.evaluate(settled);
      const box = await cost.boundingBox();
      const endPx = (box?.x ?? 0) + (box?.width ?? Number.POSITIVE_INFINITY);
      expect([name, endPx <= 378]).toEqual([name, true]);
    }
  });

  it("pages through 2,000 of the longest names of any script within the window", async () => {
    const page = await open("conversations?days=90", 2_000);
    const rows = page.getByRole("table", { name: "Conversations" }).locator("tbody tr");
    await rows.nth(49).waitFor();
    await page.setViewportSize({ width: 390, height: 844 });
    await page.evaluate("scrollTo(0, document.body.scrollHeight)");
    await rows.nth(99).waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
    expect(await browser.findings(page)).toEqual([]);
  });
});

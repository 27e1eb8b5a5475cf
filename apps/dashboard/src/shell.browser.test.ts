import { expect, it } from "@jest/globals";
import { describeWithChromium } from "@waymark/testing";
import { useBrowser } from "./browser.fixture.js";

describeWithChromium("the frame in a browser", (executablePath) => {
  const browser = useBrowser(executablePath);
  const { dashboard } = browser;

  async function owner() {
    return dashboard.signIn(await dashboard.makeAccount());
  }

  it("leads to the sign-in page without a session, and remembers the page", async () => {
    const page = await browser.page();
    await page.goto("/dashboard/settings?x=1");
    await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
    expect(new URL(page.url()).searchParams.get("next")).toBe("/dashboard/settings?x=1");
  });

  it("keeps the chosen theme for the next visit", async () => {
    const page = await browser.page(await owner(), { theme: "light" });
    await page.goto("/dashboard/team");
    const scheme = () => page.evaluate("getComputedStyle(document.documentElement).colorScheme");
    await page.getByRole("button", { name: "Account menu" }).press("Enter");
    await page.getByRole("menuitemradio", { name: "Dark theme" }).click();
    expect(await scheme()).toBe("dark");
    await page.reload();
    expect(await scheme()).toBe("dark");
  });

  it("moves by keyboard: to a page, its heading, the menu, and back to the menu's button", async () => {
    const page = await browser.page(await owner());
    await page.goto("/dashboard/settings");
    await page.getByRole("heading", { level: 1, name: "Settings" }).waitFor();
    const focusOn = (text: string) =>
      page
        .locator(":focus")
        .getByText(text, { exact: true })
        .or(page.locator(`:focus:text-is("${text}")`))
        .first()
        .waitFor();
    await page.keyboard.press("Tab");
    await focusOn("Skip to content");

    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Team" }).press("Enter");
    const heading = page.getByRole("heading", { level: 1, name: "Team" });
    await heading.waitFor();
    await focusOn("Team");
    expect(await page.title()).toBe("Team · Waymark");
    expect(new URL(page.url()).pathname).toBe("/dashboard/team");
    const link = page.getByRole("link", { name: "Team" });
    expect(await link.getAttribute("aria-current")).toBe("page");

    await page.getByRole("button", { name: "Account menu" }).press("Enter");
    await focusOn("Settings");
    await page.keyboard.press("ArrowUp");
    await focusOn("Sign out");
    await page.keyboard.press("d");
    await focusOn("Dark theme");
    await page.keyboard.press("Escape");
    await focusOn("Account menu");

    await page.goBack();
    await page.getByRole("heading", { level: 1, name: "Settings" }).waitFor();
    await focusOn("Settings");
  });

  it("has its menu at the bottom of a narrow window, with the rest behind More", async () => {
    const page = await browser.page(await owner(), { width: 320, height: 640 });
    await page.goto("/dashboard/settings");
    const navigation = page.getByRole("navigation", { name: "Main" });
    const box = await navigation.boundingBox();
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBe(640);
    await navigation.getByRole("button", { name: "More" }).click();
    await navigation.getByRole("link", { name: "Team" }).click();
    await page.getByRole("heading", { level: 1, name: "Team" }).waitFor();
    expect(await navigation.getByRole("link", { name: "Team" }).count()).toBe(0);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(320);
  });

  it("asks for each page's first data once, ahead of the script", async () => {
    const page = await browser.page(await owner());
    for (const [path, name] of [
      ["/dashboard/team", "Team"],
      ["/dashboard/settings", "Settings"],
    ] as const) {
      const from = browser.requests.length;
      await page.goto(path);
      await page.getByRole("heading", { level: 1, name }).waitFor();
      await page.getByRole("table").first().waitFor();
      const asked = browser.requests.slice(from).filter((line) => line.includes("/dashboard/api/"));
      expect([...new Set(asked)]).toEqual(asked);
      expect(asked).toContain("GET /dashboard/api/me");
    }
  });

  it("has the month's traces at the menu's foot, and the mails that did not go out beside Alerts", async () => {
    const person = await owner();
    const insert = `INSERT INTO alert (account_id, id, trace_id, status, failed_at) VALUES ($1, $2, $2, 'error', now())`;
    await dashboard.pool.query(insert, [person.accountId, crypto.randomUUID()]);
    for (const width of [1440, 320]) {
      const page = await browser.page(person, { width });
      await page.goto("/dashboard/team");
      const link = page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Alerts", exact: true });
      const count = link.locator("xpath=following-sibling::*").getByText("1", { exact: true });
      await count.waitFor();
      const described = await link.getAttribute("aria-describedby");
      expect(await page.locator(`[id="${described}"]`).textContent()).toBe("1 mail did not go out");
      const meter = page.getByText(/0 traces of 50.000 · Pro/);
      if (width === 320) expect(await meter.count()).toBe(0);
      else await meter.waitFor();
    }
  });

  it("says that the database is away, and recovers", async () => {
    const page = await browser.page(await owner());
    let isAway = false;
    const refusal = {
      status: 503,
      contentType: "application/json",
      body: '{"error":"Service temporarily unavailable"}',
    };
    await page.route("**/dashboard/api/**", (route) => (isAway ? route.fulfill(refusal) : route.continue()));
    await page.goto("/dashboard/settings");
    await page.getByRole("table", { name: "Sessions" }).waitFor();
    isAway = true;
    await page.getByRole("link", { name: "Team" }).click();
    const note = page.getByText("Waymark or its database does not answer now.");
    await note.waitFor();
    isAway = false;
    await page.getByRole("table", { name: "People" }).waitFor();
    await note.waitFor({ state: "detached" });
  });

  it("ends this tab's next request when the session ended elsewhere", async () => {
    const person = await owner();
    const page = await browser.page(person);
    await page.goto("/dashboard/settings");
    await page.getByRole("table", { name: "Sessions" }).waitFor();
    await person.post("/sign-out").expect(200);
    // A request of the page's own may come first, and takes the link away.
    const signIn = page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
    await Promise.race([signIn, page.getByRole("link", { name: "Team" }).click()]);
    await signIn;
    expect(new URL(page.url()).searchParams.get("next")).toMatch(/^\/dashboard\/(team|settings)$/);
  });

  it("shows a page for an unknown address", async () => {
    const page = await browser.page(await owner());
    await page.goto("/dashboard/nowhere/at/all");
    await page.getByRole("heading", { level: 1, name: "Page not found" }).waitFor();
  });
});

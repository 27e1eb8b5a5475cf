import { expect, it } from "@jest/globals";
import { describeWithChromium } from "@waymark/testing";
import { useBrowser } from "./browser.fixture.js";

describeWithChromium("the frame in a browser", (executablePath) => {
  const browser = useBrowser(executablePath);

  async function owner() {
    return browser.dashboard.signIn(await browser.dashboard.makeAccount());
  }

  it("leads to the sign-in page without a session, and remembers the page", async () => {
    const page = await browser.page();
    await page.goto("/dashboard/settings?x=1");
    await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
    expect(new URL(page.url()).searchParams.get("next")).toBe("/dashboard/settings?x=1");
    await page.getByRole("textbox", { name: "Email" }).waitFor();
    await page.getByRole("textbox", { name: "Password" }).waitFor();
  });

  it.each(["light", "dark"] as const)("axe finds nothing on the pages before a session, %s", async (theme) => {
    for (const path of ["sign-in", "forgot", "link/none"]) {
      for (const width of [1440, 320]) {
        const page = await browser.page(undefined, { theme, width });
        await page.goto(`/dashboard/${path}`);
        await page.getByRole("heading", { level: 1 }).waitFor();
        expect([path, width, await browser.findings(page)]).toEqual([path, width, []]);
      }
    }
  });

  it("keeps the chosen theme for the next visit, before the first paint", async () => {
    const page = await browser.page(await owner(), { theme: "light" });
    await page.goto("/dashboard/nowhere");
    await page.getByRole("button", { name: "Account menu" }).press("Enter");
    await page.getByRole("menuitemradio", { name: "Dark theme" }).click();
    await page.reload();
    const scheme = await page.evaluate("getComputedStyle(document.documentElement).colorScheme");
    expect(scheme).toBe("dark");
  });
});

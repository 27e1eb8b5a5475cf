import { beforeAll, expect, it } from "@jest/globals";
import { describeWithChromium } from "@waymark/testing";
import type { Page } from "playwright-core";
import { useBrowser } from "../browser.fixture.js";
import { pageParts } from "./page-parts.js";
import { makeViewers, type PageState, pageStates } from "./page-states.fixture.js";

const operator = "operator@example.com";
const widths = [1440, 320] as const;

/** Rules that depend on colours: nothing else differs between the themes. */
const colourRules = ["color-contrast", "link-in-text-block"];

const openPaths = ["/sign-in", "/sign-up", "/forgot", "/link/:token"];
const paths = pageParts.map(({ path }) => path);
const privatePaths = paths.filter((path) => !openPaths.includes(path));

describeWithChromium("every page", (executablePath) => {
  const browser = useBrowser(executablePath, { env: { OPERATORS: operator } });
  const { dashboard } = browser;
  let made: Awaited<ReturnType<typeof makeViewers>>;
  let states: ReturnType<typeof pageStates>;
  beforeAll(async () => {
    made = await makeViewers(dashboard, operator);
    states = pageStates(made.ids);
  });

  /** An address of the page with ids of the account with everything. */
  const addressOf = (path: string) => `/dashboard${states[path]?.[0]?.path ?? path}`;

  /** Has axe look at the page in both themes, and the page keep to the window's width. */
  async function check(page: Page, name: string) {
    await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
    expect([name, await browser.findings(page)]).toEqual([name, []]);
    await page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" });
    expect([name, "dark", await browser.findings(page, colourRules)]).toEqual([name, "dark", []]);
    expect([name, await page.evaluate("document.documentElement.scrollWidth - innerWidth")]).toEqual([name, 0]);
  }

  it("is in the table of states", () => {
    expect(Object.keys(states).sort()).toEqual([...paths].sort());
  });

  it.each(paths)("%s has nothing for axe to find in any state, theme and width", async (path) => {
    for (const { state = "full", as, path: own = path, act, shows } of states[path] as readonly PageState[]) {
      for (const width of widths) {
        const page = await browser.page(as && made.viewers[as], { width });
        await page.goto(`/dashboard${own}`);
        await act?.(page);
        await shows(page).waitFor();
        await check(page, `${state}, ${width} px`);
        await page.context().close();
      }
    }
  });

  it.each(privatePaths)("%s leads to the sign-in page without a session", async (path) => {
    const page = await browser.page();
    await page.goto(addressOf(path));
    await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
  });

  it("says so while the server fails, and asks anew at a click", async () => {
    for (const path of privatePaths) {
      const page = await browser.page(made.viewers.owner, { width: 320 });
      let isBroken = true;
      const answer = { status: 500, contentType: "application/json", body: '{"error":"Internal server error"}' };
      await page.route("**/dashboard/api/**", (route) => (isBroken ? route.fulfill(answer) : route.continue()));
      await page.goto(addressOf(path));
      const again = page.getByRole("button", { name: "Try again" }).first();
      await again.waitFor();
      await check(page, `${path} broken`);
      isBroken = false;
      await page.evaluate("setInterval(() => document.querySelector('.error-note button')?.click(), 100)");
      await states[path]?.[0]?.shows(page).waitFor();
      await page.context().close();
    }
  });

  it.each(paths.filter((path) => path.includes(":id")))("%s is the 404 page for another account", async (path) => {
    const page = await browser.page(made.viewers.newcomer);
    await page.goto(addressOf(path));
    await page.getByRole("heading", { level: 1, name: /^\w+ not found$/ }).waitFor();
    await check(page, path);
    expect(await page.getByRole("main").textContent()).not.toMatch(/busy\.example|book_reservation|writer/);
  });

  it("is a 404 page for an unknown address", async () => {
    const page = await browser.page(made.viewers.owner, { width: 320 });
    await page.goto("/dashboard/nowhere/at/all");
    await page.getByRole("heading", { level: 1, name: "Page not found" }).waitFor();
    await check(page, "unknown");
    await page.getByRole("button", { name: "More" }).click();
    await check(page, "more");
  });
});

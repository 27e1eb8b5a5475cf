import { beforeAll, expect, it } from "@jest/globals";
import { describeWithChromium, isNightly } from "@waymark/testing";
import type { Page } from "playwright-core";
import { useBrowser } from "../browser.fixture.js";
import { pageParts } from "./page-parts.js";
import { type PageState, settled } from "./page-state.fixture.js";
import { makeViewers, pageStates } from "./page-states.fixture.js";

const operator = "operator@example.com";
const wide = { width: 1440, height: 900 };
const narrow = { width: 320, height: 900 };

/** Rules that depend on colours: nothing else differs between the themes. */
const colourRules = ["color-contrast", "link-in-text-block"];

const openPaths = ["/sign-in", "/sign-up", "/forgot", "/link/:token", "/shared/:token", "/shared/:token/events"];
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

  /** Has axe look at the page, and the page keep to the window's width: light when wide and dark when narrow, at night both. */
  async function check(page: Page, name: string) {
    const colorScheme = page.viewportSize()?.width === wide.width ? "light" : "dark";
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    expect([name, await browser.findings(page)]).toEqual([name, []]);
    if (isNightly) {
      await page.emulateMedia({ colorScheme: colorScheme === "light" ? "dark" : "light", reducedMotion: "reduce" });
      expect([name, "other theme", await browser.findings(page, colourRules)]).toEqual([name, "other theme", []]);
    }
    expect([name, await page.evaluate("document.documentElement.scrollWidth - innerWidth")]).toEqual([name, 0]);
  }

  it("is in the table of states", () => {
    expect(Object.keys(states).sort()).toEqual([...paths].sort());
  });

  const tabs = new Map<PageState["as"], Promise<Page>>();

  /** One viewer's states of a page, one after the other in the viewer's tab. */
  async function checkStates(path: string, ofViewer: readonly PageState[]) {
    const as = ofViewer[0]?.as;
    const tab = tabs.get(as) ?? browser.page(as && made.viewers[as], { isKept: true });
    tabs.set(as, tab);
    const page = await tab;
    for (const { state = "full", path: own = path, act, shows, isPlaced } of ofViewer) {
      for (const size of [wide, narrow]) {
        await page.setViewportSize(size);
        if (size === wide || isPlaced) {
          await page.goto(`/dashboard${own}`);
          await act?.(page);
        }
        await shows(page).waitFor();
        await page.evaluate(settled);
        await check(page, `${state}, ${size.width} px`);
      }
    }
  }

  it.each(paths)("%s has nothing for axe to find in any state", async (path) => {
    const all = states[path] as readonly PageState[];
    const viewers = [...new Set(all.map(({ as }) => as))];
    await Promise.all(
      viewers.map((viewer) =>
        checkStates(
          path,
          all.filter(({ as }) => as === viewer),
        ),
      ),
    );
  });

  it("leads to the sign-in page without a session", async () => {
    const page = await browser.page();
    for (const path of privatePaths) {
      await page.goto(addressOf(path));
      await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
      expect(new URL(page.url()).searchParams.get("next")).toBe(addressOf(path));
    }
  });

  it("says so while the server fails, and asks anew at a click", async () => {
    const page = await browser.page(made.viewers.owner, narrow);
    let isBroken = true;
    const answer = { status: 500, contentType: "application/json", body: '{"error":"Internal server error"}' };
    await page.route("**/dashboard/api/**", (route) => (isBroken ? route.fulfill(answer) : route.continue()));
    for (const path of privatePaths) {
      isBroken = true;
      await page.goto(addressOf(path));
      const again = page.getByRole("button", { name: "Try again" }).first();
      await again.waitFor();
      if (isNightly || path === privatePaths[0]) await check(page, `${path} broken`);
      isBroken = false;
      await page.evaluate("setInterval(() => document.querySelector('.error-note button')?.click(), 100)");
      await states[path]?.[0]?.shows(page).waitFor();
    }
  });

  it("is the 404 page for another account", async () => {
    const page = await browser.page(made.viewers.newcomer);
    for (const path of paths.filter((each) => each.includes(":id"))) {
      await page.goto(addressOf(path));
      await page.getByRole("heading", { level: 1, name: /^\w+ not found$/ }).waitFor();
      await check(page, path);
      expect(await page.getByRole("main").textContent()).not.toMatch(/busy\.example|book_reservation|writer/);
    }
  });

  it("is a 404 page for an unknown address", async () => {
    const page = await browser.page(made.viewers.owner, narrow);
    await page.goto("/dashboard/nowhere/at/all");
    await page.getByRole("heading", { level: 1, name: "Page not found" }).waitFor();
    await check(page, "unknown");
    await page.getByRole("button", { name: "More" }).click();
    await check(page, "more");
  });
});

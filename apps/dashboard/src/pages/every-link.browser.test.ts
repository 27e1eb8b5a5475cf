import { beforeAll, expect, it } from "@jest/globals";
import { describeWithChromium, isNightly } from "@waymark/testing";
import type { Page } from "playwright-core";
import { useBrowser } from "../browser.fixture.js";
import { pageParts } from "./page-parts.js";
import { settled } from "./page-state.fixture.js";
import { makeViewers } from "./page-states.fixture.js";

const linksOf = "[...document.querySelectorAll('a[href], link[href]')].map(({ href }) => href)";

const patterns = pageParts.map(({ path }) => ({
  path,
  matches: new RegExp(`^/dashboard${path.replaceAll(/:\w+/g, "[^/]+")}$`),
}));

const pageOf = ({ pathname }: URL) => patterns.find(({ matches }) => matches.test(pathname))?.path;

/** Addresses of one page with parameters of the same names are one, but at night. */
function keyOf(url: URL): string {
  if (isNightly || url.search === "") return url.pathname + url.search;
  return `${pageOf(url) ?? url.pathname} ${[...new Set(url.searchParams.keys())].sort()}`;
}

describeWithChromium("every link", (executablePath) => {
  const browser = useBrowser(executablePath, { env: { OPERATORS: "operator@example.com" } });
  let made: Awaited<ReturnType<typeof makeViewers>>;
  beforeAll(async () => {
    made = await makeViewers(browser.dashboard, "operator@example.com");
  });

  /** Follows the links of all pages from the first one. @returns the pages' paths, and what is wrong by address */
  async function crawl(page: Page, start: string) {
    const visited = new Set<string>();
    const problems: string[] = [];
    const waiting = [new URL(start, browser.origin)];
    const known = new Set(waiting.map(keyOf));
    let present = start;
    page.on("response", (response) => {
      const { pathname } = new URL(response.url());
      if (response.status() >= 400) problems.push(`${present}: ${response.status()} of ${pathname}`);
    });
    for (let url = waiting.shift(); url; url = waiting.shift()) {
      present = url.pathname + url.search;
      const pattern = pageOf(url);
      if (pattern === undefined) {
        const status = (await page.request.get(present)).status();
        if (status >= 400) problems.push(`${present}: ${status}`);
        continue;
      }
      visited.add(pattern);
      await page.goto(present);
      await page.getByRole("heading", { level: 1 }).and(page.getByText(/./)).first().waitFor();
      await page.evaluate(settled);
      const title = await page.title();
      if (/^Waymark$|not found/i.test(title)) problems.push(`${present}: the title is “${title}”`);
      for (const href of await page.evaluate<string[]>(linksOf)) {
        const link = new URL(href);
        if (link.origin !== browser.origin || known.has(keyOf(link))) continue;
        known.add(keyOf(link));
        waiting.push(link);
      }
    }
    return { visited, problems };
  }

  it("of an account with everything leads to a page with a title, and no page lacks a link", async () => {
    const { visited, problems } = await crawl(await browser.page(made.viewers.owner), "/dashboard/");
    expect(problems).toEqual([]);
    const unlinked = pageParts.map(({ path }) => path).filter((path) => !visited.has(path));
    expect(unlinked.sort()).toEqual(withoutLinks);
  });

  it("of an account with nothing, and before a session, leads to a page with a title", async () => {
    const newcomer = await crawl(await browser.page(made.viewers.newcomer), "/dashboard/");
    expect(newcomer.problems).toEqual([]);
    const { visited, problems } = await crawl(await browser.page(), "/dashboard/sign-in");
    expect([...visited].sort()).toEqual(["/", "/forgot", "/sign-in", "/sign-up"]);
    expect(problems.filter((problem) => !problem.startsWith("/dashboard/: 401 of /dashboard/api/"))).toEqual([]);
  });
});

/** They are opened by a mail, a shared address, or without a session. */
const withoutLinks = ["/forgot", "/link/:token", "/shared/:token", "/shared/:token/events", "/sign-in", "/sign-up"];

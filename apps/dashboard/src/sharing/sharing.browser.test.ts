import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { describeWithChromium } from "@waymark/testing";
import type { Page } from "playwright-core";
import { useBrowser } from "../browser.fixture.js";
import { type Line, makeSite } from "../statistics/statistics.fixture.js";
import { addTrace } from "../trace/trace.fixture.js";
import { shareLink } from "./sharing.fixture.js";

const lines: Line[] = Array.from({ length: 40 }, (_, n) => ({
  type: n % 8 ? "pageview" : "event",
  ...(n % 8 === 0 && { name: `event-${n}` }),
  ts: new Date(Date.now() - n * 5_000_000).toISOString(),
  visitor: `visitor-${n % 11}`,
  path: `/page-${n % 13}`,
  country: ["NL", "DE"][n % 2],
  user_agent: "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
}));

/** Another origin, whose page frames the address of its query. */
function usePageElsewhere() {
  let server: Server;
  beforeAll(async () => {
    server = createServer((request, response) => {
      const src = new URL(request.url ?? "", "http://x").searchParams.get("src") ?? "";
      response.setHeader("Content-Type", "text/html");
      response.end(
        `<!doctype html><title>Blog</title><iframe src="${src}" title="Statistics" width="900" height="700"></iframe>`,
      );
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
  });
  afterAll(() => void server.close());
  return {
    get origin() {
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    },
    address: (src: string) =>
      `http://127.0.0.1:${(server.address() as AddressInfo).port}/?src=${encodeURIComponent(src)}`,
  };
}

/** The requests of a tab for data of others than shared links; another tab asks for its own. */
function requestsBeside(page: Page): string[] {
  const others: string[] = [];
  page.on("request", (request) => {
    if (/\/dashboard\/api\/(?!shared\/)/.test(request.url())) others.push(request.url());
  });
  return others;
}

describeWithChromium("a shared link in a browser", (executablePath) => {
  const browser = useBrowser(executablePath);
  const [allowed, refused] = [usePageElsewhere(), usePageElsewhere()];
  const { dashboard } = browser;
  let sites = 0;

  async function open() {
    const accountId = await dashboard.makeAccount();
    const domain = `shown-${++sites}.example`;
    const siteId = await makeSite(dashboard, { accountId, domain, lines });
    return { siteId, domain, owner: await dashboard.signIn(accountId) };
  }
  const figures = (page: Pick<Page, "getByRole">) => page.getByRole("group", { name: "Figures" });
  const textOf = async (page: Page) => [
    await figures(page).textContent(),
    await page.getByRole("table", { name: "Pages", exact: true }).textContent(),
  ];
  const here = (url: string) => url.replace(/^http:\/\/localhost:4000/, browser.origin);
  const shared = (token: string) => `${browser.origin}/dashboard/shared/${token}`;
  /** A browser that may leave the origin. */
  async function stranger() {
    const context = await (await browser.page()).context().browser()?.newContext();
    if (!context) throw new Error("no browser");
    return context.newPage();
  }

  it("is made by keyboard, shows the owner's figures to a stranger, in an allowed frame alone, until it is revoked", async () => {
    const { owner, siteId, domain } = await open();
    const settings = await browser.page(owner);
    await settings.goto(`/dashboard/sites/${siteId}/settings`);
    await settings.getByRole("button", { name: "Share", exact: true }).focus();
    await settings.keyboard.press("Enter");
    await settings.getByRole("dialog", { name: "Share by a link" }).waitFor();
    await settings.getByLabel("Pages that may show it in a frame").focus();
    await settings.keyboard.type(allowed.origin);
    await settings.keyboard.press("Enter");
    const dialog = settings.getByRole("dialog", { name: "Your new link" });
    const url = await dialog.getByRole("textbox", { name: "Address" }).inputValue();
    expect(await dialog.getByRole("textbox", { name: "Code for a page" }).inputValue()).toContain(
      `<iframe src="${url}"`,
    );
    expect(await browser.findings(settings)).toEqual([]);
    await dialog.getByRole("button", { name: "Done" }).focus();
    await settings.keyboard.press("Enter");
    await dialog.getByText("Copied?").waitFor();
    await settings.keyboard.press("Enter");
    await settings.getByRole("row", { name: /Also in pages of/ }).waitFor();

    const mine = await browser.page(owner);
    await mine.goto(`/dashboard/sites/${siteId}?range=30d`);
    await figures(mine).waitFor();
    const page = await browser.page();
    const others = requestsBeside(page);
    await page.goto(`${here(url)}?range=30d`);
    await figures(page).waitFor();
    expect(await textOf(page)).toEqual(await textOf(mine));
    expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe(domain);
    expect(await page.getByRole("navigation").count()).toBe(0);
    expect(others).toEqual([]);
    await page.getByRole("button", { name: "/page-1", exact: true }).first().click();
    await page.getByRole("button", { name: "Remove filter Page is /page-1" }).click();
    await page.getByRole("link", { name: "All custom events" }).click();
    await page.getByRole("heading", { name: "Custom events", level: 1 }).waitFor();
    expect(new URL(page.url()).pathname).toBe(`${new URL(url).pathname}/events`);

    const blog = await stranger();
    await blog.goto(allowed.address(here(url)));
    await figures(blog.frameLocator("iframe")).waitFor();
    await blog.goto(refused.address(here(url)));
    await blog.waitForLoadState("networkidle");
    const framed = blog.frames()[1];
    expect([framed?.url(), await figures(blog.frameLocator("iframe")).count()]).toEqual([
      "chrome-error://chromewebdata/",
      0,
    ]);
    await blog.context().close();

    await settings.getByRole("button", { name: "Revoke" }).click();
    await settings.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await settings.getByText("No shared links").waitFor();
    const gone = await page.goto(here(url));
    expect(gone?.status()).toBe(404);
    await page.getByRole("heading", { name: "This link does not work" }).waitFor();
    expect(await page.getByRole("link").count()).toBe(0);
  });

  it("shows one trace by its link, made from the trace's menu, and nothing that leads elsewhere", async () => {
    const accountId = await dashboard.makeAccount();
    const owner = await dashboard.signIn(accountId);
    const { id } = await addTrace(dashboard.pool, accountId, {
      spans: [
        { name: "model call", from: 0, to: 2_000, input: '{"question": 1}' },
        { name: "tool", parent: 0, status: "error", from: 900, to: 943, error: "amount does not add up" },
      ],
    });
    const mine = await browser.page(owner);
    await mine.goto(`/dashboard/traces/${id}`);
    await mine.getByRole("main").getByRole("button", { name: "More" }).focus();
    await mine.keyboard.press("Enter");
    await mine.getByRole("menuitem", { name: "Share" }).press("Enter");
    await mine.getByText("inputs, outputs and attributes of its spans").first().waitFor();
    await mine.getByRole("button", { name: "Share", exact: true }).press("Enter");
    await mine.getByRole("button", { name: "Create link" }).press("Enter");
    const made = mine.getByRole("dialog", { name: "Your new link" });
    const url = await made.getByRole("textbox", { name: "Address" }).inputValue();
    expect(await browser.findings(mine)).toEqual([]);

    const page = await browser.page();
    const others = requestsBeside(page);
    await page.goto(here(url));
    await page.getByText("amount does not add up").first().waitFor();
    expect(await page.getByRole("treeitem").count()).toBe(2);
    await page.getByRole("treeitem", { name: "model call" }).click();
    await page.getByText("question").waitFor();
    for (const key of ["s", "c", "]", "e"]) await page.keyboard.press(key);
    expect(await browser.findings(page)).toEqual([]);
    expect(await page.getByRole("link").count()).toBe(0);
    expect(others).toEqual([]);
    await owner.delete(`/traces/${id}`).expect(200);
    expect((await page.reload())?.status()).toBe(404);
    await page.getByRole("heading", { name: "This link does not work" }).waitFor();
  });

  it("takes its password once in a browser, and says when it is wrong", async () => {
    const { owner, siteId } = await open();
    const { token } = await shareLink(owner, siteId, { password: "correct horse battery" });
    const page = await browser.page();
    await page.goto(shared(token));
    const field = page.getByRole("textbox", { name: "Password" });
    await field.fill("wrong horse battery");
    await page.keyboard.press("Enter");
    await page.getByText("Wrong password").waitFor();
    expect(await browser.findings(page)).toEqual([]);
    await field.fill("correct horse battery");
    await page.keyboard.press("Enter");
    await figures(page).waitFor();
    await page.reload();
    await figures(page).waitFor();
  });
});

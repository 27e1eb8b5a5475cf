import { expect, it } from "@jest/globals";
import { describeWithChromium, useProcesses } from "@waymark/testing";
import type { Page } from "playwright-core";
import { useBrowser } from "../browser.fixture.js";
import { insertCosts, insertMachines, type Line, makeSite, useAnalyticsApi } from "./statistics.fixture.js";

const dayMs = 86_400_000;

/** The visits of 61 days, some every day, with everything that cards show. */
function visitsUntil(now: number): Line[] {
  const lines: Line[] = [];
  for (let day = 0; day <= 60; day++) {
    for (let visit = 0; visit < 3 + (day % 4); visit++) {
      const ts = new Date(now - day * dayMs - visit * 7_000).toISOString();
      const visitor = `visitor-${day}-${visit % 3}`;
      const campaign = visit === 1 ? "?utm_source=mail&utm_medium=email&utm_campaign=spring" : "";
      lines.push({
        type: "pageview",
        ts,
        visitor,
        path: `/page-${(day + visit) % 14}${campaign}`,
        referrer: visit % 2 ? "https://www.google.com/" : "",
        country: ["NL", "DE", "US"][visit % 3],
        user_agent: "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
      });
      lines.push({
        type: "event",
        ts,
        visitor,
        path: "/",
        name: visit % 2 ? "signup" : "download",
        props: { plan: `p${visit}` },
      });
    }
  }
  return lines;
}

describeWithChromium("the statistics in a browser", (executablePath) => {
  const browser = useBrowser(executablePath);
  const { dashboard } = browser;
  const api = useAnalyticsApi(dashboard);
  const startApp = useProcesses();

  async function makeBusySite() {
    const now = new Date("2026-03-15T12:00:00Z");
    dashboard.setNow(now);
    api.setNow(now);
    const accountId = await dashboard.makeAccount();
    const siteId = await makeSite(dashboard, { accountId, domain: "busy.example", lines: visitsUntil(now.getTime()) });
    return { accountId, siteId, viewer: await dashboard.signIn(accountId), ask: await api.client(accountId) };
  }

  async function open(page: Page, path: string) {
    await page.goto(path);
    await page.getByRole("group", { name: "Figures" }).waitFor();
  }

  const numberIn = async (page: Page, label: string) => {
    const figure = page.getByRole("group", { name: "Figures" }).getByRole("button", { name: label });
    return (await figure.textContent())?.replace(/\u202f/g, "").match(/ (\d+)/)?.[1];
  };

  it("wait for the first visit beside the snippet, and turn when the collector records one", async () => {
    const collector = await startApp("collector", dashboard.databaseUrl);
    const accountId = await dashboard.makeAccount("free");
    const siteId = await makeSite(dashboard, { accountId, domain: "new.example" });
    const page = await browser.page(await dashboard.signIn(accountId));
    await page.goto(`/dashboard/sites/${siteId}`);
    await page.getByText("Waiting for the first visit").waitFor();
    const snippet = await page.getByRole("textbox", { name: "Tracking snippet" }).inputValue();
    expect(snippet).toContain('data-domain="new.example"');
    expect(await browser.findings(page)).toEqual([]);
    const userAgent =
      "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";
    const answer = await fetch(`${collector.url}/api/event`, {
      method: "POST",
      headers: { "User-Agent": userAgent },
      body: JSON.stringify({ name: "pageview", url: "https://new.example/hello", domain: "new.example" }),
    });
    expect([answer.status, answer.headers.get("x-waymark-dropped")]).toEqual([202, null]);
    await page.getByText("1 now").waitFor();
    await page.getByRole("region", { name: "Pages" }).getByText("/hello").waitFor();
    expect(await numberIn(page, "Visitors")).toBe("1");
  });

  it("are the API's for three ranges, and the address keeps them", async () => {
    const { siteId, viewer, ask } = await makeBusySite();
    const page = await browser.page(viewer);
    await open(page, `/dashboard/sites/${siteId}`);
    for (const [name, range] of [
      ["Today", "today"],
      ["30 days", "30d"],
      ["7 days", "7d"],
    ] as const) {
      await page.getByRole("group", { name: "Range" }).getByRole("button", { name }).click();
      await page.waitForURL((url) => (url.searchParams.get("range") ?? "7d") === range);
      const { body } = await ask(`/sites/${siteId}/stats?range=${range}&metrics=visits,viewsPerVisit`).expect(200);
      const views = page.getByRole("group", { name: "Figures" }).getByRole("button", { name: "Page views" });
      await views.getByText(String(body.pageviews), { exact: true }).waitFor();
      expect(await numberIn(page, "Visitors")).toBe(String(body.uniqueVisitors));
      expect(await numberIn(page, "Visits")).toBe(String(body.visits));
      const perVisit = page.getByRole("group", { name: "Figures" }).getByRole("button", { name: /^Views per visit / });
      expect(await perVisit.textContent()).toContain(body.viewsPerVisit.toFixed(2));
      const first = page.getByRole("region", { name: "Pages" }).getByRole("row").nth(1);
      expect(await first.textContent()).toContain(body.topPages[0].path);
      expect(await first.textContent()).toContain(String(body.topPages[0].pageviews));
    }
  });

  it("have a chart that arrow keys read, cards with tabs, a file and a dialog with all rows", async () => {
    const { siteId, viewer, ask } = await makeBusySite();
    const page = await browser.page(viewer);
    await open(page, `/dashboard/sites/${siteId}`);
    const chart = page.getByRole("slider", { name: "Visitors over time" });
    const values = await page.getByRole("table", { name: "Visitors over time" }).getByRole("row").allInnerTexts();
    expect(values).toHaveLength(8);
    await chart.focus();
    const last = await chart.getAttribute("aria-valuetext");
    await chart.press("ArrowLeft");
    expect(await chart.getAttribute("aria-valuenow")).toBe("5");
    expect(await chart.getAttribute("aria-valuetext")).not.toBe(last);
    await chart.press("Home");
    expect(await chart.getAttribute("aria-valuenow")).toBe("0");

    await page.getByRole("group", { name: "Figures" }).getByRole("button", { name: "Custom events" }).click();
    await page.getByRole("slider", { name: "Custom events over time" }).waitFor();
    expect(page.url()).toContain("figure=events");

    const sources = page.getByRole("region", { name: "Sources" });
    await sources.getByRole("tab", { name: "Campaigns" }).click();
    await sources.getByRole("table").getByText("spring").waitFor();
    await page.getByRole("region", { name: "Countries" }).getByText("Netherlands").waitFor();
    await page.getByRole("region", { name: "Technology" }).getByText("Firefox").waitFor();
    await page.getByRole("region", { name: "Custom events" }).getByRole("button", { name: "signup" }).click();
    await page.getByRole("table", { name: "Values of plan" }).getByText("p1").waitFor();

    const downloading = page.waitForEvent("download");
    await page.getByRole("link", { name: "CSV", exact: true }).click();
    const file = await (await downloading).createReadStream();
    const csv = Buffer.concat(await file.toArray()).toString();
    expect(csv).toBe((await ask(`/sites/${siteId}/stats?lists=topPages&limit=1000`, "text/csv").expect(200)).text);

    const pages = page.getByRole("region", { name: "Pages" });
    expect(await pages.getByRole("row").count()).toBe(10);
    await pages.getByRole("button", { name: "All pages" }).click();
    const dialog = page.getByRole("dialog", { name: "All pages" });
    await dialog.getByText("11 rows").waitFor();
    await dialog.getByRole("textbox", { name: "Search" }).fill("page-10");
    await dialog.getByText("1 row").waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  });

  it("compare with a custom range's days before, with a year ago, or not", async () => {
    const { siteId, viewer } = await makeBusySite();
    const page = await browser.page(viewer);
    await open(page, `/dashboard/sites/${siteId}`);
    await page.getByRole("group", { name: "Range" }).getByRole("button", { name: "Custom" }).click();
    const to = await page.getByLabel("To", { exact: true }).inputValue();
    await page.getByLabel("From", { exact: true }).fill(new Date(Date.parse(to) - dayMs).toISOString().slice(0, 10));
    await page.getByText(/to .*, UTC days/).waitFor();
    expect(page.url()).toContain(`to=${to}`);
    await page.getByRole("combobox", { name: "Compare" }).selectOption("year");
    await page.getByText(`Compared with ${Number(to.slice(0, 4)) - 1}-`).waitFor();
    await page.getByRole("combobox", { name: "Compare" }).selectOption("off");
    await page.getByText("Compared with 20").waitFor({ state: "detached" });
    await page.getByLabel("From", { exact: true }).fill("2001-01-01");
    await page.getByText("At most 366 days").waitFor();
  });

  it("are filtered by a click on a value; chips, keys and the back button undo it", async () => {
    const { siteId, viewer, ask } = await makeBusySite();
    const page = await browser.page(viewer);
    await open(page, `/dashboard/sites/${siteId}?range=30d`);
    const filters = () => new URL(page.url()).searchParams.get("filters");
    const region = (name: string) => page.getByRole("region", { name });
    const shows = async (text: string) => {
      await page.waitForURL(() => (filters() ?? "") === text);
      const query = `range=30d${text && `&filters=${encodeURIComponent(text)}`}`;
      const { body } = await ask(`/sites/${siteId}/stats?${query}&metrics=visits,events`).expect(200);
      const views = page.getByRole("group", { name: "Figures" }).getByRole("button", { name: "Page views" });
      await views.getByText(String(body.pageviews), { exact: true }).waitFor();
      expect(await numberIn(page, "Visits")).toBe(String(body.visits));
      expect(await numberIn(page, "Custom events")).toBe(String(body.events));
    };

    const germany = region("Countries").getByRole("button", { name: "Germany" });
    await germany.click();
    await shows("country:is:DE");
    await page.getByRole("button", { name: "Remove filter Country is DE" }).waitFor();
    expect(await germany.getAttribute("aria-pressed")).toBe("true");
    expect(await region("Countries").getByRole("row").count()).toBe(2);

    const first = region("Pages").getByRole("table").getByRole("button").first();
    const path = await first.textContent();
    await first.focus();
    await first.press("Enter");
    await shows(`country:is:DE;page:is:${path}`);
    expect(await region("Pages").getByRole("row").count()).toBe(2);
    expect(await browser.findings(page)).toEqual([]);
    const href = await page.getByRole("link", { name: "CSV", exact: true }).getAttribute("href");
    expect(new URLSearchParams(href?.split("?")[1]).get("filters")).toBe(filters());

    await page.goBack();
    await shows("country:is:DE");
    await page.goForward();
    await shows(`country:is:DE;page:is:${path}`);
    const remove = page.getByRole("button", { name: "Remove filter Country is DE" });
    await remove.focus();
    await remove.press("Enter");
    await shows(`page:is:${path}`);
    const focused = page.locator("button:focus");
    expect(await focused.getAttribute("aria-label")).toBe(`Remove filter Page is ${path}`);
    await page.getByRole("button", { name: "Remove all filters" }).click();
    await shows("");
    expect(await page.locator("h1:focus").count()).toBe(1);

    const events = region("Custom events");
    await events.getByRole("button", { name: "signup" }).click();
    await events.getByRole("button", { name: "Filter by this event" }).click();
    await shows("event:is:signup");
    await page.getByRole("table", { name: "Values of plan" }).getByRole("button", { name: "p1" }).click();
    await shows("event:is:signup;prop.plan:is:p1");

    await region("Pages").getByRole("button", { name: "All pages" }).click();
    const dialog = page.getByRole("dialog", { name: "All pages" });
    const other = await dialog.getByRole("table").getByRole("button").nth(1).textContent();
    await dialog.getByRole("table").getByRole("button").nth(1).click();
    await shows(`event:is:signup;prop.plan:is:p1;page:is:${other}`);
    expect(await page.getByRole("dialog").count()).toBe(0);
  });

  it("lead to the machines that read the site, with the API's figures", async () => {
    const { siteId, viewer, ask } = await makeBusySite();
    await insertMachines(dashboard.pool, siteId, new Date("2026-03-15T12:00:00Z"));
    await insertCosts(dashboard.pool, siteId, new Date("2026-03-15T12:00:00Z"));
    const page = await browser.page(viewer);
    await open(page, `/dashboard/sites/${siteId}`);
    await page.getByRole("link", { name: "AI", exact: true }).click();
    await page.getByRole("heading", { name: "AI", level: 1 }).waitFor();
    for (const range of ["7d", "30d"]) {
      if (range === "30d")
        await page.getByRole("group", { name: "Range" }).getByRole("button", { name: "30 days" }).click();
      const { body } = await ask(`/sites/${siteId}/ai?range=${range}&interval=day`).expect(200);
      const crawled = body.series.reduce((sum: number, day: { crawled: number }) => sum + day.crawled, 0);
      await page
        .getByRole("button", { name: `Crawled ${crawled.toLocaleString("en").replaceAll(",", "\u202f")}` })
        .waitFor();
      const cellsOf = async (table: string, row: string) =>
        (
          await page
            .getByRole("table", { name: table })
            .getByRole("row", { name: row })
            .getByRole("cell")
            .allInnerTexts()
        ).map((text) => Number(text.replaceAll("\u202f", "")));
      const [engine] = body.engines;
      const { crawled: c, answered: a, referred: r } = engine;
      expect((await cellsOf("Engines", engine.name)).slice(0, 3)).toEqual([c, a, r]);
      const [machine] = body.machines;
      const { requests, pages, verified, missing, blocked, failed } = machine;
      const cells = [requests, pages, verified, machine.false, missing, blocked, failed];
      expect((await cellsOf("Machines", machine.name)).slice(2)).toEqual(cells);
      const [first] = body.pages;
      expect((await cellsOf("Pages", first.path)).slice(0, 4)).toEqual([
        first.crawled,
        first.answered,
        first.referred,
        first.visitors,
      ]);
    }
    const costsOf = (by: string, row: string) =>
      page.getByRole("table", { name: `What visits cost, by ${by}` }).getByRole("row", { name: row });
    const cells = await costsOf("channel", "AI Assistants").getByRole("cell").allInnerTexts();
    expect(cells.map((text) => text.replaceAll(/\s/g, " "))).toEqual([
      "40",
      "55",
      "3",
      "1.65 s",
      "$0.813",
      "$0.0203",
      "4",
      "196 EUR",
    ]);
    await page.getByRole("group", { name: "By" }).getByRole("button", { name: "Source" }).press("Enter");
    await costsOf("source", "ChatGPT").waitFor();
    const chart = page.getByRole("slider", { name: "Crawled over time" });
    await chart.focus();
    const last = await chart.getAttribute("aria-valuetext");
    await chart.press("ArrowLeft");
    expect(await chart.getAttribute("aria-valuetext")).not.toBe(last);
    await page.getByRole("table", { name: "Read, not visited" }).getByText("/page-15").waitFor();
  });

  it("filter what machines read by a page and an engine, by keyboard", async () => {
    const { siteId, viewer, ask } = await makeBusySite();
    await insertMachines(dashboard.pool, siteId, new Date("2026-03-15T12:00:00Z"));
    const page = await browser.page(viewer);
    await page.goto(`/dashboard/sites/${siteId}/ai?range=30d`);
    await page
      .getByRole("table", { name: "Pages" })
      .getByRole("button", { name: "/page-9", exact: true })
      .press("Enter");
    await page.getByText("Page is /page-9", { exact: true }).waitFor();
    await page.getByRole("table", { name: "Engines" }).getByRole("button", { name: "ChatGPT" }).press("Enter");
    await page.waitForURL((url) => url.searchParams.get("filters") === "page:is:/page-9;source:is:ChatGPT");
    const query = `filters=${encodeURIComponent("page:is:/page-9;source:is:ChatGPT")}`;
    const { body } = await ask(`/sites/${siteId}/ai?range=30d&${query}`).expect(200);
    const rows = page.getByRole("table", { name: "Machines" }).getByRole("row");
    for (const { name } of body.machines) await rows.filter({ hasText: name }).waitFor();
    await rows.filter({ hasText: "Outside the list" }).waitFor({ state: "detached" });
    expect(await rows.count()).toBe(body.machines.length + 1);
    expect(await browser.findings(page)).toEqual([]);
    await page.goto(`/dashboard/sites/${siteId}/ai?filters=country:is:DE`);
    await page.getByRole("alert").getByText("Must be of page, source, channel").waitFor();
  });

  it("say what is wrong with filters in the address, and can leave them", async () => {
    const { siteId, viewer } = await makeBusySite();
    const page = await browser.page(viewer);
    await page.goto(`/dashboard/sites/${siteId}?filters=colour:is:red;page:contains:%2Fpage`);
    await page.getByRole("alert").getByText("Must name one of the dimensions").waitFor();
    await page.getByRole("button", { name: "Remove filter colour is red" }).click();
    await page.getByRole("group", { name: "Figures" }).waitFor();
    await page.getByText("Page contains /page", { exact: true }).waitFor();
    expect(new URL(page.url()).searchParams.get("filters")).toBe("page:contains:/page");
  });
});

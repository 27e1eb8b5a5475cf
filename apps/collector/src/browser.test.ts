import { afterAll, afterEach, beforeAll, expect, it } from "@jest/globals";
import { createAccount, issueKey } from "@waymark/accounts";
import { createUuidV7 } from "@waymark/database";
import { createPrisma } from "@waymark/database/prisma";
import { chromiumFlags, describeWithChromium, type RunningApp, useDatabase, useProcesses } from "@waymark/testing";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { openSite, type TestSite } from "./site.fixture.js";

/** Headless Chromium says so in its own user agent, and would be dropped as a bot. */
const userAgent =
  "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";

interface Stats {
  pageviews: number;
  uniqueVisitors: number;
  topPages: { path: string; pageviews: number }[];
  topReferrers: { source: string }[];
  channels: Record<string, { pageviews: number }>;
}

describeWithChromium(
  "in a browser",
  (executablePath) => {
    const database = useDatabase();
    const startApp = useProcesses();
    const uuid = createUuidV7();
    let browser: Browser;
    let site: TestSite;
    let [collector, analytics]: [RunningApp?, RunningApp?] = [];
    let context: BrowserContext;
    let key = "";
    let accountId = "";

    beforeAll(async () => {
      // A context's own user agent does not hold while its page is left.
      const own = [`--user-agent=${userAgent}`, "--disable-blink-features=AutomationControlled"];
      const args = [...chromiumFlags, ...own];
      const ignoreDefaultArgs = ["--disable-back-forward-cache"];
      [browser, site, collector, analytics] = await Promise.all([
        chromium.launch({ executablePath, args, ignoreDefaultArgs }),
        openSite(),
        startApp("collector", database.url, { COLLECTOR_RATE_LIMIT_PER_ADDRESS: "0" }),
        startApp("analytics-api", database.url),
      ]);
      const prisma = createPrisma(database.pool);
      ({ id: accountId } = await createAccount(prisma, { email: "owner@example.com", plan: "pro" }));
      ({ key } = await issueKey(database.pool, { accountId, service: "analytics", name: "test" }));
    });
    afterEach(() => context?.close());
    afterAll(async () => {
      await browser?.close();
      await site?.close();
    });

    async function makeSite() {
      const id = uuid();
      const domain = `${id}.example`;
      await database.pool.query("INSERT INTO site (id, account_id, domain, name) VALUES ($1, $2, $3, 'site')", [
        id,
        accountId,
        domain,
      ]);
      return {
        id,
        domain,
        tag: `<script defer src="${collector?.url}/js/script.js" data-domain="${domain}"></script>`,
      };
    }

    const ask = async <Answer>(path: string): Promise<Answer> => {
      const answer = await fetch(`${analytics?.url}/api/v1/sites/${path}`, {
        headers: { Authorization: `Bearer ${key}` },
      });
      expect(answer.status).toBe(200);
      return (await answer.json()) as Answer;
    };
    const statsOf = (id: string) => ask<Stats>(`${id}/stats?range=7d`);
    const eventsOf = async (id: string) => (await ask<{ events: unknown[] }>(`${id}/events?range=7d`)).events;
    const countEvents = async (id: string) =>
      (
        await database.pool.query("SELECT count(*)::int AS n FROM event WHERE site_id = $1 AND type <> 'engagement'", [
          id,
        ])
      ).rows[0].n;

    const engagementOf = async (id: string) => {
      const sql = `SELECT path, engaged_ms >= 0 AS "isMeasured", scroll_depth AS depth FROM event
      WHERE site_id = $1 AND type = 'engagement' ORDER BY id`;
      return (await database.pool.query(sql, [id])).rows;
    };

    const visitsOf = async (id: string) => {
      const sql = `SELECT views, events, passive_events, end_us > last_us AS "isExtended" FROM visit WHERE site_id = $1`;
      return (await database.pool.query(sql, [id])).rows;
    };

    async function until(condition: () => Promise<boolean>): Promise<void> {
      for (let i = 0; i < 200; i++) {
        if (await condition()) return;
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
      throw new Error("It did not come to pass within 5 s.");
    }
    const recorded = (id: string, count: number) => until(async () => (await countEvents(id)) >= count);

    /** Opens a page of the local site in a fresh browser. */
    async function open(
      path: string,
      options: { host?: string; init?: string; userAgent?: string } = {},
    ): Promise<Page> {
      context = await browser.newContext(options.userAgent === undefined ? {} : { userAgent: options.userAgent });
      const page = await context.newPage();
      if (options.init) await page.addInitScript(options.init);
      await page.goto(`http://${options.host ?? "127.0.0.1"}:${site.port}${path}`);
      return page;
    }

    it("waymark.visit() gives the token of the visitor where the owner wants it, else null", async () => {
      const { id, domain, tag } = await makeSite();
      site.setPage("/", tag);
      const page = await open("/");
      await recorded(id, 1);
      const ask = () => page.evaluate<string | null>("waymark.visit()");
      expect(await ask()).toBeNull();
      const { id: other, ...wanted } = await makeSite();
      await database.pool.query("UPDATE site SET costs_until = '2026-01-01' WHERE id = ANY ($1)", [[id, other]]);
      site.setPage("/wanted", wanted.tag);
      await page.goto(`http://127.0.0.1:${site.port}/wanted`);
      const token = await ask();
      expect(token).toMatch(/^[0-9a-f]{32}$/);
      expect(await ask()).toBe(token);
      site.setPage(
        "/gone",
        `<script defer src="${collector?.url}/js/script.js" data-domain="${domain}" data-api="/nothing"></script>`,
      );
      await page.goto(`http://127.0.0.1:${site.port}/gone`);
      expect(await ask()).toBeNull();
    });

    it("the tracker reports the load, navigation by pushState, and custom events, and the analytics API has them", async () => {
      const { id, domain, tag } = await makeSite();
      const stub = "window.waymark = window.waymark || function () { (waymark.q = waymark.q || []).push(arguments) };";
      site.setPage("/", `<script>${stub} waymark("early");</script>${tag}`);
      site.setPage("/from", `<a href="http://127.0.0.1:${site.port}/?utm_campaign=x">go</a>`);
      const page = await open("/from", { host: "localhost" });
      await page.click("a");
      await recorded(id, 2);
      await page.evaluate(`history.pushState({}, "", "/two?x=1"); history.pushState({}, "", "/two?x=2");`);
      await page.evaluate(`history.replaceState({}, "", "/two?x=2"); history.replaceState({}, "", "/three")`);
      await page.evaluate(`waymark("signup", { props: { plan: "pro" } })`);
      await recorded(id, 5);
      await page.evaluate("history.go(-2)");
      await recorded(id, 6);

      expect(await statsOf(id)).toMatchObject({
        pageviews: 4,
        uniqueVisitors: 1,
        topReferrers: [{ source: "localhost" }],
        channels: { Referral: { pageviews: 1 }, Direct: { pageviews: 3 } },
      });
      const pages = (await statsOf(id)).topPages.map(({ path, pageviews }) => [path, pageviews]);
      expect(pages).toEqual([
        ["/", 2],
        ["/three", 1],
        ["/two", 1],
      ]);
      expect(await eventsOf(id)).toEqual([
        { name: "early", count: 1, properties: {} },
        { name: "signup", count: 1, properties: { plan: { pro: 1 } } },
      ]);
      expect(await context.cookies()).toEqual([]);
      expect(await page.evaluate("localStorage.length + sessionStorage.length + document.cookie.length")).toBe(0);
      expect(domain).toMatch(/example$/);
    });

    it("the tracker counts once where its tag stands twice", async () => {
      const { id, tag } = await makeSite();
      site.setPage("/twice", tag + tag);
      const page = await open("/twice");
      await page.evaluate(`waymark("done")`);
      await recorded(id, 2);
      expect((await statsOf(id)).pageviews).toBe(1);
    });

    it("the tracker sends to data-api", async () => {
      const { id, domain } = await makeSite();
      const script = `${collector?.url}/js/script.js`;
      site.setPage("/api", `<script defer src="${script}" data-domain="${domain}" data-api="/collect"></script>`);
      const page = await open("/");
      const posted = page.waitForRequest((request) => request.method() === "POST");
      await page.goto(`http://127.0.0.1:${site.port}/api`);
      expect((await posted).url()).toBe(`http://127.0.0.1:${site.port}/collect`);
      expect(await countEvents(id)).toBe(0);
    });

    it("the tracker sends nothing for who opted out, and everything where storage is forbidden", async () => {
      const { id, tag } = await makeSite();
      site.setPage("/out", tag);
      site.setPage("/sandbox", `<iframe sandbox="allow-scripts" src="/framed"></iframe>`);
      site.setPage("/framed", tag);
      const page = await open("/out", { init: `try { localStorage.waymark_ignore = "true" } catch {}` });
      await page.evaluate(`waymark("signup")`);
      await page.goto(`http://127.0.0.1:${site.port}/sandbox`);
      await recorded(id, 1);
      expect((await statsOf(id)).topPages).toMatchObject([{ path: "/framed", pageviews: 1 }]);
      expect(await eventsOf(id)).toEqual([]);
    });

    it("the tracker holds everything back until the page is seen, as one that is prerendered is later or never", async () => {
      const { id, tag } = await makeSite();
      site.setPage("/ahead", `${tag}<script>addEventListener("load", () => waymark("loaded"))</script>`);
      // Playwright switches prerendering off, so the page pretends not to be seen yet.
      const init = `
      let state = "hidden";
      Object.defineProperty(document, "visibilityState", { get: () => state });
      window.show = () => { state = "visible"; document.dispatchEvent(new Event("visibilitychange")) };`;
      const page = await open("/ahead", { init });
      await page.evaluate(`history.pushState({}, "", "/ahead/two"); new Promise((done) => setTimeout(done, 300))`);
      expect(await countEvents(id)).toBe(0);
      await page.evaluate("show(); show()");
      await recorded(id, 2);
      expect(await statsOf(id)).toMatchObject({ pageviews: 1, topPages: [{ path: "/ahead/two" }] });
      expect(await eventsOf(id)).toMatchObject([{ name: "loaded", count: 1 }]);
    });

    it("the tracker counts a page that comes back from the browser's cache", async () => {
      const { id, tag } = await makeSite();
      site.setPage(
        "/kept",
        `${tag}<script>addEventListener("pageshow", (e) => { if (e.persisted) fetch("/persisted") })</script>`,
      );
      const page = await open("/kept");
      await recorded(id, 1);
      await page.goto(`http://127.0.0.1:${site.port}/elsewhere`);
      await page.evaluate("setTimeout(() => history.back())");
      await recorded(id, 2);
      expect(site.asked).toContain("/persisted");
      expect((await statsOf(id)).topPages).toMatchObject([{ path: "/kept", pageviews: 2 }]);
    });

    it("the tracker reports engagement when a page is left or hidden, which extends the visit and counts as nothing else", async () => {
      const { id, tag } = await makeSite();
      site.setPage("/long", `<div style="height: 5000px"></div>${tag}`);
      const page = await open("/long");
      await page.evaluate(
        "new Promise((done) => { addEventListener('scroll', done, { once: true }); scrollTo(0, 1780) })",
      );
      await page.evaluate(`scrollTo(0, 0); history.pushState({}, "", "/two")`);
      await until(async () => (await engagementOf(id)).length === 1);
      await page.evaluate(`
      let state = "hidden";
      Object.defineProperty(document, "visibilityState", { configurable: true, get: () => state });
      for (state of ["hidden", "visible", "hidden", "visible"]) document.dispatchEvent(new Event("visibilitychange"));
      delete document.visibilityState`);
      await until(async () => (await engagementOf(id)).length === 2);
      await page.evaluate(
        "new Promise((done) => { addEventListener('scroll', done, { once: true }); scrollTo(0, 9999) })",
      );
      await page.goto(`http://127.0.0.1:${site.port}/elsewhere`);
      await until(async () => (await engagementOf(id)).length === 3);
      expect(await engagementOf(id)).toEqual([
        { path: "/long", isMeasured: true, depth: 50 },
        { path: "/two", isMeasured: true, depth: 14 },
        { path: "/two", isMeasured: true, depth: 100 },
      ]);
      expect(await visitsOf(id)).toEqual([{ views: 2, events: 0, passive_events: 0, isExtended: true }]);
      expect(await statsOf(id)).toMatchObject({ pageviews: 2, uniqueVisitors: 1 });
      expect(await eventsOf(id)).toEqual([]);
    });

    it("extensions report outbound links, downloads and forms, and leave a bounce a bounce", async () => {
      const { id, tag } = await makeSite();
      const elsewhere = `http://localhost:${site.port}/elsewhere?x=1`;
      site.setPage(
        "/links",
        `<a id="out" href="${elsewhere}"><b>out</b></a> <a id="in" href="/elsewhere">in</a>
      <a id="file" href="/a.PDF?x=1" onclick="return false">file</a>
      <form onsubmit="return false"><input required><button>go</button></form>
      ${tag.replace("script.js", "script.outbound-links.file-downloads.form-submissions.js").repeat(2)}`,
      );
      const page = await open("/links");
      await page.click("#file");
      await page.click("button");
      await page.fill("input", "x");
      await page.click("button");
      await recorded(id, 3);
      await page.click("#out b");
      await recorded(id, 4);
      expect(await eventsOf(id)).toEqual([
        { name: "File Download", count: 1, properties: { url: { [`http://127.0.0.1:${site.port}/a.PDF`]: 1 } } },
        { name: "Form: Submission", count: 1, properties: { path: { "/links": 1 } } },
        { name: "Outbound Link: Click", count: 1, properties: { url: { [elsewhere]: 1 } } },
      ]);
      expect(await visitsOf(id)).toMatchObject([{ views: 1, events: 3, passive_events: 3 }]);
      await page.goto(`http://127.0.0.1:${site.port}/links`);
      await page.click("#in");
      await recorded(id, 5);
      expect(await countEvents(id)).toBe(5);
    });

    it("a browser without a window is told that it counts as a bot", async () => {
      const { id, tag } = await makeSite();
      site.setPage("/bot", tag);
      const page = await open("/elsewhere", { userAgent: userAgent.replace("Chrome", "HeadlessChrome") });
      const answered = page.waitForResponse((response) => response.url().endsWith("/api/event"));
      await page.goto(`http://127.0.0.1:${site.port}/bot`);
      expect((await answered).headers()["x-waymark-dropped"]).toBe("bot");
      expect(await countEvents(id)).toBe(0);
    });

    it("plausible-tracker from npm works unchanged", async () => {
      const { id, domain } = await makeSite();
      const options = JSON.stringify({ domain, apiHost: collector?.url, trackLocalhost: true });
      const code = `
      import Plausible from "/npm/plausible-tracker/index.js";
      const { enableAutoPageviews, trackEvent } = Plausible(${options});
      enableAutoPageviews();
      history.pushState({}, "", "/plausible/two");
      trackEvent("signup", { props: { plan: "pro", seats: 3 }, callback: () => { document.title = "called" } });`;
      site.setPage("/plausible", `<script type="module">${code}</script>`);
      const page = await open("/plausible");
      await recorded(id, 3);
      await page.waitForFunction(`document.title === "called"`);
      const { pageviews, uniqueVisitors, topPages } = await statsOf(id);
      expect([pageviews, uniqueVisitors]).toEqual([2, 1]);
      expect(topPages.map(({ path }) => path)).toEqual(["/plausible", "/plausible/two"]);
      expect(await eventsOf(id)).toEqual([
        { name: "signup", count: 1, properties: { plan: { pro: 1 }, seats: { 3: 1 } } },
      ]);
    });

    it("@plausible-analytics/tracker from npm works unchanged", async () => {
      const { id, domain } = await makeSite();
      const options = JSON.stringify({ domain, endpoint: `${collector?.url}/api/event`, captureOnLocalhost: true });
      const code = `
      import { init, track } from "/npm/plausible-analytics/plausible.js";
      init(${options});
      history.pushState({}, "", "/official/two");
      track("signup", { props: { plan: "pro" }, callback: ({ status }) => { document.title = status } });`;
      site.setPage("/official", `<script type="module">${code}</script>`);
      const page = await open("/elsewhere");
      await page.goto(`http://127.0.0.1:${site.port}/official`);
      await recorded(id, 3);
      await page.waitForFunction(`document.title === "202"`);
      const { pageviews, uniqueVisitors, topPages } = await statsOf(id);
      expect([pageviews, uniqueVisitors]).toEqual([2, 1]);
      expect(topPages.map(({ path }) => path)).toEqual(["/official", "/official/two"]);
      expect(await eventsOf(id)).toEqual([{ name: "signup", count: 1, properties: { plan: { pro: 1 } } }]);
      await page.goto(`http://127.0.0.1:${site.port}/elsewhere`);
      await until(async () => (await engagementOf(id)).length === 2);
      expect(await engagementOf(id)).toEqual([
        { path: "/official", isMeasured: true, depth: 100 },
        { path: "/official/two", isMeasured: true, depth: 100 },
      ]);
      expect(await statsOf(id)).toMatchObject({ pageviews: 2, uniqueVisitors: 1 });
    });
  },
  true,
);

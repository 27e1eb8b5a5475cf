import { expect, it } from "@jest/globals";
import { describeWithChromium } from "@waymark/testing";
import type { Page } from "playwright-core";
import { useBrowser } from "../browser.fixture.js";
import { useTraceApi } from "./trace-api.fixture.js";
import { insertTrace } from "./traces.fixture.js";

const dayS = 86_400;

describeWithChromium("the rows of the traces", (executablePath) => {
  const browser = useBrowser(executablePath);
  const { dashboard } = browser;
  const { pool } = dashboard;
  const api = useTraceApi(dashboard);

  async function open(accountId: string, query = "") {
    const page = await browser.page(await dashboard.signIn(accountId), { zone: "UTC" });
    await page.goto(`/dashboard/traces${query}`);
    return page;
  }

  const rowsOf = (page: Page) => page.getByRole("table", { name: "Traces" }).getByRole("row");

  async function use(accountId: string, traces: number) {
    await pool.query(
      `INSERT INTO trace_usage (account_id, month, traces) VALUES ($1, date_trunc('month', now())::date, $2)
       ON CONFLICT (account_id, month) DO UPDATE SET traces = $2`,
      [accountId, traces],
    );
  }

  it("stand below their day, and past Free's 30 days say so", async () => {
    const accountId = await dashboard.makeAccount("free");
    const sinceMidnight = Math.floor((Date.now() % (dayS * 1_000)) / 1_000);
    for (const [name, ago] of [
      ["of today", sinceMidnight / 2],
      ["late yesterday", sinceMidnight + 60],
      ["early yesterday", sinceMidnight + dayS - 60],
      ["kept", 30 * dayS],
      ["old", 32 * dayS],
    ] as const) {
      await insertTrace(pool, accountId, { name, ago });
    }
    const page = await browser.page(await dashboard.signIn(accountId), { zone: "UTC" });
    let answerPlan = () => {};
    const isAnswered = new Promise<void>((resolve) => {
      answerPlan = resolve;
    });
    await page.route("**/dashboard/api/usage", (route) => isAnswered.then(() => route.continue()));
    await page.goto("/dashboard/traces");
    const oldest = rowsOf(page).filter({ hasText: "old" });
    await oldest.waitFor();
    const place = await oldest.boundingBox();
    answerPlan();
    await page.getByText("past 30 days").waitFor();
    expect(await oldest.boundingBox()).toEqual(place);
    const texts = await rowsOf(page).allTextContents();
    const names = [
      "Today",
      "of today",
      "Yesterday",
      "late yesterday",
      "early yesterday",
      "kept",
      "past 30 days",
      "old",
    ];
    const places = names.map((name) => texts.findIndex((text) => text.includes(name)));
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(places).not.toContain(-1);
    expect(texts.filter((text) => text.includes("past 30 days"))).toHaveLength(1);
  });

  it("name a failed trace's error and its mail, and nothing for others", async () => {
    const accountId = await dashboard.makeAccount();
    const error = "Connection refused";
    await insertTrace(pool, accountId, { name: "mailed", status: "error", error, isMailed: true });
    await insertTrace(pool, accountId, { name: "silent", status: "timeout", error: "No answer" });
    await insertTrace(pool, accountId, { name: "healed", status: "success", error: "First try failed" });
    const page = await open(accountId);
    const row = (name: string) => rowsOf(page).filter({ hasText: name });
    await row("mailed").getByText(error).waitFor();
    await row("mailed").getByText("A mail went out").waitFor({ state: "attached" });
    await row("silent").getByText("No answer").waitFor();
    expect(await row("silent").getByText("A mail went out").count()).toBe(0);
    expect(await row("healed").getByText("First try failed").count()).toBe(0);
  });

  it("have a line above them from 80 % of the month's traces, and a banner at the limit", async () => {
    const accountId = await dashboard.makeAccount("free");
    await insertTrace(pool, accountId, { name: "one" });
    const link = (page: Page) => page.getByRole("main").getByRole("link", { name: "Plan and usage" });
    await use(accountId, 799);
    const quiet = await open(accountId);
    const [answer] = await Promise.all([quiet.waitForResponse("**/dashboard/api/usage"), quiet.reload()]);
    await answer.finished();
    await rowsOf(quiet).filter({ hasText: "one" }).waitFor();
    expect(await link(quiet).count()).toBe(0);
    await use(accountId, 800);
    const near = await open(accountId);
    await near.getByText("800 of 1\u202f000 traces of this month are used.").waitFor();
    expect(await near.getByText("New traces are refused").count()).toBe(0);
    await use(accountId, 1_000);
    const full = await open(accountId);
    await full.getByText("New traces are refused: 1\u202f000 of 1\u202f000 traces").waitFor();
    await link(full).click();
    await full.waitForURL("**/dashboard/billing");
  });

  it("are those of both dates of a custom range, which the address keeps", async () => {
    const accountId = await dashboard.makeAccount();
    const now = Date.now();
    const day = (ago: number) => new Date(now - ago * dayS * 1_000).toISOString().slice(0, 10);
    for (const ago of [0, 2, 3, 9]) await insertTrace(pool, accountId, { name: `${ago} days ago`, ago: ago * dayS });
    const page = await open(accountId);
    await page.getByRole("combobox", { name: "Range" }).selectOption({ label: "Custom range" });
    await rowsOf(page).filter({ hasText: "9 days ago" }).waitFor({ state: "detached" });
    await page.getByLabel("From").fill(day(3));
    await page.getByLabel("To", { exact: true }).fill(day(2));
    // Not only gone: the list of the first date alone may come and go first.
    await page.locator(".trace-row").first().filter({ hasText: "2 days ago" }).waitFor();
    expect(await page.locator(".trace-row a").allTextContents()).toEqual(["2 days ago", "3 days ago"]);
    expect(new URL(page.url()).search).toBe(`?from=${day(3)}&to=${day(2)}`);
    await page.reload();
    await rowsOf(page).filter({ hasText: "3 days ago" }).waitFor();
    await page.getByLabel("From").fill(day(1));
    await page.getByText("The last day is before the first").waitFor();
    expect(new URL(page.url()).search).toBe(`?from=${day(3)}&to=${day(2)}`);
  });

  it("are left for a trace by its id of OpenTelemetry", async () => {
    const accountId = await dashboard.makeAccount();
    const traceId = "4BF92F3577B34DA6A3CE929D0E0E4736";
    const at = `${Date.now()}000000`;
    const span = { traceId, spanId: "00f067aa0ba902b7", name: "from OpenTelemetry", kind: 1, startTimeUnixNano: at };
    const body = { resourceSpans: [{ scopeSpans: [{ spans: [{ ...span, endTimeUnixNano: at }] }] }] };
    await (await api.client(accountId)).post("/v1/traces", body).expect(200);
    const page = await open(accountId);
    for (const pasted of [traceId, `00-${traceId.toLowerCase()}-00f067aa0ba902b7-01`]) {
      await page.getByRole("searchbox", { name: "Search traces" }).fill(pasted);
      await page.getByRole("heading", { level: 1, name: "from OpenTelemetry" }).waitFor();
      await page.goBack();
    }
    await page.getByRole("searchbox", { name: "Search traces" }).fill(traceId.replace("4", "5"));
    await page.getByRole("heading", { level: 1, name: "Trace not found" }).waitFor();
  });
});

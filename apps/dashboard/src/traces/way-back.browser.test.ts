import { expect, it } from "@jest/globals";
import { describeWithChromium } from "@waymark/testing";
import type { Page } from "playwright-core";
import { useBrowser } from "../browser.fixture.js";
import { insertTrace } from "./traces.fixture.js";

describeWithChromium("the way back to the list of traces", (executablePath) => {
  const browser = useBrowser(executablePath);
  const { dashboard } = browser;

  async function open(count: number, query = "") {
    const accountId = await dashboard.makeAccount();
    await insertTrace(dashboard.pool, accountId, { name: "trace 0", ago: 10 });
    await dashboard.pool.query(
      `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, ended_at)
       SELECT $1, ('01900000-0000-7000-8000-' || lpad(to_hex($2::int - n), 12, '0'))::uuid, 'writer', 'trace ' || n, 'success', s, s
       FROM generate_series(1, $2::int) n, LATERAL (SELECT now() - n * interval '1 minute' AS s) AS start`,
      [accountId, count - 1],
    );
    const page = await browser.page(await dashboard.signIn(accountId));
    await page.goto(`/dashboard/traces${query}`);
    await page.locator(".trace-row").first().waitFor();
    return { accountId, page };
  }

  /** The rows, and where they stand, once the page has come to rest. */
  const sight = (page: Page) =>
    page.evaluate<{ rows: number; id: string; top: number; y: number }>(`(() => {
      const rows = [...document.querySelectorAll(".trace-row")];
      const first = rows.find((row) => row.getBoundingClientRect().top >= 0);
      return { rows: rows.length, id: first?.dataset.id, top: first?.getBoundingClientRect().top, y: scrollY };
    })()`);

  const frames = (page: Page) =>
    page.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))");

  async function scrollTo(page: Page, y: number) {
    while ((await sight(page)).y < y) {
      await page.evaluate(`scrollTo(0, ${y})`);
      await frames(page);
    }
  }

  /** Until the row stands where it stood. A reloaded list ends with the page of that row, so it may be shorter than before. */
  const untilAt = (page: Page, { id, top }: { id: string; top: number }) =>
    page.evaluate(`new Promise((resolve) => {
      const look = () => {
        const row = document.querySelector('[data-id="${id}"]');
        if (row && Math.abs(row.getBoundingClientRect().top - ${top}) < 2) resolve();
        else requestAnimationFrame(look);
      };
      look();
    })`);

  async function expectSight(page: Page, before: Awaited<ReturnType<typeof sight>>) {
    await page.locator(`[data-id="${before.id}"]`).waitFor();
    await page.getByRole("button", { name: "Account menu" }).waitFor();
    const now = await sight(page);
    expect({ ...now, top: 0, y: 0 }).toEqual({ ...before, top: 0, y: 0 });
    expect(Math.abs(now.top - before.top)).toBeLessThan(2);
  }

  async function enter(page: Page, id: string) {
    await page.locator(`[data-id="${id}"] a`).click();
    await page.getByText("This trace has no spans.").waitFor();
  }

  it.each([
    [600, 120, ""],
    [34_000, 1_000, "?q=trace"],
  ])(
    "leads from a trace to the same row at %d pixels, by Back, Forward and after a reload",
    async (y, count, query) => {
      const { page } = await open(count, query);
      await scrollTo(page, y);
      const before = await sight(page);
      expect(before.y).toBeGreaterThanOrEqual(y);
      await enter(page, before.id);
      await page.goBack();
      await expectSight(page, before);
      await page.goForward();
      await page.getByText("This trace has no spans.").waitFor();
      await page.goBack();
      await expectSight(page, before);
      await page.reload();
      await untilAt(page, before);
      expect((await sight(page)).id).toBe(before.id);
      expect(new URL(page.url()).search).toBe(query);
    },
  );

  it("finds the row after a reload though a page of the list fails", async () => {
    const { page } = await open(400);
    await scrollTo(page, 12_000);
    const before = await sight(page);
    let failures = 0;
    await page.route(
      "**/dashboard/api/traces?*cursor=*",
      (route) => {
        failures++;
        return route.fulfill({ status: 503, json: { code: "unavailable", error: "Try again" } });
      },
      { times: 1 },
    );
    await page.reload();
    await untilAt(page, before);
    expect(failures).toBe(1);
  });

  it("holds the place while new traces arrive, before and after", async () => {
    const { accountId, page } = await open(120);
    await scrollTo(page, 600);
    const before = await sight(page);
    await enter(page, before.id);
    await insertTrace(dashboard.pool, accountId, { name: "came meanwhile" });
    await page.goBack();
    await page.getByRole("button", { name: "1 new trace" }).waitFor();
    await expectSight(page, before);
    await insertTrace(dashboard.pool, accountId, { name: "came afterwards" });
    await page.getByRole("button", { name: "2 new traces" }).waitFor();
    await expectSight(page, before);
  });

  it("begins at the top with a link, and each entry of the history has its own place", async () => {
    const { page } = await open(120);
    await scrollTo(page, 600);
    const before = await sight(page);
    await enter(page, before.id);
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Traces" }).click();
    await page.locator(".trace-row").first().waitFor();
    expect((await sight(page)).y).toBe(0);
    await page.goBack();
    await page.getByText("This trace has no spans.").waitFor();
    await page.goBack();
    await expectSight(page, before);
  });
});

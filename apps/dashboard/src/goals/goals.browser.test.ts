import { expect, it } from "@jest/globals";
import { describeWithChromium } from "@waymark/testing";
import type { Locator, Page } from "playwright-core";
import { useBrowser } from "../browser.fixture.js";
import { type Line, makeSite, useAnalyticsApi } from "../statistics/statistics.fixture.js";

const now = new Date("2026-03-15T12:00:00Z");

/** Visits of two weeks that go one to four steps far, fewer of them in the first week. */
function visits(): Line[] {
  const lines: Line[] = [];
  for (let n = 0; n < 120; n++) {
    const day = n % 3 === 0 ? 7 + (n % 7) : n % 7;
    const at = (second: number) =>
      new Date(now.getTime() - day * 86_400_000 - 3_600_000 + second * 1_000).toISOString();
    const shared = { visitor: `v${n}`, country: n % 2 ? "DE" : "NL" };
    const paths = ["/", "/pricing", "/docs/start"].slice(0, 1 + (n % 4));
    for (const [step, path] of paths.entries()) lines.push({ ...shared, type: "pageview", ts: at(step), path });
    if (n % 4 !== 3) continue;
    const revenue = { currency: n % 8 === 3 ? "EUR" : "JPY", amount: `${n}.10` };
    lines.push({ ...shared, type: "event", ts: at(9), path: "/", name: "buy", props: { plan: `p${n % 3}` }, revenue });
  }
  return lines;
}

const percent = (share: number) => (share > 0 && share < 0.01 ? "<1\u00a0%" : `${Math.round(share * 100)}\u00a0%`);
function changeText(visitors: number, past: number): string {
  if (past === 0) return "";
  const change = visitors / past - 1;
  return `${change > 0 ? "▲up" : "▼down"} ${percent(Math.abs(change))}`;
}
const textOf = (text: string | null) => (text ?? "").replaceAll("\u202f", "");

describeWithChromium("goals and funnels in a browser", (executablePath) => {
  const browser = useBrowser(executablePath);
  const { dashboard } = browser;
  const api = useAnalyticsApi(dashboard);

  async function open() {
    dashboard.setNow(now);
    api.setNow(now);
    const accountId = await dashboard.makeAccount();
    const siteId = await makeSite(dashboard, { accountId, domain: "shop.example", lines: visits() });
    const [owner, ask] = [await dashboard.signIn(accountId), await api.client(accountId)];
    const path = (rest: string) => `/sites/${siteId}/${rest}`;
    const create = async (rest: string, body: object): Promise<string> =>
      (await owner.post(path(rest), body).expect(201)).body.id;
    return { accountId, siteId, owner, ask: async (rest: string) => (await ask(path(rest)).expect(200)).body, create };
  }

  const region = (page: Page, name: string) => page.getByRole("region", { name, exact: true });
  const filtersOf = (page: Page) => new URL(page.url()).searchParams.get("filters") ?? "";

  async function cellsOf(table: Locator): Promise<string[][]> {
    const rows = await table.locator("tbody tr").all();
    return Promise.all(rows.map(async (row) => (await row.locator("th, td").allTextContents()).map(textOf)));
  }

  interface Figures {
    name: string;
    visitors: number;
    count: number;
    conversionRate: number;
    revenue?: { currency: string; amount: string }[];
  }

  /** The table has the API's figures of the range. */
  async function expectGoals(page: Page, goals: readonly Figures[], before?: readonly Figures[]) {
    const expected = goals.map(({ name, visitors, count, conversionRate, revenue = [] }, at) => {
      const word = changeText(visitors, before?.[at]?.visitors ?? 0);
      const sums = revenue.map(({ currency, amount }) => `${amount}\u00a0${currency}`).join("");
      return [name, String(count), sums, String(visitors), ...(before ? [word] : []), percent(conversionRate)];
    });
    const table = page.getByRole("table", { name: "Goals" });
    for (const { name } of goals) await table.getByRole("rowheader", { name }).waitFor();
    const shown = async () =>
      (await cellsOf(table)).map(([name = "", _rule, count = "", sums = "", visitors = "", change = "", rate = ""]) => [
        ...[name, count, sums, visitors],
        ...(before ? [change] : []),
        rate,
      ]);
    await expect(settled(shown, expected)).resolves.toEqual(expected);
  }

  /** Answers of the goals come after those of the page. */
  async function settled<Value>(read: () => Promise<Value>, expected: Value): Promise<Value> {
    for (let tries = 0; tries < 600; tries++) {
      const value = await read();
      if (JSON.stringify(value) === JSON.stringify(expected)) return value;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return read();
  }

  interface Step {
    name: string;
    visitors: number;
    dropOff: number;
    conversionRate: number;
  }

  /** @param before the same funnel in the days before; the change is not looked at without one */
  async function expectFunnel(page: Page, funnel: { name: string; steps: Step[] }, before?: { steps: Step[] }) {
    const expected = funnel.steps.map((step, at) => [
      `${at + 1}. ${step.name}`,
      at === 0 ? "" : percent(step.dropOff),
      String(step.visitors),
      ...(before ? [changeText(step.visitors, before.steps[at]?.visitors ?? 0)] : []),
      percent(step.conversionRate),
    ]);
    const table = page.getByRole("table", { name: funnel.name, exact: true });
    await table.waitFor();
    const shown = async () => (await cellsOf(table)).map((cells) => (before ? cells : cells.toSpliced(3, 1)));
    await expect(settled(shown, expected)).resolves.toEqual(expected);
  }

  it("are made by keyboard, with the API's figures", async () => {
    const { siteId, owner, ask } = await open();
    const page = await browser.page(owner, { theme: "dark" });
    const { keyboard } = page;
    const dialog = page.getByRole("dialog");
    const isClosed = () => dialog.waitFor({ state: "detached" });
    await page.goto(`/dashboard/sites/${siteId}`);
    await region(page, "Goals").getByRole("heading", { name: "No goals yet" }).waitFor();
    expect(await browser.findings(page)).toEqual([]);

    const add = page.getByRole("button", { name: "Add goal" });
    await add.press("Enter");
    await keyboard.press("Tab");
    await keyboard.type("**********/*");
    await dialog.getByText("Must have at most 10 *").waitFor();
    await keyboard.press("ControlOrMeta+A");
    await keyboard.type("/pri*");
    const counted = dialog.getByText(/page views by \d+ visitors in this range/);
    const text = await counted.textContent();
    expect(await browser.findings(page)).toEqual([]);
    await keyboard.press("Enter");
    await isClosed();
    expect(await page.locator("[data-adds=goal]:focus").count()).toBe(1);
    const { goals } = await ask("goals");
    const [{ visitors, count }] = goals;
    expect(text).toContain(`${count} page views by ${visitors} visitors in this range`);
    await expectGoals(page, goals);

    await add.press("Enter");
    await keyboard.press("ArrowDown");
    await keyboard.press("Tab");
    await keyboard.type("buy");
    const seen = await dialog.locator("datalist").first().locator("option").all();
    expect(await Promise.all(seen.map((option) => option.getAttribute("value")))).toEqual(["buy"]);
    await dialog.getByRole("textbox", { name: "Name" }).fill("購入 شراء");
    await dialog.getByText("events by").waitFor();
    await keyboard.press("Enter");
    await isClosed();
    await expectGoals(page, (await ask("goals")).goals);

    await page.getByRole("button", { name: "Add funnel" }).press("Enter");
    await keyboard.type("Checkout");
    await dialog.getByRole("button", { name: "Add step" }).press("Enter");
    await dialog.getByRole("combobox", { name: "Step 3" }).press("ArrowDown");
    await dialog.getByRole("button", { name: "Move step 2 up" }).press("Enter");
    const shownSteps = () => dialog.locator("select option:checked").allTextContents();
    expect(await shownSteps()).toEqual(["購入 شراء", "/pri*", "購入 شراء"]);
    await dialog.getByRole("button", { name: "Move step 1 down" }).press("Enter");
    expect(await page.locator(":focus").getAttribute("data-move")).toBe("down");
    await dialog.getByRole("button", { name: "Remove step 3" }).press("Enter");
    expect(await shownSteps()).toEqual(["/pri*", "購入 شراء"]);
    expect(await browser.findings(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Add", exact: true }).press("Enter");
    await isClosed();
    const [{ id: funnelId }] = (await ask("funnels")).funnels;
    await expectFunnel(page, await ask(`funnels/${funnelId}`));
  });

  it("are changed and deleted by keyboard, a funnel before its goals", async () => {
    const { siteId, owner, ask, create } = await open();
    const steps = [await create("goals", { page: "/pri*" }), await create("goals", { event: "buy" })];
    const funnelId = await create("funnels", { name: "Checkout", steps });
    const page = await browser.page(owner);
    const { keyboard } = page;
    const dialog = page.getByRole("dialog");
    const isClosed = () => dialog.waitFor({ state: "detached" });
    const choose = async (name: string, item: string) => {
      await page.getByRole("button", { name: `Change “${name}”` }).press("Enter");
      await page.getByRole("menuitem", { name: item }).press("Enter");
    };
    await page.goto(`/dashboard/sites/${siteId}`);
    await choose("/pri*", "Change");
    await keyboard.press("Tab");
    await keyboard.type("/*");
    await dialog.getByRole("textbox", { name: "Name" }).fill("Any page");
    await keyboard.press("Enter");
    await isClosed();
    await expectGoals(page, (await ask("goals")).goals);
    await expectFunnel(page, await ask(`funnels/${funnelId}`));

    await choose("Any page", "Delete");
    await dialog.getByRole("button", { name: "Delete" }).press("Enter");
    await dialog.getByRole("alert").getByText("A funnel has this goal as a step").waitFor();
    await keyboard.press("Escape");
    await isClosed();
    await choose("Checkout", "Delete");
    await dialog.getByRole("button", { name: "Delete" }).press("Enter");
    await page.getByText("A funnel is 2 to 8 goals in order").waitFor();
    await choose("Any page", "Delete");
    await dialog.getByRole("button", { name: "Delete" }).press("Enter");
    await page.getByRole("rowheader", { name: "Any page" }).waitFor({ state: "detached" });
    expect(await page.locator("[data-adds=goal]:focus").count()).toBe(1);
  });

  it("follow the range, the filters and the comparison, and filter the page", async () => {
    const { accountId, siteId, owner, ask, create } = await open();
    const goals = [
      await create("goals", { page: "/pricing" }),
      await create("goals", { event: "buy", property: "plan", value: "p1", name: "Plan p1" }),
      await create("goals", { page: "/docs/*" }),
    ];
    const funnelId = await create("funnels", { name: "Checkout", steps: [goals[2], goals[1]] });
    const page = await browser.page(owner);
    const [days, past] = ["from=2026-03-08&to=2026-03-14", "from=2026-03-01&to=2026-03-07"];
    const goTo = (query: string) => page.goto(`/dashboard/sites/${siteId}?${query}`);
    await goTo(days);
    await expectGoals(page, (await ask(`goals?${days}`)).goals, (await ask(`goals?${past}`)).goals);
    const ofFunnel = (range: string) => ask(`funnels/${funnelId}?${range}`);
    await expectFunnel(page, await ofFunnel(days), await ofFunnel(past));
    await page.getByRole("combobox", { name: "Compare" }).selectOption("off");
    await page.getByRole("table", { name: "Goals" }).locator(".change").first().waitFor({ state: "detached" });

    const shows = async (filters: string) => {
      await page.waitForURL(() => filtersOf(page) === filters);
      const query = `${days}${filters && `&filters=${encodeURIComponent(filters)}`}`;
      await expectGoals(page, (await ask(`goals?${query}`)).goals);
      await expectFunnel(page, await ask(`funnels/${funnelId}?${query}`));
      const { uniqueVisitors } = await ask(`stats?${query}`);
      const figure = page.getByRole("group", { name: "Figures" }).getByRole("button", { name: "Visitors" });
      await figure.getByText(String(uniqueVisitors), { exact: true }).first().waitFor();
    };
    const inGoals = (name: string) => region(page, "Goals").getByRole("button", { name, exact: true });
    await inGoals("/pricing").press("Enter");
    await shows("page:is:/pricing");
    expect(await inGoals("/pricing").getAttribute("aria-pressed")).toBe("true");
    await region(page, "Funnels").getByRole("button", { name: "2. Plan p1" }).press("Enter");
    await shows("page:is:/pricing;event:is:buy;prop.plan:is:p1");
    expect(await browser.findings(page)).toEqual([]);
    await inGoals("Plan p1").press("Enter");
    await shows("page:is:/pricing");
    await page.getByRole("button", { name: "Remove all filters" }).click();
    await shows("");
    expect(await inGoals("/docs/*").count()).toBe(0);
    await goTo("range=today&compare=off&filters=country:is:DE");
    await expectGoals(page, (await ask("goals?range=today&filters=country:is:DE")).goals);

    const tab = await browser.page(await dashboard.signIn(accountId, "member"));
    await tab.goto(`/dashboard/sites/${siteId}`);
    await expectFunnel(tab, await ask(`funnels/${funnelId}`));
    await tab.getByRole("button", { name: "Add goal" }).waitFor();
    expect(await tab.getByRole("button", { name: /^Change “/ }).count()).toBe(0);
  });

  it("never keep the page's figures waiting", async () => {
    const { siteId, owner, create } = await open();
    await create("goals", { page: "/" });
    const page = await browser.page(owner);
    await page.route(/\/(goals|funnels)\b.*/, () => undefined);
    await page.goto(`/dashboard/sites/${siteId}`);
    await page.getByRole("table", { name: "Event names" }).waitFor();
    await page.getByRole("group", { name: "Range" }).getByRole("button", { name: "30 days" }).click();
    await page.getByText("2026-02-14 to 2026-03-15").waitFor();
    const at = (part: string) => browser.requests.findIndex((request) => request.includes(part));
    expect(at("/stats")).toBeLessThan(at("/events"));
  });

  it("have room for a hundred goals and fifty funnels of long names, on a narrow page too", async () => {
    const { siteId, owner, ask } = await open();
    const names = ["word_without_spaces_".repeat(10), "購入".repeat(33), "شراء ".repeat(22), "A goal"];
    const goalsSql = `
      INSERT INTO goal (site_id, id, name, event, page)
      SELECT $1, gen_random_uuid(), ($2::text[])[1 + n % 4], CASE n % 2 WHEN 1 THEN 'buy' END, CASE n % 2 WHEN 0 THEN '/*' END
      FROM generate_series(1, 100) AS n RETURNING id`;
    const { rows } = await dashboard.pool.query<{ id: string }>(goalsSql, [siteId, names]);
    const funnelsSql = `
      WITH made AS (
        INSERT INTO funnel (site_id, id, name) SELECT $1, gen_random_uuid(), ($2::text[])[1 + n % 4]
        FROM generate_series(1, 50) AS n RETURNING id)
      INSERT INTO funnel_step (site_id, funnel_id, position, goal_id)
      SELECT $1, made.id, at, ($3::uuid[])[at] FROM made, generate_series(1, 8) AS at`;
    await dashboard.pool.query(funnelsSql, [siteId, names, rows.map(({ id }) => id)]);
    for (const theme of ["light", "dark"] as const) {
      const page = await browser.page(owner, { width: 390, theme });
      await page.emulateMedia({ reducedMotion: "reduce" });
      await page.goto(`/dashboard/sites/${siteId}`);
      await page.getByRole("button", { name: "All 50 funnels" }).click();
      await page.getByRole("button", { name: "All 100 goals" }).click();
      expect(await page.getByRole("table", { name: "Goals" }).locator("tbody tr").count()).toBe(100);
      expect(await region(page, "Funnels").getByRole("table").count()).toBe(50);
      expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
      expect(await browser.findings(page)).toEqual([]);
      await page.getByRole("button", { name: "Add goal" }).click();
      await page.getByRole("dialog").getByRole("textbox", { name: "Page" }).fill("/");
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").getByText("A site has at most 100 goals.").waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Add funnel" }).click();
      const step = page.getByRole("button", { name: "Add step" });
      while (await step.isEnabled()) await step.click();
      expect(await page.getByRole("dialog").getByRole("combobox").count()).toBe(8);
      await page.getByRole("dialog").getByRole("textbox", { name: "Name" }).fill("One more");
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").getByText("A site has at most 50 funnels.").waitFor();
      expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
    }
    expect((await ask("goals")).goals).toHaveLength(100);
  });
});

import { readFileSync } from "node:fs";
import { expect, it } from "@jest/globals";
import { describeWithChromium } from "@waymark/testing";
import type { Page } from "playwright-core";
import { useBrowser } from "../browser.fixture.js";
import { addLargeTrace, addSpan, addTrace, type NewSpan } from "./trace.fixture.js";

const lossless = '{"n": 12345678901234567890, "f":1.10, "n":  -0}';

const booking: readonly NewSpan[] = [
  { name: "model call: gpt-4o", from: 0, to: 2_000, output: '[{"role":"assistant","content":"I will book."}]' },
  { name: "tool: book_reservation", parent: 0, status: "error", from: 900, to: 943, error: "amount does not add up" },
  { name: "wrapper", status: "error", from: 3_000, to: 9_000, input: lossless },
  { name: "tool: get_user_details", parent: 2, from: 3_100, to: 3_200, input: lossless },
  { name: "model call: gpt-4o", from: 60_000, to: 62_000 },
];

describeWithChromium("the trace in a browser", (executablePath) => {
  const browser = useBrowser(executablePath);
  const { dashboard } = browser;

  async function open(spans: readonly NewSpan[], { query = "", status = "error" } = {}) {
    const accountId = await dashboard.makeAccount();
    const viewer = await dashboard.signIn(accountId);
    const { id, spanIds } = await addTrace(dashboard.pool, accountId, { spans, status });
    const page = await browser.page(viewer);
    await page.goto(`/dashboard/traces/${id}${query}`);
    await page.getByRole("heading", { level: 1, name: "airline task 0 trial 3" }).waitFor();
    return { page, accountId, viewer, id, spanIds };
  }

  const selected = (page: Page) => page.getByRole("treeitem", { selected: true }).getAttribute("aria-label");
  const details = (page: Page) => page.getByRole("region", { name: "Span details" });

  /** The span that the tree points to after two frames. */
  const settled = (page: Page): Promise<string> =>
    page.evaluate(`new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() =>
      resolve(document.querySelector("[role=tree]").getAttribute("aria-activedescendant")))))`);

  it("opens on the first failing span with its error, without a click", async () => {
    const { page } = await open(booking);
    await details(page).getByRole("heading", { name: "tool: book_reservation" }).waitFor();
    await details(page).getByText("amount does not add up").waitFor();
    expect(await page.getByRole("tab").first().textContent()).toBe("Error");
    expect(await selected(page)).toBe("tool: book_reservation");
  });

  it("says in its head which models it called, with tokens and cost", async () => {
    const { page, accountId, id, spanIds } = await open(booking);
    const insert = `INSERT INTO model_call
        (account_id, trace_id, span_id, agent_id, started_at, model, input_tokens, output_tokens, cost, counts, settle_at)
      VALUES ($1, $2, $3, 'a', now(), $4, $5, 100, $6, true, NULL)`;
    await dashboard.pool.query(insert, [accountId, id, spanIds[0], "gpt-4o-2024-08-06", 12_000, 0.0312]);
    await dashboard.pool.query(insert, [accountId, id, spanIds[4], "o4-mini", 300, null]);
    await page.reload();
    for (const [label, value] of [
      ["Models", "gpt-4o-2024-08-06 and 1 more"],
      ["Tokens", "12.5k"],
      ["Cost", "$0.0312"],
    ] as const)
      await page.locator(".trace-facts div", { hasText: label }).getByText(value).waitFor();
    expect(await browser.findings(page)).toEqual([]);
  });

  it("is used by keyboard alone", async () => {
    const { page } = await open(booking);
    const tree = page.getByRole("tree", { name: "Spans" });
    await page.getByRole("treeitem", { selected: true }).waitFor();
    await page.keyboard.press("e");
    expect(await selected(page)).toBe("wrapper");
    await page.keyboard.press("e");
    expect(await selected(page)).toBe("tool: book_reservation");
    await page.keyboard.press("h");
    expect(await selected(page)).toBe("model call: gpt-4o");
    await page.keyboard.press("ArrowLeft");
    expect(await page.getByRole("treeitem").count()).toBe(4);
    expect(await page.getByRole("treeitem").first().getAttribute("aria-expanded")).toBe("false");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("End");
    await page.waitForURL(/[?&]span=00000004-/);
    expect(await tree.getAttribute("aria-activedescendant")).toMatch(/^span-00000004-/);
    await page.keyboard.press("/");
    await page.keyboard.type("get_user");
    expect(await selected(page)).toBe("tool: get_user_details");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Enter");
    await details(page).locator("[role=tab]:focus").waitFor();
    await page.keyboard.press("ArrowRight");
    await details(page).getByRole("tab", { name: "Output", selected: true }).waitFor();
    await page.keyboard.press("Escape");
    expect(await page.evaluate("document.activeElement.getAttribute('role')")).toBe("tree");
    await page.keyboard.press("f");
    await page.waitForURL(/[?&]from=3100&/);
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await page.keyboard.press("Escape");
    expect(await page.getByRole("dialog").count()).toBe(0);
  });

  it.each(["/traces", "/traces/:id"])("shows the first row of %s after five requests", async (path) => {
    const { id, viewer } = await open(booking);
    browser.clearRequests();
    const page = await browser.page(viewer);
    await page.goto(`/dashboard${path.replace(":id", id)}`);
    await page.getByText("airline task 0 trial 3").first().waitFor();
    await page.getByRole("button", { name: "Account menu" }).waitFor();
    const me = browser.requests.indexOf("GET /dashboard/api/me");
    expect(me).toBeGreaterThan(0);
    expect(browser.requests.slice(0, me)).toHaveLength(5);
  });

  it("leads to the next and the previous trace of the list by [ and ]", async () => {
    const accountId = await dashboard.makeAccount();
    for (const name of ["one", "two", "three"]) await addTrace(dashboard.pool, accountId, { name, spans: booking });
    const page = await browser.page(await dashboard.signIn(accountId));
    const heading = page.getByRole("heading", { level: 1 });
    const settledAt = (name: string) => page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
    await page.goto("/dashboard/traces");
    const links = page.getByRole("table", { name: "Traces" }).getByRole("link", { name: /^(one|two|three)$/ });
    await links.nth(2).waitFor();
    const names = await links.allTextContents();
    await links.nth(0).click();
    await settledAt(names[0] ?? "");
    await page.getByRole("treeitem", { selected: true }).waitFor();
    await page.keyboard.press("[");
    expect(await heading.textContent()).toBe(names[0]);
    for (const [key, at] of [
      ["]", 1],
      ["]", 2],
      ["[", 1],
    ] as const) {
      await page.keyboard.press(key);
      await settledAt(names[at] ?? "");
      await page.getByRole("treeitem", { selected: true }).waitFor();
    }
  });

  it("zooms by a drag in the overview, and a double click shows all", async () => {
    const { page } = await open(booking);
    const overview = page.getByRole("img", { name: /^Overview: 5 spans/ });
    const all = page.getByRole("button", { name: "All of the time" });
    const box = await overview.boundingBox();
    if (!box) throw new Error("No overview");
    expect(await all.count()).toBe(0);
    await page.mouse.move(box.x + box.width * 0.25, box.y + 20);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.75, box.y + 20, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL(/[?&]from=\d/);
    await all.waitFor();
    await overview.dblclick();
    await all.waitFor({ state: "detached" });
    await page.waitForURL((url) => !url.search.includes("from="));
  });

  it("zooms to a small span's parent in a large trace, until all of the time is wanted", async () => {
    const accountId = await dashboard.makeAccount();
    const id = await addLargeTrace(dashboard.pool, accountId, 400);
    const page = await browser.page(await dashboard.signIn(accountId));
    await page.goto(`/dashboard/traces/${id}`);
    const all = page.getByRole("button", { name: "All of the time" });
    await all.click();
    await all.waitFor({ state: "detached" });
    await page.keyboard.press("e");
    expect(await all.count()).toBe(0);
    await page.keyboard.press("f");
    await all.waitFor();
  });

  it("deletes by keyboard alone, once the name's first word is typed", async () => {
    const { page, id } = await open(booking);
    await page.getByRole("button", { name: "More" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("menuitem", { name: "Copy id" }).waitFor();
    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Delete this trace?" });
    await dialog.waitFor();
    const remove = dialog.getByRole("button", { name: "Delete trace" });
    await page.keyboard.type("airlin");
    expect(await remove.isDisabled()).toBe(true);
    await page.keyboard.type("e");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/dashboard\/traces$/);
    const { rowCount } = await dashboard.pool.query("SELECT FROM trace WHERE id = $1", [id]);
    expect(rowCount).toBe(0);
  });

  it("shows the details as a sheet on a phone; Escape closes it and a span opens it", async () => {
    const { id, viewer } = await open(booking);
    const page = await browser.page(viewer, { width: 390, height: 844 });
    await page.goto(`/dashboard/traces/${id}`);
    await details(page).getByText("amount does not add up").waitFor();
    await page.getByRole("tree", { name: "Spans" }).focus();
    await page.keyboard.press("Enter");
    await details(page).locator("[role=tab]:focus").waitFor();
    await page.keyboard.press("Escape");
    await details(page).waitFor({ state: "detached" });
    expect(await page.evaluate("document.activeElement.getAttribute('role')")).toBe("tree");
    await page.getByRole("treeitem", { name: "wrapper" }).click();
    await details(page).getByRole("heading", { name: "wrapper" }).waitFor();
    await details(page).getByRole("button", { name: "Close details" }).click();
    await details(page).waitFor({ state: "detached" });
  });

  it("shows the head of a value above 5 MB, and downloads all of it", async () => {
    const input = JSON.stringify(`x${"y".repeat(5_000_000)}z`);
    const { page } = await open([{ name: "large", from: 0, to: 9, status: "error", error: "too much", input }]);
    await page.getByRole("tab", { name: "Input" }).click();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      details(page).getByRole("link", { name: "Download the input" }).click(),
    ]);
    expect(readFileSync(await download.path(), "utf8") === input).toBe(true);
  });

  it("grows a running trace's axis with the server's clock", async () => {
    const { page, id } = await open([{ name: "first", from: 0, to: null }], { status: "running" });
    for (const [table, key] of [
      ["trace", "id"],
      ["span", "trace_id"],
    ] as const) {
      await dashboard.pool.query(`UPDATE ${table} SET started_at = now() WHERE ${key} = $1`, [id]);
    }
    await page.reload();
    const overview = page.getByRole("img", { name: /^Overview: 1 spans? in/ });
    const before = await overview.getAttribute("aria-label");
    await page.locator(`canvas:not([aria-label="${before}"])`).waitFor();
  });

  it("folds idle time, and opens a link's span, search and range", async () => {
    const { page, id, spanIds } = await open(booking);
    const skip = page.getByRole("button", { name: "Skip idle time" });
    expect(await skip.getAttribute("aria-pressed")).toBe("true");
    await skip.click();
    expect(await skip.getAttribute("aria-pressed")).toBe("false");
    await page.goto(`/dashboard/traces/${id}?span=${spanIds[3]}&find=gpt&from=0&to=4000`);
    await details(page).getByRole("heading", { name: "tool: get_user_details" }).waitFor();
    expect(await page.getByRole("searchbox", { name: "Find in this trace" }).inputValue()).toBe("gpt");
    await page.getByRole("button", { name: "All of the time" }).waitFor();
  });

  it("shows stored JSON as it was sent", async () => {
    const { page, spanIds, id } = await open(booking);
    await page.goto(`/dashboard/traces/${id}?span=${spanIds[3]}`);
    const panel = details(page).getByRole("tabpanel");
    await panel.getByText("12345678901234567890").waitFor();
    expect(await panel.textContent()).toMatch(/n: 12345678901234567890.*f: 1\.10.*n: -0/);
    await panel.getByRole("button", { name: "JSON", exact: true }).click();
    expect(await panel.locator("pre").textContent()).toBe(lossless);
  });

  it("shows hostile texts as text", async () => {
    const naughty: string[] = JSON.parse(
      readFileSync(new URL("../../../trace-api/fixtures/naughty-strings.json", import.meta.url), "utf8"),
    );
    const spans = naughty.slice(0, 120).map((text, n) => ({
      name: text.replaceAll("\u0000", "") || "empty",
      from: n,
      to: n + 1,
      error: text.replaceAll("\u0000", ""),
      ...{
        status: "error" as const,
        input: JSON.stringify([
          { role: text, content: text },
          { role: "user", content: naughty },
        ]),
      },
    }));
    const { page } = await open(spans);
    let dialogs = 0;
    page.on("dialog", () => dialogs++);
    for (let n = 0; n < 12; n++) {
      await page.keyboard.press("PageDown");
      await details(page).locator(".message").first().waitFor();
    }
    expect(dialogs).toBe(0);
    expect(await page.locator("script:not([src]), img").count()).toBe(0);
  });

  it("holds 10,000 spans in few nodes, and e walks all errors", async () => {
    const accountId = await dashboard.makeAccount();
    const id = await addLargeTrace(dashboard.pool, accountId, 10_000);
    const page = await browser.page(await dashboard.signIn(accountId));
    await page.goto(`/dashboard/traces/${id}`);
    await page.getByText("10\u202f000").first().waitFor();
    const nextError = page.getByRole("button", { name: "Next error" });
    await nextError.waitFor();
    await page.getByText("so far").waitFor({ state: "detached" });
    const seen = new Set<string>();
    for (let n = 0; n < 68; n++) {
      await page.keyboard.press("e");
      seen.add(await settled(page));
    }
    expect(seen.size).toBe(67);
    expect(await page.evaluate("document.querySelectorAll('*').length")).toBeLessThan(1_500);
  });

  async function openShuffled() {
    const accountId = await dashboard.makeAccount();
    const id = await addLargeTrace(dashboard.pool, accountId, 10_000, { isShuffled: true });
    const page = await browser.page(await dashboard.signIn(accountId));
    let giveSecondPage = () => {};
    const isWanted = new Promise<void>((resolve) => {
      giveSecondPage = resolve;
    });
    await page.route(/outline\?after=/, (route) => isWanted.then(() => route.continue()));
    await page.goto(`/dashboard/traces/${id}`);
    await page.getByText("5\u202f000 spans so far").waitFor();
    await page.getByRole("treeitem", { selected: true }).waitFor();
    const isWhole = async () => {
      giveSecondPage();
      await page.getByText("so far").waitFor({ state: "detached" });
      await settled(page);
    };
    return { page, tree: page.getByRole("tree", { name: "Spans" }), isWhole };
  }

  /** Whether the selected row is between the tree's edges. */
  const isInSight = (page: Page) =>
    page.evaluate<boolean>(`(() => {
      const [tree, row] = ["[role=tree]", "[role=treeitem][aria-selected=true]"].map((of) => document.querySelector(of));
      const [outer, inner] = [tree, row].map((of) => of?.getBoundingClientRect());
      return !!inner && inner.top >= outer.top && inner.bottom <= outer.bottom;
    })()`);

  it("keeps the failing span in sight when a later page has rows above it", async () => {
    const { page, isWhole } = await openShuffled();
    expect(await isInSight(page)).toBe(true);
    const failing = await settled(page);
    await isWhole();
    expect(await settled(page)).toBe(failing);
    expect(await isInSight(page)).toBe(true);
  });

  it("leaves the rows where a person scrolled them when a later page arrives", async () => {
    const { page, tree, isWhole } = await openShuffled();
    await tree.hover();
    await page.mouse.wheel(0, 50_000);
    const top = () => page.evaluate<number>("document.querySelector('[role=tree]').scrollTop");
    // The wheel moves in steps.
    let before = -1;
    for (let now = 0; now === 0 || now !== before; now = await top()) {
      before = now;
      await settled(page);
    }
    await isWhole();
    expect(await top()).toBe(before);
    await page.keyboard.press("e");
    await settled(page);
    expect(await isInSight(page)).toBe(true);
  });

  it("follows a running trace, and keeps the selection", async () => {
    const running: NewSpan[] = [
      { name: "first", from: 0, to: null },
      { name: "second", from: 5, to: 9 },
    ];
    const { page, accountId, id, spanIds } = await open(running, { status: "running" });
    await page.getByRole("treeitem", { name: "second" }).click();
    await addSpan(dashboard.pool, { accountId, traceId: id }, { name: "third", from: 50, to: 60 }, spanIds);
    await page.getByRole("treeitem", { name: "third" }).waitFor();
    expect(await selected(page)).toBe("second");
  });

  it("says where a trace may be that is not here", async () => {
    const { id } = await open(booking);
    const page = await browser.page(await dashboard.signIn(await dashboard.makeAccount("free")));
    await page.goto(`/dashboard/traces/${id}`);
    await page.getByRole("heading", { level: 1, name: "Trace not found" }).waitFor();
    await page.getByText("30 days").waitFor();
  });
});

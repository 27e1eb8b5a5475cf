import { expect, it } from "@jest/globals";
import { describeWithChromium } from "@waymark/testing";
import type { Page } from "playwright-core";
import { useBrowser } from "../browser.fixture.js";
import { addLargeTrace, addTrace, type NewSpan } from "../trace/trace.fixture.js";

const refund = (amount: number): NewSpan[] => [
  { name: "refund", from: 0, to: 4_000, ...(amount > 100 && { status: "error", to: 9_000 }) },
  { name: "model call: gpt-4o", parent: 0, from: 10, to: 900, input: '"Refund, please"', output: '"I look it up"' },
  {
    name: "tool: book_refund",
    parent: 0,
    from: 1_000,
    to: 1_040,
    input: `{"order": "A-17", "amount": ${amount}, "to": "Ada"}`,
    ...(amount > 100 && { status: "error", error: "The amount is above the limit" }),
  },
];
const failed: readonly NewSpan[] = [...refund(125), { name: "tool: retry", parent: 0, from: 2_000, to: 2_100 }];
const succeeded: readonly NewSpan[] = [...refund(75), { name: "tool: send_mail", parent: 0, from: 3_000, to: 3_200 }];

describeWithChromium("two runs in a browser", (executablePath) => {
  const browser = useBrowser(executablePath);
  const { dashboard } = browser;

  async function open(look: Parameters<typeof browser.page>[1] = {}) {
    const accountId = await dashboard.makeAccount();
    const success = await addTrace(dashboard.pool, accountId, { spans: succeeded, status: "success" });
    const failure = await addTrace(dashboard.pool, accountId, { spans: failed });
    const viewer = await dashboard.signIn(accountId);
    const page = await browser.page(viewer, look);
    return { page, accountId, viewer, success, failure, path: `/dashboard/traces/${failure.id}/compare/${success.id}` };
  }

  const selected = (page: Page) => page.getByRole("treeitem", { selected: true });
  const details = (page: Page) => page.getByRole("region", { name: "Span details" });

  it("leads by keyboard from a failed trace to the span that differs, and on to the next", async () => {
    const { page, failure, path } = await open();
    await page.goto(`/dashboard/traces/${failure.id}`);
    await page.getByRole("link", { name: "What changed?" }).waitFor();
    await page.keyboard.press("c");
    await page.waitForURL(`**${path}`);
    await page.getByRole("heading", { level: 1, name: "What changed in airline task 0 trial 3" }).waitFor();
    await selected(page).waitFor();
    expect(await selected(page).getAttribute("aria-label")).toBe("tool: book_refund");
    expect(await selected(page).getAttribute("aria-description")).toBe(
      "differs: failed here, input, 40\u00a0ms and 40\u00a0ms",
    );
    const marks = details(page).locator("pre mark");
    await marks.first().waitFor();
    expect(await marks.allTextContents()).toEqual(["125", "75"]);
    await details(page).getByText("The amount is above the limit").waitFor();
    await page.keyboard.press("n");
    expect(await selected(page).getAttribute("aria-description")).toMatch(/^differs: this run only/);
    await page.keyboard.press("n");
    expect(await selected(page).getAttribute("aria-label")).toBe("tool: send_mail");
    await page.waitForURL(/[?&]span=00000003-/);
    await page.keyboard.press("Home");
    expect(await selected(page).getAttribute("aria-description")).toMatch(/^differs: failed here, time/);
    await page.keyboard.press("ArrowDown");
    await details(page).getByText("The same in both runs").waitFor();
    await page.keyboard.press("Enter");
    expect(await page.evaluate("document.activeElement.getAttribute('aria-label')")).toBe("Span details");
    await page.keyboard.press("Escape");
    expect(await page.evaluate("document.activeElement.getAttribute('role')")).toBe("tree");
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
  });

  it("loads the contents of the selected row alone", async () => {
    const { page, path, failure, success } = await open();
    await page.goto(path);
    await details(page).locator("pre mark").first().waitFor();
    const contents = browser.requests.filter((request) => request.includes("/spans/"));
    const spans = [failure, success].map(({ id, spanIds }) => `GET /dashboard/api/traces/${id}/spans/${spanIds[2]}`);
    expect(contents.sort()).toEqual(spans.sort());
  });

  it("opens a link's span, and shows long texts around what differs", async () => {
    const accountId = await dashboard.makeAccount();
    const input = (last: string) => JSON.stringify(`${"as before ".repeat(5_000)}${last}`);
    const [one, two] = [
      await addTrace(dashboard.pool, accountId, {
        spans: [
          { name: "a", from: 0 },
          { name: "b", from: 1, input: input("left") },
        ],
      }),
      await addTrace(dashboard.pool, accountId, {
        spans: [
          { name: "a", from: 0 },
          { name: "b", from: 1, input: input("right") },
        ],
      }),
    ];
    const page = await browser.page(await dashboard.signIn(accountId));
    await page.goto(`/dashboard/traces/${one.id}/compare/${two.id}?span=${one.spanIds[1]}`);
    const panel = details(page);
    await panel.locator("pre mark").nth(1).waitFor();
    expect(await panel.locator("pre mark").allTextContents()).toEqual(["left", "right"]);
    await panel
      .getByRole("button", { name: /^… 49.800 same characters …$/ })
      .first()
      .click();
    expect(await panel.locator("pre").first().textContent()).toContain("as before as before");
  });

  it("says that there is no success to compare with, and nothing about it in a trace that did not fail", async () => {
    const accountId = await dashboard.makeAccount();
    const { id } = await addTrace(dashboard.pool, accountId, { spans: failed });
    const page = await browser.page(await dashboard.signIn(accountId));
    await page.goto(`/dashboard/traces/${id}`);
    await page.getByText("No success of this agent to compare with").waitFor();
    await page.keyboard.press("c");
    expect(new URL(page.url()).pathname).toBe(`/dashboard/traces/${id}`);
    const { id: success } = await addTrace(dashboard.pool, accountId, { spans: succeeded, status: "success" });
    await page.goto(`/dashboard/traces/${success}`);
    await page.getByRole("treeitem").first().waitFor();
    expect(await page.getByText(/What changed|to compare with/).count()).toBe(0);
  });

  it("is not found with a trace of another account on either side", async () => {
    const { page, failure } = await open();
    const theirs = await addTrace(dashboard.pool, await dashboard.makeAccount(), { spans: succeeded });
    for (const ids of [
      [failure.id, theirs.id],
      [theirs.id, failure.id],
      [failure.id, "none"],
    ]) {
      await page.goto(`/dashboard/traces/${ids.join("/compare/")}`);
      await page.getByRole("heading", { level: 1, name: "Trace not found" }).waitFor();
    }
  });

  it("compares 10,000 spans a side in few nodes", async () => {
    const accountId = await dashboard.makeAccount();
    const [one, two] = [
      await addLargeTrace(dashboard.pool, accountId, 10_000),
      await addLargeTrace(dashboard.pool, accountId, 9_991),
    ];
    const page = await browser.page(await dashboard.signIn(accountId));
    await page.goto(`/dashboard/traces/${one}/compare/${two}`);
    await page.getByText("9\u202f991 spans in both runs, 9 only in this run.").waitFor();
    expect(await page.evaluate("document.querySelectorAll('*').length")).toBeLessThan(1_500);
  });
});

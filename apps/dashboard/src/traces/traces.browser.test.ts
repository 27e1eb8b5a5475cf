import { readFileSync } from "node:fs";
import { expect, it } from "@jest/globals";
import { describeWithChromium } from "@waymark/testing";
import type { Page } from "playwright-core";
import { useBrowser } from "../browser.fixture.js";
import { failTrace, insertTrace } from "./traces.fixture.js";

describeWithChromium("the traces in a browser", (executablePath) => {
  const browser = useBrowser(executablePath);
  const { dashboard } = browser;
  const { pool } = dashboard;

  async function open(path = "traces", count = 3) {
    const accountId = await dashboard.makeAccount();
    const ids: string[] = [];
    for (let n = 1; n <= count; n++)
      ids.push(
        await insertTrace(pool, accountId, { name: `trace ${n}`, ago: count * 10 - n * 10, agent: `agent-${n % 2}` }),
      );
    const person = await dashboard.signIn(accountId);
    const page = await browser.page(person);
    await page.goto(`/dashboard/${path}`);
    return { accountId, ids, page, person, table: page.getByRole("table", { name: "Traces" }) };
  }

  const names = (page: Page) => page.locator(".trace-row a").allTextContents();

  it("changes a failing trace's row in place, with its error, and leaves the others", async () => {
    const { accountId, page, table } = await open();
    const id = await insertTrace(pool, accountId, { name: "slow one", status: "running", ago: 15 });
    await page.reload();
    const row = table.getByRole("row", { name: /slow one/ });
    await row.getByText("Running").waitFor();
    const [before, place] = [await names(page), await row.boundingBox()];
    await failTrace(pool, accountId, id, "Connection refused");
    await row.getByText("Connection refused").waitFor();
    await row.getByText("Error", { exact: true }).waitFor();
    expect(await names(page)).toEqual(before);
    expect(await row.boundingBox()).toEqual(place);
    await page.getByText("Failed: slow one").waitFor({ state: "attached" });
  });

  it("takes new traces in at the top, and keeps them behind a button while a row has the focus", async () => {
    const { accountId, page, table } = await open();
    await table.getByRole("row", { name: /trace 3/ }).waitFor();
    await insertTrace(pool, accountId, { name: "came in" });
    await table.getByRole("row", { name: /came in/ }).waitFor();
    await page.getByText("1 new trace", { exact: true }).waitFor({ state: "attached" });
    await page.keyboard.press("j");
    await insertTrace(pool, accountId, { name: "waits" });
    await insertTrace(pool, accountId, { name: "waits too", status: "error" });
    const button = page.getByRole("button", { name: "2 new traces" });
    await button.waitFor();
    expect((await names(page))[0]).toBe("came in");
    await button.click();
    await button.waitFor({ state: "detached" });
    expect((await names(page)).slice(0, 3)).toEqual(["waits too", "waits", "came in"]);
  });

  it("goes to a file by keyboard, whole and under its filters", async () => {
    const { accountId, page, table } = await open("traces?status=failed", 1);
    for (let n = 1; n <= 60; n++) await insertTrace(pool, accountId, { name: `failed ${n}`, status: "error", ago: n });
    await page.reload();
    await table.waitFor();
    await page.getByRole("button", { name: "Export" }).focus();
    for (const [format, downs] of [
      ["ndjson", 0],
      ["csv", 1],
    ] as const) {
      const file = page.waitForEvent("download");
      await page.keyboard.press("Enter");
      await page.getByRole("menuitem", { name: "NDJSON" }).and(page.locator(":focus")).waitFor();
      for (let down = 0; down < downs; down++) await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      expect((await file).suggestedFilename()).toMatch(new RegExp(`^traces-[0-9-]{10}\\.${format}$`));
      const lines = readFileSync(await (await file).path(), "utf8")
        .trimEnd()
        .split("\n");
      expect([lines.filter((line) => line.includes("failed ")).length, lines.at(-1)]).toEqual([
        60,
        expect.stringMatching(/^(\{"rows":60\}|"rows: 60",+)$/),
      ]);
    }
  });

  it("goes along the rows by keyboard, searches, and opens a pasted id", async () => {
    const { ids, page, table } = await open();
    await table.waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    expect(await page.evaluate("document.activeElement.textContent")).toBe("trace 2");
    await page.keyboard.press("/");
    const search = page.getByRole("searchbox", { name: "Search traces" });
    await search.pressSequentially("TRACE 1");
    await table.getByRole("row", { name: /trace 2/ }).waitFor({ state: "detached" });
    await table.getByRole("row", { name: /trace 1/ }).waitFor();
    expect(await names(page)).toEqual(["trace 1"]);
    expect(await page.evaluate("document.activeElement.type")).toBe("search");
    await search.fill(ids[2] ?? "");
    await page.waitForURL(`**/dashboard/traces/${ids[2]}`);
    await page.goBack();
    await table.getByRole("row", { name: /trace 1/ }).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/dashboard/traces/${ids[0]}`);
  });

  it("keeps its filters in the address over a reload", async () => {
    const { accountId, page, table } = await open();
    await insertTrace(pool, accountId, { name: "lost", status: "error", agent: "agent-1", seconds: 90 });
    await page.getByRole("button", { name: "Failed" }).click();
    await page.getByRole("combobox", { name: "Agent" }).selectOption("agent-1");
    await page.getByRole("combobox", { name: "Longer than" }).selectOption({ label: "Longer than 1 min" });
    await page.getByRole("combobox", { name: "Range" }).selectOption({ label: "Last hour" });
    await page.reload();
    await table.getByRole("row", { name: /lost/ }).waitFor();
    expect(await names(page)).toEqual(["lost"]);
    expect(await page.getByRole("button", { name: "Failed" }).getAttribute("aria-pressed")).toBe("true");
    expect(await page.getByRole("combobox", { name: "Agent" }).inputValue()).toBe("agent-1");
    expect(new URL(page.url()).search).toBe("?status=failed&agent=agent-1&longer=60000&range=1h");
  });

  it("loads more on scroll, in one order without a gap", async () => {
    const { page, table } = await open("traces", 120);
    await table.waitFor();
    expect((await names(page)).length).toBe(50);
    for (let rows = 50; rows < 120; rows = (await names(page)).length) await page.mouse.wheel(0, 5_000);
    expect(await names(page)).toEqual(Array.from({ length: 120 }, (_, index) => `trace ${120 - index}`));
  });

  it("names the filter that excludes most where nothing matches, and drops it", async () => {
    const { page, table } = await open("traces?q=trace&status=failed");
    await page.getByText("“Failed” excludes most: 3 traces without it.").waitFor();
    await page.getByRole("link", { name: "Drop “Failed”" }).click();
    await table.getByRole("row", { name: /trace 3/ }).waitFor();
    expect(new URL(page.url()).search).toBe("?q=trace");
  });

  it("offers no key to somebody who only reads", async () => {
    const page = await browser.page(await dashboard.signIn(await dashboard.makeAccount("free"), "viewer"));
    await page.goto("/dashboard/traces");
    await page.getByRole("textbox", { name: "Example: curl" }).waitFor();
    expect(await page.getByRole("button", { name: "Fill in a new key" }).count()).toBe(0);
    expect(await page.getByRole("link", { name: "A website first?" }).count()).toBe(0);
  });

  it("fills a key into the first examples, and turns into the list", async () => {
    const accountId = await dashboard.makeAccount("free");
    const page = await browser.page(await dashboard.signIn(accountId, "member"));
    await page.goto("/dashboard/traces");
    await page.getByRole("button", { name: "Fill in a new key" }).click();
    const curl = page.getByRole("textbox", { name: "Example: curl" });
    await page.getByText("The key “First trace” is filled in").waitFor();
    for (const name of ["In your agent's folder", "curl", "OpenTelemetry", "TypeScript", "Python"])
      expect(await page.getByRole("textbox", { name: `Example: ${name}` }).inputValue()).toMatch(/wmk_trace_\w{20}/);
    expect(await curl.inputValue()).toContain("/api/v1/traces");
    expect(await browser.findings(page)).toEqual([]);
    await insertTrace(pool, accountId, { name: "My first trace" });
    await page
      .getByRole("table", { name: "Traces" })
      .getByRole("row", { name: /My first trace/ })
      .waitFor();
  });
});

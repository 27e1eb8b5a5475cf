import { beforeAll, expect, it } from "@jest/globals";
import { describeWithChromium } from "@waymark/testing";
import type { Locator, Page } from "playwright-core";
import { useBrowser } from "./browser.fixture.js";
import { makeViewers } from "./pages/page-states.fixture.js";
import { createRecordNetwork } from "./sites/sites.fixture.js";

const operator = "operator@example.com";
const maxTabs = 90;
const { records, network } = createRecordNetwork();
const spend = async () => ({ isAllowed: true, remaining: 1, resetSeconds: 1 });

/** The outlines of the focused element; a row's link draws it around the row. */
const outlineText = `[null, "::after"].map((part) => {
  const { outlineWidth, outlineStyle } = getComputedStyle(document.activeElement, part);
  return outlineWidth + " " + outlineStyle;
}).join()`;

/** Presses Tab until a control has the focus, and wants the focus to be seen. */
async function reach(page: Page, control: Locator): Promise<void> {
  await control.waitFor();
  const focused = control.and(page.locator(":focus"));
  for (let tabs = 0; (await focused.count()) === 0; tabs++) {
    expect(tabs).toBeLessThan(maxTabs);
    await page.keyboard.press("Tab");
  }
  expect(await page.evaluate(outlineText)).toContain("2px solid");
}

async function press(page: Page, role: "button" | "link" | "tab" | "textbox", name: string): Promise<void> {
  await reach(page, page.getByRole(role, { name, exact: true }).first());
  await page.keyboard.press("Enter");
}

/** Waits until a control has the focus by itself. */
async function keeps(control: Locator): Promise<void> {
  await control.and(control.page().locator(":focus")).waitFor();
}

describeWithChromium("by keyboard alone", (executablePath) => {
  const deps = { proofs: { limiter: { spend }, network } };
  const browser = useBrowser(executablePath, { env: { OPERATORS: operator }, deps });
  const { dashboard } = browser;
  let made: Awaited<ReturnType<typeof makeViewers>>;
  beforeAll(async () => {
    made = await makeViewers(dashboard, operator);
  });

  async function open(viewer: keyof typeof made.viewers, path: string): Promise<Page> {
    const page = await browser.page(made.viewers[viewer]);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.goto(`/dashboard${path}`);
    await page.getByRole("heading", { level: 1 }).first().waitFor();
    return page;
  }

  it("a key is made, copied and revoked", async () => {
    const page = await open("newcomer", "/keys");
    await press(page, "button", "Create key");
    await page.keyboard.type("by keyboard");
    await press(page, "button", "Create");
    const shown = page.getByRole("textbox", { name: "Your new key" });
    await keeps(shown);
    await press(page, "button", "Copy");
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(await shown.inputValue());
    await press(page, "button", "Done");
    await keeps(page.getByRole("button", { name: "Create key" }));
    await press(page, "button", "Revoke");
    await keeps(page.getByRole("dialog").getByRole("button", { name: "Cancel" }));
    await page.keyboard.press("Escape");
    await keeps(page.getByRole("button", { name: "Revoke" }));
    await page.keyboard.press("Enter");
    await reach(page, page.getByRole("dialog").getByRole("button", { name: "Revoke" }));
    await page.keyboard.press("Enter");
    await page.getByText("No keys yet").waitFor();
  });

  it("a site is added, renamed and deleted", async () => {
    const page = await open("newcomer", "/sites");
    await press(page, "button", "Add site");
    await page.keyboard.type("keys.example");
    await page.keyboard.press("Enter");
    await page.getByRole("textbox", { name: "Tracking snippet" }).waitFor();
    await press(page, "button", "Done");
    await keeps(page.getByRole("button", { name: "Add site" }));
    await press(page, "link", "Settings of keys.example");
    await keeps(page.getByRole("heading", { level: 1, name: "Site settings" }));
    await reach(page, page.getByRole("textbox", { name: "Name" }));
    await page.keyboard.press("Control+a");
    await page.keyboard.type("Renamed");
    await press(page, "button", "Save");
    await page.getByRole("link", { name: "Renamed" }).waitFor();
    await keeps(page.getByRole("button", { name: "Save" }));
    await press(page, "button", "Delete site");
    await page.keyboard.press("Escape");
    await keeps(page.getByRole("button", { name: "Delete site" }));
    await page.keyboard.press("Enter");
    await page.keyboard.type("keys.example");
    await page.keyboard.press("Enter");
    await keeps(page.getByRole("heading", { level: 1, name: "Sites" }));
    await page.getByText("No sites yet").waitFor();
  });

  it("a domain is proven, on the site's page and in the dialog of a new site", async () => {
    const page = await open("owner", `/sites/${made.ids.unprovenSite}/settings`);
    await reach(page, page.getByRole("textbox", { name: "Proof" }));
    await press(page, "button", "Copy");
    const check = page.getByRole("button", { name: "Check the proof" });
    await press(page, "button", "Check the proof");
    await page.getByText(/There is no TXT record/).waitFor();
    await keeps(check);
    records.set("_waymark.taken.example", String(await page.evaluate("navigator.clipboard.readText()")));
    await page.keyboard.press("Enter");
    await keeps(page.getByRole("heading", { level: 1, name: "Site settings" }));
    await check.waitFor({ state: "detached" });

    const other = await open("newcomer", "/sites");
    await press(other, "button", "Add site");
    await other.keyboard.type("taken.example");
    await other.keyboard.press("Enter");
    const dialog = other.getByRole("dialog");
    records.set("_waymark.taken.example", await dialog.getByRole("textbox", { name: "Proof" }).inputValue());
    await press(other, "button", "Check the proof");
    await keeps(dialog.getByRole("button", { name: "Done" }));
    await dialog.getByText("Waiting for the first visit").waitFor();
  });

  it("the traces are searched, filtered and opened", async () => {
    const page = await open("owner", "/traces");
    const rows = page.locator("tr.trace-row");
    await rows.first().waitFor();
    await press(page, "button", "Failed");
    await page.waitForURL(/status=failed/);
    await page.keyboard.press("/");
    await keeps(page.getByRole("searchbox", { name: "Search traces" }));
    await page.keyboard.type("airline");
    await page.keyboard.press("Enter");
    await page.waitForURL(/q=airline/);
    await page.getByRole("row", { name: /airline task/ }).waitFor();
    await reach(page, page.getByRole("combobox", { name: "Range" }));
    await page.keyboard.press("j");
    await reach(page, rows.getByRole("link").first());
    await page.keyboard.press("Enter");
    await keeps(page.getByRole("heading", { level: 1, name: /^airline task/ }));
  });

  it("a mail is sent again, and the list filtered", async () => {
    const page = await open("owner", "/alerts");
    await press(page, "button", "Failed");
    await page.waitForURL(/state=failed/);
    await press(page, "button", "Send again");
    await page.getByRole("heading", { name: "No failed alerts" }).waitFor();
  });

  it("an agent leads to its traces", async () => {
    const page = await open("owner", "/agents");
    await press(page, "link", "writer");
    await keeps(page.getByRole("heading", { level: 1, name: "writer" }));
    await press(page, "link", "All traces");
    await page.waitForURL(/traces\?agent=writer/);
  });

  it("statistics change their range, comparison and figure, show all rows, and go to a file", async () => {
    const page = await open("owner", `/sites/${made.ids.site}`);
    await press(page, "button", "30 days");
    await page.waitForURL(/range=30d/);
    await reach(page, page.getByRole("combobox", { name: "Compare" }));
    await page.keyboard.press("ArrowDown");
    await page.waitForURL(/compare=year/);
    await reach(page, page.getByRole("group", { name: "Figures" }).getByRole("button", { name: /^Page views/ }));
    await page.keyboard.press("Enter");
    await page.waitForURL(/figure=pageviews/);
    await reach(page, page.getByRole("tab", { name: "Referrers" }));
    await page.keyboard.press("ArrowRight");
    await keeps(page.getByRole("tab", { name: "Channels", selected: true }));
    await press(page, "button", "All pages");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await keeps(page.getByRole("button", { name: "All pages" }));
    await reach(page, page.getByRole("link", { name: "CSV", exact: true }).first());
    const file = page.waitForEvent("download");
    await page.keyboard.press("Enter");
    expect((await file).suggestedFilename()).toMatch(/\.csv$/);
  });

  it("the plan changes both ways", async () => {
    const page = await open("operator", "/billing");
    await press(page, "button", "Switch to Free");
    await reach(page, page.getByRole("dialog").getByRole("button", { name: "Switch to Free" }));
    await page.keyboard.press("Enter");
    await press(page, "button", "Upgrade to Pro");
    await page.getByRole("button", { name: "Switch to Free" }).waitFor();
  });

  it("the menu leads to a page, changes the theme and signs out", async () => {
    const page = await open("limited", "/team");
    await page.keyboard.press("Tab");
    await keeps(page.getByRole("link", { name: "Skip to content" }));
    await page.keyboard.press("Enter");
    await keeps(page.getByRole("main"));
    await reach(page, page.getByRole("link", { name: "Plan and usage", exact: true }));
    await page.keyboard.press("Enter");
    await keeps(page.getByRole("heading", { level: 1, name: "Plan and usage" }));
    const menu = page.getByRole("button", { name: "Account menu" });
    const firstItem = page.getByRole("menuitem", { name: "Settings" });
    await press(page, "button", "Account menu");
    await keeps(firstItem);
    await page.keyboard.press("d");
    await page.keyboard.press("Enter");
    expect(await page.evaluate("getComputedStyle(document.documentElement).colorScheme")).toBe("dark");
    await keeps(menu);
    await page.keyboard.press("Enter");
    await keeps(firstItem);
    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
  });
});

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { beforeAll, expect, it } from "@jest/globals";
import { describeWithChromium, useProcesses } from "@waymark/testing";
import type { Page } from "playwright-core";
import { useBrowser } from "../browser.fixture.js";

const shownUrl = "http://trace-api.test";

describeWithChromium("API keys in a browser", (executablePath) => {
  const browser = useBrowser(executablePath, { env: { TRACE_API_URL: shownUrl } });
  const { dashboard } = browser;
  const startApp = useProcesses();
  let traceApi = "";
  beforeAll(async () => {
    ({ url: traceApi } = await startApp("trace-api", dashboard.databaseUrl));
  });

  const table = (page: Page) => page.getByRole("table", { name: "API keys" });
  async function open(page: Page) {
    await page.goto("/dashboard/keys");
    await page.getByRole("heading", { level: 1, name: "API keys" }).waitFor();
  }
  const statusOf = async (key: string) =>
    (await fetch(`${traceApi}/api/v1/traces`, { headers: { Authorization: `Bearer ${key}` } })).status;

  it("shows a new key once; its line works, and a revoked key is refused", async () => {
    const owner = await dashboard.signIn(await dashboard.makeAccount("free"));
    const page = await browser.page(owner);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await open(page);
    await page.getByRole("button", { name: "Create key" }).press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox", { name: "Name" }).fill("laptop");
    await dialog.getByRole("radio", { name: "Trace API" }).check();
    await dialog.getByRole("button", { name: "Create" }).click();

    const key = await dialog.getByRole("textbox", { name: "Your new key" }).inputValue();
    const line = await dialog.getByRole("textbox", { name: "Try it in a terminal" }).inputValue();
    const command = line.replace(shownUrl, traceApi);
    const { stdout } = await promisify(execFile)("bash", ["-c", `${command} --silent`]);
    expect(JSON.parse(stdout)).toMatchObject({ traces: [] });
    expect((await dashboard.pool.query("SELECT FROM agent")).rowCount).toBe(0);

    await dialog.getByRole("button", { name: "Done" }).click();
    await dialog.getByRole("alert").filter({ hasText: "Copied?" }).waitFor();
    await dialog.getByRole("button", { name: "Copy" }).click();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(key);
    await dialog.getByRole("button", { name: "Done" }).click();
    await dialog.waitFor({ state: "detached" });

    const row = table(page)
      .getByRole("row")
      .filter({ hasText: `wmk_trace_…${key.slice(-4)}` });
    expect(await row.getByRole("rowheader").textContent()).toContain("laptop");
    expect(await page.content()).not.toContain(key);
    expect(await statusOf(key)).toBe(200);
    await row.getByRole("button", { name: "Revoke" }).click();
    await dialog.getByText(/stops within a second/).waitFor();
    await dialog.getByRole("button", { name: "Revoke" }).click();
    await row.waitFor({ state: "detached" });
    // The revocation reaches the API by a notice of the database.
    while ((await statusOf(key)) === 200);
    expect(await statusOf(key)).toBe(401);
  });

  it("makes a key that only sends; its line works, and the list shows it", async () => {
    const page = await browser.page(await dashboard.signIn(await dashboard.makeAccount("free")));
    await open(page);
    await page.getByRole("button", { name: "Create key" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox", { name: "Name" }).fill("in the browser");
    await dialog.getByRole("radio", { name: "Sending only" }).check();
    await dialog.getByRole("button", { name: "Create" }).click();
    const line = await dialog.getByRole("textbox", { name: "Try it in a terminal" }).inputValue();
    const command = line.replace(shownUrl, traceApi);
    const { stdout } = await promisify(execFile)("bash", ["-c", `${command} --silent --fail`]);
    expect(JSON.parse(stdout)).toEqual({});
    expect((await dashboard.pool.query("SELECT FROM trace")).rowCount).toBe(0);
    expect(await statusOf(await dialog.getByRole("textbox", { name: "Your new key" }).inputValue())).toBe(403);
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await table(page).getByRole("row").filter({ hasText: "in the browser" }).getByText("sends only").waitFor();
  });

  it("works by keyboard alone, and Escape asks before it loses a key", async () => {
    const page = await browser.page(await dashboard.signIn(await dashboard.makeAccount("free")));
    await open(page);
    await page.getByRole("button", { name: "Create key" }).focus();
    await page.keyboard.press("Enter");
    await page.keyboard.type("by keyboard");
    await page.keyboard.press("Tab");
    await page.keyboard.press("ArrowDown");
    await page.getByText(/needs Pro/).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("textbox", { name: "Your new key" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("alert").filter({ hasText: "Copied?" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await table(page).getByRole("row").filter({ hasText: "by keyboard" }).getByText("Analytics API").waitFor();
  });

  it("offers members only their own keys to revoke", async () => {
    const accountId = await dashboard.makeAccount();
    const [owner, member] = [await dashboard.signIn(accountId), await dashboard.signIn(accountId, "member")];
    await owner.post("/keys", { name: "theirs", service: "trace" }).expect(201);
    await member.post("/keys", { name: "own", service: "trace" }).expect(201);
    const page = await browser.page(member);
    await open(page);
    const rows = table(page).getByRole("row");
    await rows.filter({ hasText: "own" }).getByRole("button", { name: "Revoke" }).waitFor();
    expect(await rows.filter({ hasText: "theirs" }).getByRole("button").count()).toBe(0);
  });
});

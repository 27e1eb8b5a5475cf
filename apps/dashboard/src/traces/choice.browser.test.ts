import { expect, it } from "@jest/globals";
import { describeWithChromium } from "@waymark/testing";
import { useBrowser } from "../browser.fixture.js";
import { insertTrace } from "./traces.fixture.js";

describeWithChromium("chosen rows", (executablePath) => {
  const browser = useBrowser(executablePath);
  const { dashboard } = browser;

  async function open(path: string, role: "owner" | "member" | "viewer" = "owner") {
    const accountId = await dashboard.makeAccount();
    for (let n = 0; n < 5; n++) {
      const error = `refused ${"abcde"[n]}`;
      await insertTrace(dashboard.pool, accountId, { name: `trace ${n}`, status: "error", error, ago: n });
    }
    const page = await browser.page(await dashboard.signIn(accountId, role), { width: 1280 });
    await page.goto(path);
    const boxes = page.getByRole("checkbox", { name: /^Choose / });
    const chosen = () => page.getByRole("checkbox", { name: /^Choose /, checked: true }).count();
    return { page, boxes, chosen };
  }

  it("are chosen by a click, by Shift and a click, and by keys; a deletion asks with their number", async () => {
    const { page, boxes, chosen } = await open("/dashboard/traces");
    await boxes.nth(0).click();
    await boxes.nth(2).click({ modifiers: ["Shift"] });
    await page.getByText("3 chosen").waitFor();
    await page.getByRole("button", { name: "Choose all 5 shown" }).press("Enter");
    expect(await chosen()).toBe(5);
    expect(await browser.findings(page)).toEqual([]);
    await page.getByRole("button", { name: "Choose none" }).press("Enter");
    await page.getByText("5 chosen").waitFor({ state: "detached" });

    await page.getByRole("link", { name: "trace 1" }).focus();
    await page.keyboard.press("x");
    await page.keyboard.press("Shift+ArrowDown");
    await page.getByRole("link", { name: "trace 2" }).and(page.locator(":focus")).waitFor();
    await page.getByRole("button", { name: "Delete 2 traces" }).press("Enter");
    const dialog = page.getByRole("dialog", { name: "Delete 2 traces?" });
    await dialog.getByRole("button", { name: "Cancel" }).press("Enter");
    expect(await chosen()).toBe(2);
    await page.getByRole("button", { name: "Delete 2 traces" }).press("Enter");
    await dialog.getByRole("button", { name: "Delete 2 traces" }).press("Enter");
    await dialog.waitFor({ state: "detached" });
    for (const name of ["trace 1", "trace 2"]) await page.getByRole("link", { name }).waitFor({ state: "detached" });
    expect(await page.locator(".trace-row").count()).toBe(3);
  });

  it("are exported alone; a member deletes none", async () => {
    const { page, boxes } = await open("/dashboard/traces", "member");
    await boxes.nth(1).click();
    await page.getByRole("button", { name: "Export chosen" }).press("Enter");
    const download = page.waitForEvent("download");
    await page.getByRole("menuitem", { name: "NDJSON" }).click();
    const lines: string[] = [];
    for await (const part of await (await download).createReadStream()) lines.push(String(part));
    expect(lines.join("").match(/"name":"trace \d"|"rows":\d/g)).toEqual(['"name":"trace 1"', '"rows":1']);
    expect(await page.getByRole("button", { name: /^Delete/ }).count()).toBe(0);
  });

  it("of failures are muted and resolved; a viewer chooses none", async () => {
    const { page, boxes } = await open("/dashboard/failures", "member");
    await boxes.nth(0).click();
    await boxes.nth(1).click();
    await page.getByRole("group", { name: "Chosen rows" }).getByRole("button", { name: "Mute" }).press("Enter");
    await page.getByRole("dialog", { name: "Mute 2 failures?" }).getByRole("button", { name: "Mute" }).press("Enter");
    await page.getByText("muted until").nth(1).waitFor();
    await page.getByRole("button", { name: "Resolve", exact: true }).press("Enter");
    await boxes.nth(3).waitFor({ state: "detached" });
    expect(await boxes.count()).toBe(3);
    const viewer = await open("/dashboard/failures", "viewer");
    await viewer.page.getByRole("table", { name: "Failures" }).waitFor();
    expect(await viewer.boxes.count()).toBe(0);
  });
});

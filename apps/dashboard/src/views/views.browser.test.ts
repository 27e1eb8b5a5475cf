import { expect, it } from "@jest/globals";
import { describeWithChromium } from "@waymark/testing";
import { useBrowser } from "../browser.fixture.js";
import { insertTrace } from "../traces/traces.fixture.js";

describeWithChromium("saved views and columns of the list of traces", (executablePath) => {
  const browser = useBrowser(executablePath);
  const { dashboard } = browser;

  async function open(path = "/traces") {
    const accountId = await dashboard.makeAccount();
    const labels = { user: "ユーザー", environment: "live", release: "2.1", tags: ["beta"] };
    const id = await insertTrace(dashboard.pool, accountId, { name: "refund", session: "chat 7", ...labels });
    await insertTrace(dashboard.pool, accountId, { name: "broken", status: "error", error: "refused" });
    const owner = await dashboard.signIn(accountId);
    await owner.post(`/traces/${id}/scores`, { name: "helpful", value: true }).expect(201);
    const page = await browser.page(owner, { width: 1280 });
    await page.goto(`/dashboard${path}`);
    await page.locator(".trace-row").first().waitFor();
    const heads = async () => (await page.getByRole("columnheader").allTextContents()).slice(1);
    return { accountId, page, heads };
  }

  it("keeps chosen columns for the next visit, and asks for scores only where they are shown", async () => {
    const { page, heads } = await open();
    expect(await heads()).toEqual(["Status", "Trace", "Agent", "Duration", "Tokens", "Cost", "Started"]);
    expect(browser.requests.filter((request) => request.includes("include"))).toEqual([]);
    await page.getByRole("button", { name: "Columns" }).press("Enter");
    for (const name of ["Tokens", "Score", "User"]) await page.getByRole("checkbox", { name }).press("Space");
    expect(await browser.findings(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByRole("cell", { name: "helpful: yes" }).waitFor();
    const chosen = ["Status", "Trace", "Agent", "Duration", "Cost", "Score", "User", "Started"];
    expect(await heads()).toEqual(chosen);
    expect(await page.getByRole("cell", { name: "ユーザー", exact: true }).count()).toBe(1);
    await page.reload();
    await page.getByRole("cell", { name: "helpful: yes" }).waitFor();
    expect(await heads()).toEqual(chosen);
    expect(new URL(page.url()).search).toBe("");
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
  });

  it("saves the filters and columns under a name, which the menu and the palette open", async () => {
    const { page, heads } = await open("/traces?status=failed&columns=cost,user");
    await page.getByRole("button", { name: "Views" }).press("Enter");
    await page.getByRole("menuitem", { name: "Save or change views" }).press("Enter");
    await page.getByRole("textbox", { name: "Name" }).fill("失敗 of users");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.goto("/dashboard/traces");
    await page.getByRole("cell", { name: "ユーザー" }).or(page.locator(".trace-row").nth(1)).first().waitFor();
    await page.getByRole("button", { name: "Views" }).press("Enter");
    await page.getByRole("menuitem", { name: "失敗 of users" }).click();
    await page.getByRole("row", { name: "refund" }).waitFor({ state: "detached" });
    await page.getByRole("row", { name: /broken/ }).waitFor();
    expect(await heads()).toEqual(["Status", "Trace", "Cost", "User", "Started"]);
    const { search } = new URL(page.url());
    expect(search).toBe("?status=failed&columns=cost%2Cuser");

    await page.goto("/dashboard/team");
    await page.getByRole("heading", { level: 1, name: "Team" }).waitFor();
    await page.keyboard.press("Control+k");
    // The palette comes with its first use.
    await page
      .getByRole("combobox", { name: /^Page, agent/ })
      .and(page.locator(":focus"))
      .waitFor();
    await page.keyboard.type("失敗");
    await page.getByRole("group", { name: "Saved views" }).getByRole("option").waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Traces" }).waitFor();
    expect(new URL(page.url()).search).toBe(search);
  });

  it("renames and deletes a view", async () => {
    const { page } = await open();
    const change = async () => {
      await page.getByRole("button", { name: "Views" }).press("Enter");
      await page.getByRole("menuitem", { name: "Save or change views" }).press("Enter");
    };
    await change();
    await page.getByRole("textbox", { name: "Name" }).fill("all");
    await page.getByRole("button", { name: "Save this list" }).press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await change();
    await page.getByRole("textbox", { name: "View" }).fill("every one");
    await page.getByRole("button", { name: "Save", exact: true }).press("Enter");
    await page.getByRole("button", { name: "Delete “every one”" }).waitFor();
    expect(await browser.findings(page)).toEqual([]);
    await page.getByRole("button", { name: "Delete “every one”" }).press("Enter");
    await page.getByRole("textbox", { name: "View" }).waitFor({ state: "detached" });
  });
});

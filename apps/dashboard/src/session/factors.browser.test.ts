import { expect, it } from "@jest/globals";
import { describeWithChromium } from "@waymark/testing";
import type { Page } from "playwright-core";
import { useBrowser } from "../browser.fixture.js";
import { codeOf, password } from "./codes.fixture.js";

describeWithChromium("further ways in, in a browser", (executablePath) => {
  const browser = useBrowser(executablePath);
  const { dashboard } = browser;

  async function findings(page: Page) {
    await page.evaluate("Promise.all(document.getAnimations().map(({ finished }) => finished))");
    return browser.findings(page);
  }

  async function settings(page: Page) {
    await page.goto("/dashboard/settings");
    await page.getByRole("heading", { level: 1, name: "Settings" }).waitFor();
  }

  it("are codes, turned on and used by the keyboard", async () => {
    const person = await dashboard.signIn(await dashboard.makeAccount());
    const page = await browser.page(person, { width: 390 });
    await settings(page);
    await page.getByText("Codes come after a password").waitFor();
    await page.getByLabel("New password").fill(password);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Turn on codes" }).press("Enter");
    await page.keyboard.type(password);
    await page.keyboard.press("Enter");
    const secret = await page.getByRole("textbox", { name: "Secret" }).inputValue();
    expect(await page.evaluate("document.activeElement.value")).toBe(secret);
    expect(await findings(page)).toEqual([]);
    await page.getByRole("textbox", { name: "Code" }).fill("000000");
    await page.keyboard.press("Enter");
    await page.getByText("Is wrong, or was used").waitFor();
    await page.getByRole("textbox", { name: "Code" }).fill(codeOf(secret, new Date(), -1));
    await page.keyboard.press("Enter");
    const recovery = await page.getByRole("textbox", { name: "Recovery codes" }).inputValue();
    expect(recovery.split(" ")).toHaveLength(10);
    expect(await findings(page)).toEqual([]);
    await page.getByRole("button", { name: "Done" }).press("Enter");
    await page.getByText("Copied?").waitFor();
    await page.getByRole("button", { name: "Done" }).press("Enter");
    await page.getByText("10 recovery codes left").waitFor();

    const other = await browser.page(undefined, { theme: "dark" });
    await other.goto("/dashboard/sign-in?next=/dashboard/settings");
    await other.getByLabel("Email").fill(person.email);
    await other.getByLabel("Password").fill(password);
    await other.keyboard.press("Enter");
    await other.getByRole("textbox", { name: "Code" }).waitFor();
    expect(await other.evaluate("document.activeElement.name")).toBe("code");
    expect(await findings(other)).toEqual([]);
    await other.keyboard.type(recovery.split(" ")[0] ?? "");
    await other.keyboard.press("Enter");
    await other.getByText("9 recovery codes left").waitFor();
    await other.getByRole("button", { name: "Turn off codes" }).click();
    await other.getByRole("textbox", { name: "Password", exact: true }).fill(password);
    await other.getByRole("textbox", { name: "Code" }).fill(recovery.split(" ")[1] ?? "");
    await other.keyboard.press("Enter");
    await other.getByRole("button", { name: "Turn on codes" }).waitFor();
  });
});

import { expect, it } from "@jest/globals";
import { describeWithChromium } from "@waymark/testing";
import type { Page } from "playwright-core";
import { useBrowser } from "../browser.fixture.js";

describeWithChromium("the pages before a session", (executablePath) => {
  const browser = useBrowser(executablePath);
  const { dashboard } = browser;
  const password = "correct horse battery";
  let people = 0;

  const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name }).waitFor();
  const fill = (page: Page, name: string, text: string) => page.getByRole("textbox", { name }).fill(text);
  const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();

  /** The path of the latest mail's link. */
  async function mailedPath(): Promise<string> {
    const mail = (await dashboard.takeMails()).at(-1);
    return /\/dashboard\/link\/[\w-]+/.exec(mail?.text ?? "")?.[0] ?? "no link";
  }

  /** Signs up in the browser, and stops at the signed-in page. */
  async function signUp(page: Page): Promise<string> {
    const email = `ada-${++people}@example.com`;
    await page.goto("/dashboard/sign-up");
    await fill(page, "Name", "Ada");
    await fill(page, "Email", email);
    await fill(page, "Password", password);
    await press(page, "Create account");
    await heading(page, "Look into your mail");
    await page.goto(await mailedPath());
    await press(page, "Continue");
    await page.getByRole("button", { name: "Account menu" }).waitFor();
    return email;
  }

  async function signOut(page: Page) {
    await press(page, "Account menu");
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await heading(page, "Sign in");
  }

  it("signs up, proves the address once, signs out, and signs in to the asked page", async () => {
    const page = await browser.page();
    const email = await signUp(page);
    await signOut(page);
    await page.goto("/dashboard/settings");
    await heading(page, "Sign in");
    await fill(page, "Email", email);
    await fill(page, "Password", "wrong password");
    await press(page, "Sign in");
    await page.getByRole("alert").getByText("Email or password is wrong.").waitFor();
    await fill(page, "Password", password);
    await page.keyboard.press("Enter");
    await heading(page, "Settings");
  });

  it.each(["https://example.com/", "//example.com/", "/\\example.com"])("stays here for next=%s", async (next) => {
    const page = await browser.page();
    const email = await signUp(page);
    await signOut(page);
    await page.goto(`/dashboard/sign-in?next=${encodeURIComponent(next)}`);
    await fill(page, "Email", email);
    await fill(page, "Password", password);
    await press(page, "Sign in");
    await page.getByRole("button", { name: "Account menu" }).waitFor();
    expect(new URL(page.url()).origin).toBe(browser.origin);
  });

  it("names wrong fields beside them", async () => {
    const page = await browser.page();
    await page.goto("/dashboard/sign-up");
    await fill(page, "Name", "Ada");
    await fill(page, "Email", "grace@example.com");
    await fill(page, "Password", "short");
    await press(page, "Create account");
    const field = page.getByRole("textbox", { name: "Password" });
    await page.locator(".field-error").waitFor();
    expect(await field.getAttribute("aria-invalid")).toBe("true");
    const described = (await field.getAttribute("aria-describedby")) ?? "";
    expect(described.split(" ")).toContain(await page.locator(".field-error").getAttribute("id"));
  });

  it("sets a new password by a mailed link, which works once", async () => {
    const page = await browser.page();
    const email = await signUp(page);
    await signOut(page);
    await page.getByRole("link", { name: "Forgot password?" }).click();
    await heading(page, "Forgot password");
    await fill(page, "Email", email);
    await press(page, "Send a link");
    await page.getByText("is on its way").waitFor();
    const path = await mailedPath();
    await page.goto(path);
    await heading(page, "Set a new password");
    await fill(page, "New password", "another horse battery");
    await press(page, "Continue");
    await page.getByRole("button", { name: "Account menu" }).waitFor();
    await page.goto(path);
    await heading(page, "This link does not work");
  });

  it("asks a browser that did not sign up for a password of its own", async () => {
    const page = await browser.page();
    await page.goto("/dashboard/sign-up");
    await fill(page, "Name", "Eve");
    await fill(page, "Email", "victim@example.com");
    await fill(page, "Password", "password of eve");
    await press(page, "Create account");
    await heading(page, "Look into your mail");
    const other = await browser.page();
    await other.goto(await mailedPath());
    await heading(other, "Prove your address");
    await other.getByText("Choose a password: the sign-up of victim@example.com came from another browser").waitFor();
    expect(await browser.findings(other)).toEqual([]);
    await fill(other, "Password", password);
    await press(other, "Continue");
    await other.getByRole("button", { name: "Account menu" }).waitFor();
  });

  it("brings an invited person in with a name and a password", async () => {
    const owner = await dashboard.signIn(await dashboard.makeAccount());
    await owner.post("/people", { email: "grace@example.com", role: "member" }).expect(201);
    const page = await browser.page();
    await page.goto(await mailedPath());
    await heading(page, "Accept the invitation");
    await fill(page, "Name", "Grace");
    await fill(page, "Password", password);
    await press(page, "Continue");
    await page.getByRole("button", { name: "Account menu" }).waitFor();
    await page.goto("/dashboard/team");
    await page.getByRole("row", { name: /Grace \(you\)/ }).waitFor();
  });

  it("has a known person sign in, and then join", async () => {
    const page = await browser.page();
    const email = await signUp(page);
    await signOut(page);
    const owner = await dashboard.signIn(await dashboard.makeAccount());
    await owner.post("/people", { email, role: "member" }).expect(201);
    await page.goto(await mailedPath());
    await page.getByText(`A owner invites ${email} to`).waitFor();
    await fill(page, "Password", "wrong password");
    await press(page, "Sign in and join");
    await page.getByRole("alert").getByText("Email or password is wrong.").waitFor();
    await fill(page, "Password", password);
    await press(page, "Sign in and join");
    await page.getByRole("button", { name: "Account menu" }).waitFor();
    await page.goto("/dashboard/team");
    await page.getByRole("row", { name: /Ada \(you\)/ }).waitFor();
    await page.getByRole("row", { name: /A owner/ }).waitFor();
  });

  it("uses no link up before the click", async () => {
    const page = await browser.page();
    await page.goto("/dashboard/sign-up");
    await fill(page, "Name", "Ada");
    await fill(page, "Email", "ada@example.org");
    await fill(page, "Password", password);
    await press(page, "Create account");
    await heading(page, "Look into your mail");
    const path = await mailedPath();
    for (let visit = 0; visit < 2; visit++) {
      await page.goto(path);
      await heading(page, "Prove your address");
    }
    expect(browser.requests.filter((line) => line === "POST /dashboard/api/link")).toEqual([]);
  });
});

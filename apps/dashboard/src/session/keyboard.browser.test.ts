import { expect, it } from "@jest/globals";
import { describeWithChromium } from "@waymark/testing";
import type { Page } from "playwright-core";
import { useBrowser } from "../browser.fixture.js";

describeWithChromium("by keyboard alone", (executablePath) => {
  const browser = useBrowser(executablePath);
  const { dashboard } = browser;
  const password = "correct horse battery";

  const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name }).waitFor();
  /** The focused control's name and text; only a visible focus counts. */
  const focused = (page: Page) =>
    page.evaluate(`(() => {
      const element = document.activeElement;
      const labels = [...(element.labels ?? [])].map((label) => label.textContent);
      const isSeen = element.matches(":focus-visible");
      return isSeen ? [element.getAttribute("aria-label"), ...labels, element.textContent].filter(Boolean).join(" ") : "";
    })()`) as Promise<string>;

  /** Presses Tab until the control has the focus. A cycle without it ends the test. */
  async function tabTo(page: Page, name: string | RegExp, key = "Tab") {
    const isIt = (text: string) => (typeof name === "string" ? text.trim() === name : name.test(text));
    const seen: string[] = [];
    for (let n = 0; n < 60; n++) {
      await page.keyboard.press(key);
      const text = await focused(page);
      seen.push(text);
      if (isIt(text)) return;
    }
    throw new Error(`No ${String(name)} among: ${seen.join(" | ")}`);
  }

  async function type(page: Page, name: string, text: string) {
    await tabTo(page, name);
    await page.keyboard.type(text);
  }

  async function pressOn(page: Page, name: string | RegExp) {
    await tabTo(page, name);
    await page.keyboard.press("Enter");
  }

  async function mailedPath(): Promise<string> {
    const mail = (await dashboard.takeMails()).at(-1);
    return /\/dashboard\/link\/[\w-]+/.exec(mail?.text ?? "")?.[0] ?? "no link";
  }

  it("somebody signs up, proves the address, signs out and in, and chooses a new password", async () => {
    const page = await browser.page();
    await page.goto("/dashboard/sign-in");
    await heading(page, "Sign in");
    await page.getByRole("link", { name: "Create an account" }).waitFor();
    await pressOn(page, "Create an account");
    await heading(page, "Create an account");
    await type(page, "Name", "Ada");
    await type(page, "Email", "ada@example.com");
    await type(page, "Password", "short");
    await page.keyboard.press("Enter");
    await page.getByText("Must have at least 10 characters").waitFor();
    await tabTo(page, "Password", "Shift+Tab");
    await page.keyboard.press("Control+A");
    await page.keyboard.type(password);
    await pressOn(page, "Create account");
    await heading(page, "Look into your mail");

    await page.goto(await mailedPath());
    await heading(page, "Prove your address");
    await pressOn(page, "Continue");
    await page.getByRole("button", { name: "Account menu" }).waitFor();

    await pressOn(page, /Account menu/);
    await page.getByRole("menuitem", { name: "Sign out" }).waitFor();
    for (let n = 0; n < 10 && !/Sign out/.test(await focused(page)); n++) await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await heading(page, "Sign in");

    await page.getByRole("link", { name: "Create an account" }).waitFor();
    await pressOn(page, "Forgot password?");
    await heading(page, "Forgot password");
    await type(page, "Email", "ada@example.com");
    await page.keyboard.press("Enter");
    await page.getByText("is on its way").waitFor();
    await page.goto(await mailedPath());
    await heading(page, "Set a new password");
    await type(page, "New password", "another horse battery");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Account menu" }).waitFor();
  });

  it("an owner invites, changes a role and removes", async () => {
    const accountId = await dashboard.makeAccount();
    const [owner, member] = [await dashboard.signIn(accountId), await dashboard.signIn(accountId, "member")];
    await member.post("/keys", { name: "theirs", service: "trace" }).expect(201);
    const page = await browser.page(owner);
    await page.goto("/dashboard/team");
    await page.getByRole("button", { name: "Invite" }).waitFor();

    await pressOn(page, "Invite");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.type("grace@example.com");
    await page.keyboard.press("Tab");
    // Member, viewer, owner.
    for (const key of ["ArrowDown", "ArrowDown", "Enter"]) await page.keyboard.press(key);
    const invitations = page.getByRole("table", { name: "Invitations" });
    await invitations.getByRole("row", { name: /grace@example.com Owner/ }).waitFor();
    expect((await focused(page)).trim()).toBe("Invite");
    await pressOn(page, "Take back");
    await invitations.waitFor({ state: "detached" });

    await page.goto("/dashboard/team");
    await page.getByRole("combobox", { name: "Role of A member" }).waitFor();
    await tabTo(page, /Role of A member/);
    await page.keyboard.press("ArrowDown");
    await page.getByRole("row", { name: /Changed the role of/ }).waitFor();
    await tabTo(page, /Role of A member/);
    await pressOn(page, "Remove");
    await page.getByRole("dialog").getByText("They made 1 key").waitFor();
    expect((await focused(page)).trim()).toContain("Revoke");
    await tabTo(page, "Remove");
    await page.keyboard.press("Enter");
    await page.getByRole("row", { name: /^Removed/ }).waitFor();
    await page.getByRole("row", { name: /^Revoked the key/ }).waitFor();
    await member.get("/me").expect(401);
    expect((await owner.get("/keys")).body.keys).toEqual([]);
  });

  it("a person changes name and password, and ends a session", async () => {
    const owner = await dashboard.signIn(await dashboard.makeAccount());
    const page = await browser.page(owner);
    await page.goto("/dashboard/settings");
    await page.getByRole("table", { name: "Sessions" }).waitFor();
    await page.getByRole("textbox", { name: "Name", exact: true }).waitFor();
    await tabTo(page, "Name");
    await page.keyboard.press("Control+A");
    await page.keyboard.type("Ada Lovelace");
    await page.keyboard.press("Enter");
    await page.getByRole("status").getByText("Saved").waitFor({ state: "attached" });
    expect((await owner.get("/me").expect(200)).body.person.name).toBe("Ada Lovelace");

    await type(page, "New password", password);
    await page.keyboard.press("Enter");
    await page.getByText("The password is changed.").waitFor();
    const sent = dashboard.anonymous().post("/sign-in", { email: owner.email, password });
    const cookie = String((await sent.expect(200)).headers["set-cookie"]).split(";")[0] ?? "";

    await page.goto("/dashboard/settings");
    await page.getByRole("button", { name: "End all others" }).waitFor();
    await pressOn(page, "End");
    await page.getByRole("button", { name: "End all others" }).waitFor({ state: "detached" });
    await dashboard.anonymous().get("/me").set("Cookie", cookie).expect(401);
  });
});

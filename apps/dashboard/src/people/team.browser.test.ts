import { expect, it } from "@jest/globals";
import { describeWithChromium } from "@waymark/testing";
import type { Page } from "playwright-core";
import { useBrowser } from "../browser.fixture.js";
import { insertTrace } from "../traces/traces.fixture.js";

describeWithChromium("the team and the settings in a browser", (executablePath) => {
  const browser = useBrowser(executablePath);
  const { dashboard } = browser;

  async function open(page: Page, path: string, name: string) {
    await page.goto(`/dashboard/${path}`);
    await page.getByRole("heading", { level: 1, name }).waitFor();
    await page.getByRole("table").first().waitFor();
  }

  async function team() {
    const accountId = await dashboard.makeAccount();
    return { owner: await dashboard.signIn(accountId), member: await dashboard.signIn(accountId, "member") };
  }

  it("has an owner invite, change a role and remove, and records it", async () => {
    const { owner, member } = await team();
    const page = await browser.page(owner);
    await open(page, "team", "Team");

    await page.getByRole("button", { name: "Invite" }).press("Enter");
    const dialog = page.getByRole("dialog", { name: "Invite somebody" });
    await page.keyboard.type("grace@example.com");
    await dialog.getByRole("radio", { name: "Owner" }).check();
    await dialog.getByRole("button", { name: "Send invitation" }).click();
    await page.getByRole("table", { name: "Invitations" }).getByText("grace@example.com").waitFor();
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Invite");

    await page.keyboard.press("Enter");
    await dialog.waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Invite");

    await page.getByRole("button", { name: "Take back" }).click();
    await page.getByRole("table", { name: "Invitations" }).waitFor({ state: "detached" });

    const row = page.getByRole("table", { name: "People" }).getByRole("row").filter({ hasText: member.email });
    await row.getByRole("combobox").selectOption("owner");
    await page.getByRole("row", { name: /Changed the role of/ }).waitFor();
    await row.getByRole("button", { name: "Remove" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await row.waitFor({ state: "detached" });
    await page.getByRole("row", { name: /^Removed/ }).waitFor();
    await member.get("/me").expect(401);
  });

  it("shows a viewer what a member sees, and nothing that changes it", async () => {
    const { owner } = await team();
    const viewer = await dashboard.signIn(owner.accountId, "viewer");
    await insertTrace(dashboard.pool, owner.accountId, { status: "error", error: "no room" });
    const { body: site } = await owner.post("/sites", { domain: "seen.example", name: "Seen" }).expect(201);
    const [failure] = (await owner.get("/failures").expect(200)).body.failures;
    const { body: traces } = await owner.get("/traces").expect(200);
    const pages = ["keys", "sites", `sites/${site.id}`, `sites/${site.id}/settings`, "channels", "billing", "failures"];
    const controls = /^(Create key|Add .*|Share|Mute|Resolve|Save|Score|Send again|Upgrade.*|Delete.*|Revoke)$/;
    const shown = new Set<string>();
    for (const as of [owner, viewer]) {
      const page = await browser.page(as);
      for (const path of [...pages, `failures/${failure.id}`, `traces/${traces.traces[0].id}`]) {
        await page.goto(`/dashboard/${path}`);
        await page.getByRole("heading", { level: 1 }).waitFor();
        await page.waitForLoadState("networkidle");
        const names = await page.getByRole("main").getByRole("button").allTextContents();
        for (const name of names) if (controls.test(name)) shown.add(`${as.personId} ${path}: ${name}`);
      }
    }
    const by = (who: string) => [...shown].filter((line) => line.startsWith(who));
    expect(by(owner.personId).length).toBeGreaterThan(8);
    expect(by(viewer.personId)).toEqual([]);
  });

  it("shows a member no owner's controls, and lets them leave", async () => {
    const { owner, member } = await team();
    const page = await browser.page(member);
    await open(page, "team", "Team");
    await page.getByRole("row").filter({ hasText: owner.email }).waitFor();
    const buttons = page.getByRole("main").getByRole("button");
    await buttons.getByText("Leave").waitFor();
    expect(await buttons.allTextContents()).toEqual(["Leave"]);
    expect(await page.getByRole("combobox").count()).toBe(0);
    await open(page, "settings", "Settings");
    await page.getByRole("textbox", { name: "Name", exact: true }).waitFor();
    expect(await page.getByRole("textbox", { name: "Account name" }).count()).toBe(0);
    await open(page, "team", "Team");
    await page.getByRole("button", { name: "Leave" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Leave" }).click();
    await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
  });

  it("asks what becomes of a removed person's keys, and names those of people who left", async () => {
    const { owner, member } = await team();
    const second = await dashboard.signIn(owner.accountId, "member");
    for (const person of [member, second]) {
      for (const name of ["one", "two"]) await person.post("/keys", { name, service: "trace" }).expect(201);
    }
    const page = await browser.page(owner);
    await page.emulateMedia({ reducedMotion: "reduce" });
    await open(page, "team", "Team");
    const remove = async (email: string, choice: string) => {
      const row = page.getByRole("table", { name: "People" }).getByRole("row").filter({ hasText: email });
      await row.getByRole("button", { name: "Remove" }).click();
      const dialog = page.getByRole("dialog");
      const keys = dialog.getByRole("group", { name: "They made 2 keys" });
      expect(await keys.getByRole("radio", { name: "Revoke" }).isChecked()).toBe(true);
      await keys.getByRole("radio", { name: choice }).check();
      expect(await browser.findings(page)).toEqual([]);
      await dialog.getByRole("button", { name: "Remove" }).click();
      await row.waitFor({ state: "detached" });
    };
    await remove(member.email, "Revoke");
    expect((await owner.get("/keys")).body.keys).toHaveLength(2);
    expect(await page.getByText("people who left").count()).toBe(0);
    await remove(second.email, "Keep");
    await page.getByText("2 keys of people who left still work.").waitFor();
    expect((await owner.get("/keys")).body.keys).toHaveLength(2);
  });

  it("shows markup in names as text, in every place", async () => {
    const { owner, member } = await team();
    const markup = "<img src=x onerror=alert(1)><script>alert(2)</script>";
    const { pool } = dashboard;
    await pool.query("UPDATE person SET name = $1 WHERE id = ANY ($2)", [markup, [owner.personId, member.personId]]);
    await pool.query("UPDATE account SET name = $1 WHERE id = $2", [markup, owner.accountId]);
    await member.post("/keys", { name: markup, service: "trace" }).expect(201);
    const page = await browser.page(owner);
    page.on("dialog", () => expect("a script of a name").toBe("never run"));
    await open(page, "team", "Team");
    await page.getByText("onerror=alert(1)").nth(3).waitFor({ state: "attached" });
    await page.getByRole("button", { name: "Remove" }).click();
    await page.getByRole("heading", { name: `Remove ${markup}?` }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Account menu" }).click();
    const shown = {
      settings: page.getByRole("textbox", { name: "Account name" }),
      keys: page.getByRole("main").getByText(markup).first(),
    };
    for (const path of ["settings", "keys"] as const) {
      await open(page, path, path === "keys" ? "API keys" : "Settings");
      await shown[path].waitFor();
      expect(await page.evaluate("document.querySelectorAll('main img, main script').length")).toBe(0);
    }
  });

  it("keeps the last owner", async () => {
    const { owner } = await team();
    const page = await browser.page(owner);
    await open(page, "team", "Team");
    const row = page.getByRole("row").filter({ hasText: owner.email });
    await row.waitFor();
    await page.getByRole("button", { name: "Invite" }).waitFor();
    expect(await row.getByRole("button").count()).toBe(0);
    expect(await row.getByRole("combobox").count()).toBe(0);
  });

  it("changes the name and the password, and ends other sessions", async () => {
    const { owner } = await team();
    const page = await browser.page(owner);
    await open(page, "settings", "Settings");
    await page.getByRole("textbox", { name: "Name", exact: true }).fill("Ada Lovelace");
    await page.getByRole("region", { name: "You" }).getByRole("button", { name: "Save" }).click();
    await page.getByRole("status").getByText("Saved").waitFor({ state: "attached" });
    expect((await owner.get("/me").expect(200)).body.person.name).toBe("Ada Lovelace");

    await page.getByRole("textbox", { name: "New password" }).fill("correct horse battery");
    await page.getByRole("button", { name: "Set password" }).click();
    await page.getByText("The password is changed.").waitFor();
    await owner.get("/me").expect(401);

    await page.getByRole("textbox", { name: "Current password" }).fill("not this one");
    await page.getByRole("textbox", { name: "New password" }).fill("another horse battery");
    await page.getByRole("button", { name: "Change password" }).click();
    await page.getByText("Is not your password").waitFor();

    const other = dashboard.anonymous();
    const { headers } = await other
      .post("/sign-in", { email: owner.email, password: "correct horse battery" })
      .expect(200);
    const cookie = String(headers["set-cookie"]).split(";")[0] ?? "";
    await page.reload();
    await page.getByRole("table", { name: "Sessions" }).getByRole("button", { name: "End" }).click();
    await page.getByRole("button", { name: "End all others" }).waitFor({ state: "detached" });
    await other.get("/me").set("Cookie", cookie).expect(401);
    expect((await page.getByRole("table", { name: "Sessions" }).getByRole("row").count()) - 1).toBe(1);
  });
});

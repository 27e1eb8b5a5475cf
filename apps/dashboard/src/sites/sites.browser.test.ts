import { beforeAll, expect, it } from "@jest/globals";
import { describeWithChromium, useProcesses } from "@waymark/testing";
import type { Page } from "playwright-core";
import { useBrowser } from "../browser.fixture.js";
import { createRecordNetwork, newDomain } from "./sites.fixture.js";

const shownUrl = "http://collector.test";
const userAgent =
  "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";
const { records, network } = createRecordNetwork();
const spend = async () => ({ isAllowed: true, remaining: 1, resetSeconds: 1 });

describeWithChromium("sites in a browser", (executablePath) => {
  const deps = { proofs: { limiter: { spend }, network } };
  const browser = useBrowser(executablePath, { env: { COLLECTOR_URL: shownUrl }, deps });
  const { dashboard } = browser;
  const startApp = useProcesses();
  let collector = "";
  beforeAll(async () => {
    ({ url: collector } = await startApp("collector", dashboard.databaseUrl));
  });

  const newOwner = async () => dashboard.signIn(await dashboard.makeAccount());

  async function open(page: Page, path: string, name: string) {
    await page.goto(`/dashboard/${path}`);
    await page.getByRole("heading", { level: 1, name }).waitFor();
  }

  async function visit(domain: string) {
    const answer = await fetch(`${collector}/api/event`, {
      method: "POST",
      headers: { "Content-Type": "text/plain", "User-Agent": userAgent },
      body: JSON.stringify({ name: "pageview", domain, url: `https://${domain}/` }),
    });
    expect([answer.status, answer.headers.get("x-waymark-dropped")]).toEqual([202, null]);
  }

  it("adds a site by keyboard, shows its snippet, and turns with the first visit", async () => {
    const page = await browser.page(await newOwner());
    const domain = newDomain();
    await open(page, "sites", "Sites");
    await page.getByRole("button", { name: "Add site" }).press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox", { name: "Domain" }).waitFor();
    await page.keyboard.type(`https://${domain}/`);
    await page.keyboard.press("Tab");
    await page.keyboard.type("My shop");
    await page.keyboard.press("Enter");
    const snippet = await dialog.getByRole("textbox", { name: "Tracking snippet" }).inputValue();
    expect(snippet).toBe(`<script defer src="${shownUrl}/js/script.js" data-domain="${domain}"></script>`);
    await dialog.getByText("Waiting for the first visit").waitFor();
    await visit(domain);
    const link = dialog.getByRole("link", { name: "See the statistics" });
    await link.waitFor();
    const { rows } = await dashboard.pool.query("SELECT id FROM site WHERE domain = $1", [domain]);
    expect(await link.getAttribute("href")).toBe(`/dashboard/sites/${rows[0].id}`);
    await dialog.getByRole("button", { name: "Done" }).press("Enter");
    const row = page.getByRole("table", { name: "Sites" }).getByRole("row").filter({ hasText: domain });
    await row.getByRole("link", { name: "My shop", exact: true }).waitFor();
    expect(await row.getByText("Waiting").count()).toBe(0);
  });

  it("names a wrong domain, and lets nobody go on", async () => {
    const page = await browser.page(await newOwner());
    await open(page, "sites", "Sites");
    await page.getByRole("button", { name: "Add site" }).click();
    await page.getByRole("textbox", { name: "Domain" }).fill("no domain");
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByText("is not a domain").waitFor();
    expect(await page.getByRole("textbox", { name: "Domain" }).getAttribute("aria-invalid")).toBe("true");
  });

  it("renames a site, and deletes it for who types its domain", async () => {
    const owner = await newOwner();
    const domain = newDomain();
    const { body: site } = await owner.post("/sites", { domain, name: "Old" }).expect(201);
    const page = await browser.page(owner);
    await open(page, `sites/${site.id}/settings`, "Site settings");
    await page.getByRole("textbox", { name: "Name" }).fill("New");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("link", { name: "New" }).waitFor();
    await page.getByRole("button", { name: "Delete site" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete New?" });
    await dialog.getByRole("textbox", { name: "Domain" }).fill("other.example");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await dialog.getByText(`That is not ${domain}.`).waitFor();
    await dialog.getByRole("textbox", { name: "Domain" }).fill(domain);
    await dialog.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { level: 1, name: "Sites" }).waitFor();
    await page.getByText("No sites yet").waitFor();

    const member = await dashboard.signIn(owner.accountId, "member");
    const { body: second } = await member.post("/sites", { domain, name: "Second" }).expect(201);
    const theirs = await browser.page(member);
    await open(theirs, `sites/${second.id}/settings`, "Site settings");
    await theirs.getByRole("textbox", { name: "Tracking snippet" }).waitFor();
    await theirs.getByRole("button", { name: "Account menu" }).waitFor();
    expect(await theirs.getByRole("button", { name: "Delete site" }).count()).toBe(0);
  });

  it("lets a site of another account's domain wait for its proof, and then gives it the events", async () => {
    const [first, second] = [await newOwner(), await newOwner()];
    const domain = newDomain();
    await first.post("/sites", { domain, name: "First" }).expect(201);
    const page = await browser.page(second);
    await open(page, "sites", "Sites");
    await page.getByRole("button", { name: "Add site" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox", { name: "Domain" }).fill(domain);
    await dialog.getByRole("button", { name: "Add", exact: true }).click();
    const proof = await dialog.getByRole("textbox", { name: "Proof" }).inputValue();
    await dialog.getByRole("button", { name: "Check the proof" }).click();
    await dialog.getByText(/There is no TXT record/).waitFor();
    records.set(`_waymark.${domain}`, proof);
    await dialog.getByRole("button", { name: "Check the proof" }).click();
    await dialog.getByText("Waiting for the first visit").waitFor();
    await visit(domain);
    await dialog.getByRole("link", { name: "See the statistics" }).waitFor();

    const former = await browser.page(first);
    await open(former, "sites", "Sites");
    await former.getByText("Domain not proven").waitFor();
  });
});

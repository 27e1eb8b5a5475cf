import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "@jest/globals";
import { createSignInLink } from "@waymark/accounts/identity/links";
import { describeWithChromium, useProcesses } from "@waymark/testing";
import type { Page } from "playwright-core";
import { useBrowser } from "./browser.fixture.js";
import { insertTrace } from "./traces/traces.fixture.js";

describeWithChromium("somebody new", (executablePath) => {
  const shownUrl = "http://traces.test";
  const browser = useBrowser(executablePath, { env: { TRACE_API_URL: shownUrl } });
  const { dashboard } = browser;
  const startApp = useProcesses();

  const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name }).waitFor();
  const press = (page: Page, name: string) => page.getByRole("button", { name }).click();

  async function signUp(page: Page) {
    await page.goto("/dashboard/sign-up");
    await page.getByRole("textbox", { name: "Name" }).fill("Ada");
    await page.getByRole("textbox", { name: "Email" }).fill("ada@example.com");
    await page.getByRole("textbox", { name: "Password" }).fill("correct horse battery");
    await press(page, "Create account");
    await heading(page, "Look into your mail");
    const mail = (await dashboard.takeMails()).at(-1);
    await page.goto(/\/dashboard\/link\/[\w-]+/.exec(mail?.text ?? "")?.[0] ?? "/no-link");
    await press(page, "Continue");
  }

  it("signs up, sends the first trace by a key of the page, and opens it on its failing span", async () => {
    const page = await browser.page();
    await signUp(page);
    await heading(page, "What do you want to see first?");
    await page.getByRole("link", { name: "Send the first run" }).click();
    await heading(page, "Traces");
    await press(page, "Fill in a new key");
    const example = page.getByRole("textbox", { name: "Example: curl" });
    await page.getByText("is filled in").waitFor();
    const command = await example.inputValue();
    const key = /wmk_trace_\w+/.exec(command)?.[0] ?? "";

    const { url } = await startApp("trace-api", dashboard.databaseUrl);
    const rowOf = (name: RegExp) => page.getByRole("table", { name: "Traces" }).getByRole("row", { name });
    await promisify(execFile)("bash", ["-c", command.replaceAll(shownUrl, url)]);
    await rowOf(/My first trace/)
      .getByText("Success")
      .waitFor();
    const { rows: spans } = await dashboard.pool.query("SELECT name FROM span");
    expect(spans).toEqual([{ name: "call the model" }]);

    const send = async (method: string, path: string, body: object) => {
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
      const answer = await fetch(`${url}/api/v1${path}`, { method, headers, body: JSON.stringify(body) });
      expect([path, answer.ok]).toEqual([path, true]);
      return (await answer.json()) as Record<string, string>;
    };
    const [began, ended] = ["2026-11-21T09:00:00Z", "2026-11-21T09:00:32Z"];
    const trace = { agent_id: "first-agent", name: "Answer ticket 7", status: "running", started_at: began };
    const { trace_id: id } = await send("POST", "/traces", trace);
    const row = rowOf(/Answer ticket 7/);
    await row.getByText("Running").waitFor();

    const span = { name: "call the model", status: "error", started_at: began, ended_at: ended };
    await send("POST", `/traces/${id}/spans`, { ...span, error: "connection refused" });
    await send("PATCH", `/traces/${id}`, { status: "error", ended_at: ended });
    await row.getByText("Error", { exact: true }).waitFor();

    await row.getByRole("link").first().click();
    await heading(page, "Answer ticket 7");
    const details = page.getByRole("region", { name: "Span details" });
    await details.getByText("connection refused").first().waitFor();
    expect(await details.getByRole("tab", { name: "Error" }).getAttribute("aria-selected")).toBe("true");
  });

  it("follows the link that start prints, and finds the traces at one click; the link works once", async () => {
    const id = await dashboard.makeAccount();
    await insertTrace(dashboard.pool, id, { name: "Answer ticket 9" });
    const options = { pool: dashboard.pool, dashboardUrl: browser.origin, lifeMs: 12 * 3_600_000, now: new Date() };
    const link = await createSignInLink({ ...options, account: { id, email: `${id}@example.com` } });
    const page = await browser.page();
    await page.goto(link?.url ?? "");
    await heading(page, "Sign in");
    await press(page, "Continue");
    await heading(page, "Today");
    await page.getByRole("link", { name: "Traces", exact: true }).click();
    await page
      .getByRole("table", { name: "Traces" })
      .getByRole("row", { name: /Answer ticket 9/ })
      .waitFor();
    const again = await browser.page();
    await again.goto(link?.url ?? "");
    await heading(again, "This link does not work");
    await again.getByText("It was used already").waitFor();
  });
});

import { expect, it } from "@jest/globals";
import { describeWithChromium } from "@waymark/testing";
import { useBrowser } from "../browser.fixture.js";
import { useTraceApi } from "./trace-api.fixture.js";

describeWithChromium("labels in the list of traces", (executablePath) => {
  const browser = useBrowser(executablePath);
  const { dashboard } = browser;
  const api = useTraceApi(dashboard);

  /** Two finished traces of a model call each, by two users. */
  async function open(path = "traces") {
    const accountId = await dashboard.makeAccount();
    const client = await api.client(accountId);
    const time = { started_at: new Date().toISOString(), ended_at: new Date().toISOString() };
    for (const [user_id, input] of [
      ["u-1", "返金してください"],
      ["u-2", "Where is my parcel?"],
    ]) {
      const trace = { agent_id: "support", name: `of ${user_id}`, status: "success", ...time, user_id, tags: ["beta"] };
      const { body } = await client.post("/api/v1/traces", trace).expect(201);
      const attributes = { "gen_ai.request.model": "gpt-4o", "gen_ai.usage.input_tokens": 1_000_000 };
      const span = { name: "chat", status: "ok", ...time, attributes, input: [{ role: "user", content: input }] };
      await client.post(`/api/v1/traces/${body.trace_id}/spans`, span).expect(201);
    }
    const page = await browser.page(await dashboard.signIn(accountId), { width: 1280 });
    await page.goto(`/dashboard/${path}`);
    return { page, rows: page.locator(".trace-row") };
  }

  it("shows tokens, cost, labels and the beginning of the input in each row", async () => {
    const { page, rows } = await open();
    const row = rows.filter({ hasText: "of u-1" });
    await row.waitFor();
    const text = await row.textContent();
    for (const shown of ["u-1", "beta", "返金してください", "support", "1M", "$2.50"]) expect(text).toContain(shown);
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByRole("columnheader", { name: "Cost" }).waitFor({ state: "detached" });
    expect(await row.textContent()).toContain("$2.50");
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
  });

  it("says no input twice, and no more digits of a cost than fit", async () => {
    const accountId = await dashboard.makeAccount();
    const client = await api.client(accountId);
    const time = { started_at: new Date().toISOString(), ended_at: new Date().toISOString() };
    const trace = { agent_id: "support", name: "Hello?", status: "success", ...time };
    const { body } = await client.post("/api/v1/traces", trace).expect(201);
    const attributes = { "gen_ai.request.model": "gpt-4o", "gen_ai.usage.input_tokens": 3 };
    const span = { name: "chat", status: "ok", ...time, attributes, input: "Hello?" };
    await client.post(`/api/v1/traces/${body.trace_id}/spans`, span).expect(201);
    const page = await browser.page(await dashboard.signIn(accountId), { width: 1280 });
    await page.goto("/dashboard/traces");
    await page.getByTitle("$0.0000075").waitFor();
    expect((await page.locator(".trace-row").textContent())?.match(/Hello\?|<\$0\.0001/g)).toEqual([
      "Hello?",
      "<$0.0001",
    ]);
  });

  it("filters by a label through the keyboard, keeps it in the address, and removes it by its chip", async () => {
    const { page, rows } = await open();
    await rows.nth(1).waitFor();
    await page.getByRole("combobox", { name: "Label" }).focus();
    await page.keyboard.press("U");
    await page.getByRole("textbox", { name: "User is" }).waitFor();
    await page.keyboard.type("u-2");
    await page.keyboard.press("Enter");
    await rows.filter({ hasText: "of u-1" }).waitFor({ state: "detached" });
    await rows.filter({ hasText: "of u-2" }).waitFor();
    expect(new URL(page.url()).search).toBe("?user=u-2");
    await page.getByRole("button", { name: "Remove filter User “u-2”" }).press("Enter");
    await rows.filter({ hasText: "of u-1" }).waitFor();
    expect(new URL(page.url()).search).toBe("");
    await expect(page.evaluate("document.activeElement.tagName")).resolves.toBe("H1");
  });

  it("names the label that leaves nothing", async () => {
    const { page } = await open("traces?user=u-1&tag=gamma");
    await page.getByText("“Tag “gamma”” excludes most: 1 trace without it.").waitFor();
  });
});

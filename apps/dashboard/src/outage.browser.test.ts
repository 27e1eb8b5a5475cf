import { expect, it } from "@jest/globals";
import { describeWithChromium } from "@waymark/testing";
import type { Page } from "playwright-core";
import { useBrowser } from "./browser.fixture.js";
import { useDatabaseProxy } from "./database-proxy.fixture.js";
import { insertTrace } from "./traces/traces.fixture.js";

describeWithChromium("while Postgres is away", (executablePath) => {
  const proxy = useDatabaseProxy();
  const browser = useBrowser(executablePath, { connectThrough: proxy.addressOf });
  const { dashboard } = browser;
  const note = (page: Page) => page.getByText("Waymark or its database does not answer now.");

  it.each(["stop", "freeze"] as const)("(%s) pages say so, keep what they show, and recover", async (begin) => {
    const viewer = await dashboard.signIn(await dashboard.makeAccount());
    await insertTrace(dashboard.pool, viewer.accountId, { name: "before", status: "error", error: "refused" });
    await viewer.post("/sites", { domain: `${begin}.example`, name: "A site" }).expect(201);
    const [traces, keys, sites] = [await browser.page(viewer), await browser.page(viewer), await browser.page(viewer)];
    await traces.goto("/dashboard/traces");
    await traces.getByRole("row", { name: /before/ }).waitFor();
    await sites.goto("/dashboard/sites");
    await sites.getByRole("row", { name: /A site/ }).waitFor();
    await keys.goto("/dashboard/keys");
    await keys.getByText("No keys yet").waitFor();
    await keys.getByRole("button", { name: "Create key" }).press("Enter");
    const name = keys.getByRole("textbox", { name: "Name" });
    await name.fill("a name of many words");

    proxy[begin]();
    await keys.keyboard.press("Enter");
    await keys.getByText("temporarily unavailable").waitFor();
    expect(await name.inputValue()).toBe("a name of many words");
    await note(traces).waitFor();
    expect(await traces.getByRole("row", { name: /before/ }).count()).toBe(1);
    await note(sites).waitFor();
    expect(await sites.getByRole("row", { name: /A site/ }).count()).toBe(1);
    await sites.getByRole("link", { name: "Team" }).click();
    await sites.getByText("Waiting for Waymark to answer.").first().waitFor();

    proxy.recover();
    await sites.getByRole("table", { name: "People" }).waitFor();
    await note(traces).waitFor({ state: "detached" });
    await insertTrace(dashboard.pool, viewer.accountId, { name: "after" });
    await traces
      .getByText("after")
      .or(traces.getByRole("button", { name: /^1 new trace/ }))
      .first()
      .waitFor();
    await keys.getByRole("button", { name: "Create", exact: true }).press("Enter");
    await keys.getByRole("textbox", { name: "Your new key" }).waitFor();
    const { body } = await viewer.get("/keys").expect(200);
    expect(body.keys).toHaveLength(1);
  });
});

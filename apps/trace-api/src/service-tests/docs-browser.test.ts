import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { chromiumFlags, describeWithChromium } from "@waymark/testing";
import { type Browser, chromium } from "playwright-core";
import { useApp } from "../app.fixture.js";

const test = useApp();

describeWithChromium("/docs in a browser", (executablePath) => {
  let server: Server;
  let browser: Browser;
  beforeAll(async () => {
    server = test.app.listen(0, "127.0.0.1");
    [browser] = await Promise.all([
      chromium.launch({ executablePath, args: chromiumFlags }),
      once(server, "listening"),
    ]);
  });
  afterAll(async () => {
    await browser?.close();
    server?.closeAllConnections();
    server?.close();
  });

  it("sends a call with the reader's key, and nothing to another origin", async () => {
    const account = await test.makeAccount("pro");
    const page = await browser.newPage();
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const problems: string[] = [];
    page.on("console", (message) => void (message.type() === "error" && problems.push(message.text())));
    page.on("pageerror", (error) => void problems.push(error.message));
    await page.goto(`${origin}/docs`);
    await page.fill("#key", account.key);
    const send = async (operation: string) => {
      const form = page.locator(`h2#${operation} ~ details`).first();
      await form.locator("summary").click();
      await form.locator("button").click();
      const output = form.locator("output");
      for (let text = ""; ; text = (await output.textContent()) ?? "") {
        if (/^\d{3} [\s\S]*\}$/.test(text)) return text;
        await page.waitForTimeout(20);
      }
    };
    expect(await send("createTrace")).toMatch(/^201 Created\n\{\n {2}"trace_id": "/);
    expect(await send("listTraces")).toMatch(/^200 OK\n\{\n {2}"traces": \[\n/);
    expect(problems).toEqual([]);
    await page.evaluate(() => fetch("http://localhost:9/").catch(() => undefined));
    expect(problems.join()).toContain("Content Security Policy");
  });
});

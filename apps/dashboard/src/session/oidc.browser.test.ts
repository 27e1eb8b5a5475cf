import { once } from "node:events";
import { createServer } from "node:net";
import { afterAll, expect, it } from "@jest/globals";
import { describeWithChromium } from "@waymark/testing";
import { useBrowser } from "../browser.fixture.js";
import { openProvider } from "./provider.fixture.js";

const provider = await openProvider();
const probe = createServer().listen(0, "127.0.0.1");
await once(probe, "listening");
const { port } = probe.address() as { port: number };
await new Promise((resolve) => probe.close(resolve));

describeWithChromium("the sign-in by OpenID Connect in a browser", (executablePath) => {
  const env = { ...provider.env, DASHBOARD_URL: `http://127.0.0.1:${port}` };
  const browser = useBrowser(executablePath, { env, otherOrigin: provider.issuer });
  afterAll(() => provider.close());

  it("leads to the provider and back to the asked page, by the keyboard", async () => {
    provider.person = { sub: "one", email: "grace@example.com", email_verified: true, name: "山田花子" };
    const page = await browser.page(undefined, { width: 1280 });
    await page.goto("/dashboard/settings");
    await page.getByRole("button", { name: `Sign in with ${new URL(provider.issuer).host}` }).press("Enter");
    await page.getByRole("heading", { level: 1, name: "Settings" }).waitFor();
    expect(await page.getByRole("textbox", { name: "Name", exact: true }).inputValue()).toBe("山田花子");
    expect(await page.context().cookies()).toMatchObject([{ name: "waymark", httpOnly: true, sameSite: "Lax" }]);
  });

  it.each([
    [390, "dark"],
    [1280, "light"],
  ] as const)("says why it ended, %p px wide, %s", async (width, theme) => {
    provider.person = { sub: "two", email: "ada@example.com", email_verified: false };
    const page = await browser.page(undefined, { width, theme });
    await page.goto("/dashboard/sign-in");
    await page.getByRole("button", { name: "Sign in with 127" }).press("Enter");
    await page.getByRole("alert").getByText("has not proven your address").waitFor();
    expect(await browser.findings(page)).toEqual([]);
    const size = await page.evaluate("[document.documentElement.scrollWidth, innerWidth]");
    expect(size).toEqual([width, width]);
    await page.getByRole("textbox", { name: "Email" }).fill("ada@example.com");
    await page.getByRole("textbox", { name: "Password" }).fill("wrong password");
    await page.keyboard.press("Enter");
    await page.getByText("Email or password is wrong.").waitFor();
  });
});

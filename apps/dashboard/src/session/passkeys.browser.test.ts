import { once } from "node:events";
import { createServer } from "node:net";
import { expect, it } from "@jest/globals";
import { describeWithChromium } from "@waymark/testing";
import { useBrowser } from "../browser.fixture.js";

/** Passkeys know one origin, with its port, before the dashboard starts. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address ? address.port : 0;
}
const port = await freePort();

describeWithChromium("passkeys in a browser", (executablePath) => {
  const browser = useBrowser(executablePath, { env: { DASHBOARD_URL: `http://localhost:${port}` } });
  const { dashboard } = browser;

  it("are added, sign in, and are removed, by the keyboard", async () => {
    const person = await dashboard.signIn(await dashboard.makeAccount());
    const page = await browser.page(person, { width: 390, theme: "dark" });
    const session = await page.context().newCDPSession(page);
    await session.send("WebAuthn.enable");
    const device = { protocol: "ctap2", transport: "internal", automaticPresenceSimulation: true } as const;
    const options = { ...device, hasResidentKey: true, hasUserVerification: true, isUserVerified: true };
    const { authenticatorId } = await session.send("WebAuthn.addVirtualAuthenticator", { options });

    await page.goto("/dashboard/settings");
    await page.getByRole("button", { name: "Add passkey" }).press("Enter");
    await page.keyboard.type("携帯電話 of somebody with a long name");
    await page.keyboard.press("Enter");
    const row = page.getByRole("row").filter({ hasText: "携帯電話" });
    await row.waitFor();
    await page.evaluate("Promise.all(document.getAnimations().map(({ finished }) => finished))");
    expect(await browser.findings(page)).toEqual([]);

    await page.context().clearCookies();
    await page.goto("/dashboard/sign-in?next=/dashboard/settings");
    expect(await browser.findings(page)).toEqual([]);
    await page.getByRole("button", { name: "Sign in with a passkey" }).press("Enter");
    await row.waitFor();
    await row.getByRole("button", { name: "Remove" }).press("Enter");
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).press("Enter");
    await row.waitFor({ state: "detached" });

    await session.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: false });
    await page.context().clearCookies();
    await page.goto("/dashboard/sign-in");
    await page.getByRole("button", { name: "Sign in with a passkey" }).press("Enter");
    await page.getByText("No passkey was chosen. Try again.").waitFor();
  });
});

import { expect, it } from "@jest/globals";
import { createUuidV7 } from "@waymark/database";
import { describeWithChromium } from "@waymark/testing";
import { useBrowser } from "../browser.fixture.js";
import { insertTrace } from "../traces/traces.fixture.js";

describeWithChromium("the alerts in a browser", (executablePath) => {
  const browser = useBrowser(executablePath);
  const { dashboard } = browser;
  const uuid = createUuidV7();

  async function makeAlerts() {
    const accountId = await dashboard.makeAccount();
    const traceId = await insertTrace(dashboard.pool, accountId, { name: "refund", status: "error" });
    const columns = [
      ["failed_at, last_error, attempts", "now(), 'The address does not exist', 20"],
      ["held_until", "now() + interval '1 hour'"],
      ["sent_at", "now()"],
      ["due_at", "now()"],
    ];
    for (const [names, values] of columns) {
      await dashboard.pool.query(
        `INSERT INTO alert (account_id, id, trace_id, status, ${names}) VALUES ($1, $2, $3, 'error', ${values})`,
        [accountId, uuid(), traceId],
      );
    }
    return { traceId, member: await dashboard.signIn(accountId, "member") };
  }

  it("says why a mail did not go out, sends it again, and leads to the trace", async () => {
    const { traceId, member } = await makeAlerts();
    const page = await browser.page(member);
    await page.goto("/dashboard/alerts?state=failed");
    const row = page.getByRole("table", { name: "Alerts" }).getByRole("row", { name: /refund/ });
    await row.getByText("The address does not exist").waitFor();
    await row.getByRole("button", { name: "Send again" }).press("Enter");
    await page.getByRole("heading", { name: "No failed alerts" }).waitFor();
    await page.getByRole("button", { name: "Pending" }).click();
    await page.getByText("Goes out soon").first().waitFor();
    expect(await row.count()).toBe(2);
    expect(await page.getByRole("button", { name: "Send again" }).count()).toBe(0);
    await row.first().getByRole("link", { name: "refund" }).click();
    await page.waitForURL(`**/dashboard/traces/${traceId}`);
  });
});

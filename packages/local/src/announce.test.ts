import { describe, expect, it } from "@jest/globals";
import { useDatabase } from "@waymark/testing";
import { findEntry } from "./announce.js";
import type { DemoAccounts } from "./demo/demo-accounts.js";

const database = useDatabase();
const dashboardUrl = "http://127.0.0.1:4000";
const find = (options: { accounts?: DemoAccounts; isDashboardLocal?: boolean; isSignUpOpen?: boolean } = {}) =>
  findEntry({
    databaseUrl: database.url,
    dashboardUrl,
    accounts: undefined,
    isDashboardLocal: true,
    isSignUpOpen: true,
    now: new Date(),
    ...options,
  });

describe("the first page", () => {
  it("without people is sign-up, where that is open", async () => {
    expect(await find()).toEqual({ url: `${dashboardUrl}/dashboard/sign-up`, note: "make an account" });
    const closed = await find({ isSignUpOpen: false });
    expect(closed).toEqual({ url: `${dashboardUrl}/dashboard`, note: "`waymark sign-in-link` lets you in" });
  });

  it("with the demo is a link that signs in, for a dashboard that only this machine reaches", async () => {
    const id = "00000000-0000-7000-8000-000000000001";
    const email = "demo@localhost";
    await database.pool.query("INSERT INTO account (id, email, plan) VALUES ($1, $2, 'pro')", [id, email]);
    const account = { id, email, keys: { trace: "", analytics: "" }, site: { id, domain: "example.com" } };
    const accounts = { free: account, pro: account };
    const { url, note } = await find({ accounts });
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:4000\/dashboard\/link\/[\w-]{43}$/);
    expect(note).toBe("signs you in as the demo");
    const { rows } = await database.pool.query("SELECT name FROM account");
    expect(rows).toEqual([{ name: "Demo" }]);
    expect((await find({ accounts, isDashboardLocal: false })).url).toBe(`${dashboardUrl}/dashboard`);
  });

  it("with people is the dashboard: they have an account", async () => {
    expect((await find()).url).toBe(`${dashboardUrl}/dashboard`);
  });
});

import { describe, expect, it } from "@jest/globals";
import { useDashboard } from "../dashboard.fixture.js";

const dashboard = useDashboard({ env: { CELL_SLOTS: "e0-e1", COLLECTOR_URL: "https://{slot}.collect.example.com" } });
const password = "correct horse battery";

const cookieOf = (headers: Record<string, unknown>) => String(headers["set-cookie"]).split(";")[0] ?? "";

describe("a cell's dashboard", () => {
  it("puts new accounts into its slots, with the slot in cookies, keys and the address of snippets", async () => {
    const browser = dashboard.anonymous();
    const asked = await browser.post("/sign-up", { name: "Ada", email: "ada@example.com", password }).expect(202);
    const [mail] = await dashboard.takeMails();
    const token = /\/dashboard\/link\/([\w-]+)/.exec(mail?.text ?? "")?.[1];
    const used = await browser.post("/link", { token }).set("Cookie", cookieOf(asked.headers)).expect(200);
    const cookie = cookieOf(used.headers);
    const slot = /^waymark=(e[01])\.[\w-]{43}$/.exec(cookie)?.[1] ?? "";
    const me = await browser.get("/me").set("Cookie", cookie).expect(200);
    expect(me.body.collectorUrl).toBe(`https://${slot}.collect.example.com`);
    const made = await browser.post("/keys", { service: "trace", name: "k" }).set("Cookie", cookie).expect(201);
    expect(made.body.key).toMatch(new RegExp(`^wmk_trace_${slot}_`));
    const entered = await browser.post("/sign-in", { email: "ada@example.com", password }).expect(200);
    expect(cookieOf(entered.headers)).toContain(`waymark=${slot}.`);
  });

  it("answers 401 to a session of another cell", async () => {
    const accountId = await dashboard.makeAccount();
    await dashboard.pool.query("UPDATE account SET slot = '0f' WHERE id = $1", [accountId]);
    const { get, cookie } = await dashboard.signIn(accountId);
    expect(cookie).toMatch(/^waymark=0f\./);
    await get("/me").expect(401);
  });
});

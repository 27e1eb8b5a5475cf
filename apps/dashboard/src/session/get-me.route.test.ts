import { describe, expect, it } from "@jest/globals";
import { useDashboard } from "../dashboard.fixture.js";

const dashboard = useDashboard();

describe("GET /me", () => {
  describe("200", () => {
    it("names the person, the account, the role and all accounts of the person", async () => {
      const accountId = await dashboard.makeAccount("free");
      const owner = await dashboard.signIn(accountId);
      const { body } = await owner.get("/me").expect(200);
      expect(body).toMatchObject({
        person: { id: owner.personId, email: owner.email, name: "A owner", hasPassword: false },
        account: { id: accountId, email: "account-1@example.com", name: "account-1@example.com", plan: "free" },
        accounts: [{ id: accountId, name: "account-1@example.com", role: "owner" }],
        role: "owner",
        isOperator: false,
      });
    });
  });

  describe("401", () => {
    it("refuses a request without a session, with an unknown and with a malformed one", async () => {
      await dashboard.anonymous().get("/me").expect(401);
      for (const token of ["x", "A".repeat(43)]) {
        const answer = await dashboard.anonymous().get("/me").set("Cookie", `waymark=${token}`).expect(401);
        expect(answer.body).toEqual({ error: "Sign in first" });
      }
    });

    it("refuses a session that was deleted, or whose membership was, at both instances", async () => {
      const accountId = await dashboard.makeAccount();
      for (const sql of ["DELETE FROM session WHERE person_id = $1", "DELETE FROM membership WHERE person_id = $1"]) {
        const member = await dashboard.signIn(accountId, "member");
        const atBoth = () =>
          Promise.all(
            [dashboard.app, dashboard.secondApp].map(async (app) => {
              const answer = await dashboard.anonymous(app).get("/me").set("Cookie", member.cookie);
              return answer.status;
            }),
          );
        expect(await atBoth()).toEqual([200, 200]);
        await dashboard.pool.query(sql, [member.personId]);
        for (let statuses: number[] = []; statuses.join() !== "401,401"; ) statuses = await atBoth();
      }
    });

    it("ends a session after 14 idle days, and any session after 90", async () => {
      const accountId = await dashboard.makeAccount();
      const days = (count: number) => new Date(Date.now() + count * 86_400_000);
      const idle = await dashboard.signIn(accountId);
      const busy = await dashboard.signIn(accountId);
      for (let day = 10; day < 90; day += 10) {
        dashboard.setNow(days(day));
        await busy.get("/me").expect(200);
      }
      await idle.get("/me").expect(401);
      dashboard.setNow(days(90.1));
      await busy.get("/me").expect(401);
      dashboard.setNow(new Date());
    });
  });
});

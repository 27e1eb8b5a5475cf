import { describe, expect, it } from "@jest/globals";
import { createUuidV7 } from "@waymark/database";
import { useDashboard } from "../dashboard.fixture.js";

const dashboard = useDashboard();
const uuid = createUuidV7();

async function makeAlert(accountId: string, columns: Record<string, string>): Promise<void> {
  const names = Object.keys(columns).map((name) => `, ${name}`);
  const values = Object.values(columns).map((value) => `, ${value}`);
  const insert = `INSERT INTO alert (account_id, id, trace_id, status${names.join("")})
    VALUES ($1, $2, $2, 'error'${values.join("")})`;
  await dashboard.pool.query(insert, [accountId, uuid()]);
}

const late = "now() - interval '11 minutes'";

describe("GET /alerts/unsent", () => {
  it("counts the account's failed and late mails alone", async () => {
    const accountId = await dashboard.makeAccount();
    const member = await dashboard.signIn(accountId, "member");
    const count = async () => (await member.get("/alerts/unsent").expect(200)).body.count;
    await makeAlert(accountId, { created_at: "now() - interval '9 minutes'" });
    await makeAlert(accountId, { created_at: late, sent_at: "now()" });
    await makeAlert(accountId, { created_at: late, held_until: "now()" });
    await makeAlert(await dashboard.makeAccount(), { failed_at: "now()" });
    expect(await count()).toBe(0);
    await makeAlert(accountId, { failed_at: "now()", held_until: "now()" });
    await makeAlert(accountId, { created_at: late });
    expect(await count()).toBe(2);
  });

  it("reads a bounded part of many", async () => {
    const accountId = await dashboard.makeAccount();
    await dashboard.pool.query(
      `INSERT INTO alert (account_id, id, trace_id, status, failed_at)
       SELECT $1, gen_random_uuid(), gen_random_uuid(), 'error', now() FROM generate_series(1, 1100)`,
      [accountId],
    );
    const answer = await (await dashboard.signIn(accountId)).get("/alerts/unsent").expect(200);
    expect(answer.body).toEqual({ count: 1_000 });
  });
});

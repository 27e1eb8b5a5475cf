import { describe, expect, it } from "@jest/globals";
import { createUuidV7 } from "@waymark/database";
import { plans } from "@waymark/plan";
import { useDatabase } from "@waymark/testing";
import { canAlert, insertAlertsSql, plansWithAlerts, returnAlertIdSql, setAlertIdSql } from "./alert-rule.js";

const uuid = createUuidV7();

describe("the plan and status of an alert", () => {
  it.each([
    ["pro", "error", true],
    ["pro", "timeout", true],
    ["pro", "success", false],
    ["pro", "running", false],
    ["pro", undefined, false],
    ["free", "error", false],
    ["free", "timeout", false],
  ] as const)("on %s, a change to %s: %s", (plan, status, expected) => {
    expect(canAlert(plans[plan], status)).toBe(expected);
  });

  it("are those of Pro alone", () => expect(plansWithAlerts).toEqual(["pro"]));
});

describe("the alerts of status changes", () => {
  const { pool } = useDatabase();
  const sql = `
    WITH c AS (SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[]) AS c (account_id, id, status, alert_id)),
    changed AS (
      UPDATE trace t SET status = COALESCE(c.status, t.status), ${setAlertIdSql} FROM c
      WHERE t.account_id = c.account_id AND t.id = c.id RETURNING ${returnAlertIdSql}
    ), ${insertAlertsSql("changed")}
    SELECT id FROM new_alerts`;

  async function makeTrace() {
    const trace = { accountId: uuid(), id: uuid() };
    await pool.query(
      "INSERT INTO trace (account_id, id, agent_id, name, status, started_at) VALUES ($1, $2, 'a', 'n', 'running', now())",
      [trace.accountId, trace.id],
    );
    return trace;
  }
  type Trace = Awaited<ReturnType<typeof makeTrace>>;

  async function countNewAlerts(traces: readonly Trace[], status: string | null): Promise<number> {
    const { rows } = await pool.query(sql, [
      traces.map(({ accountId }) => accountId),
      traces.map(({ id }) => id),
      traces.map(() => status),
      traces.map(() => (canAlert(plans.pro, status ?? undefined) ? uuid() : null)),
    ]);
    return rows.length;
  }
  async function failuresOf({ id }: Trace): Promise<number[]> {
    const { rows } = await pool.query("SELECT failures FROM alert WHERE trace_id = $1 ORDER BY id", [id]);
    return rows.map(({ failures }) => failures);
  }

  it("come once for a status, until another one is set in between", async () => {
    const trace = await makeTrace();
    const added: number[] = [];
    for (const status of ["error", "error", null, "timeout", "success", "error", "running", "error"]) {
      added.push(await countNewAlerts([trace], status));
    }
    expect(added).toEqual([1, 0, 0, 1, 0, 1, 0, 1]);
  });

  it("come for each trace of a statement", async () => {
    const traces = [await makeTrace(), await makeTrace(), await makeTrace()];
    expect(await countNewAlerts(traces, "timeout")).toBe(3);
    for (const trace of traces) expect(await failuresOf(trace)).toEqual([1]);
  });

  it("are ten pending ones of a trace at most; the newest counts further failures", async () => {
    const [trace, other] = [await makeTrace(), await makeTrace()];
    for (let i = 0; i < 9; i++) await countNewAlerts([trace], i % 2 ? "timeout" : "error");
    expect(await countNewAlerts([trace, other], "timeout")).toBe(2);
    expect(await countNewAlerts([trace, other], "error")).toBe(1);
    expect(await failuresOf(trace)).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 1, 2]);
    await pool.query(
      "UPDATE alert SET sent_at = now() WHERE id = (SELECT min(id::text)::uuid FROM alert WHERE trace_id = $1)",
      [trace.id],
    );
    expect(await countNewAlerts([trace], "timeout")).toBe(1);
  });
});

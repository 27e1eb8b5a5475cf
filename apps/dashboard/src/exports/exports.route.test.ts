import { describe, expect, it } from "@jest/globals";
import { insertModelDay } from "../costs/model-days.fixture.js";
import { type SignedIn, useDashboard } from "../dashboard.fixture.js";
import { insertTrace } from "../traces/traces.fixture.js";

const dashboard = useDashboard();
const { pool } = dashboard;
const names = ["failures", "sessions", "users", "agents", "costs", "alerts"];

async function exportRows(person: SignedIn, name: string, query = "") {
  const { text } = await person.get(`/exports/${name}?format=ndjson${query}`).expect(200);
  const lines = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  return { rows: lines.slice(0, -1), end: lines.at(-1) };
}

/** Two failed traces and one that succeeded, each of its own session, user and agent. */
async function open() {
  const accountId = await dashboard.makeAccount();
  for (const [n, status] of (["error", "timeout", "success"] as const).entries()) {
    const labels = { session: `chat ${n}`, user: `=user ${n}`, agent: `agent ${n}` };
    const failed = status !== "success" && { error: `refused ${"x".repeat(n + 1)}`, isMailed: true };
    await insertTrace(pool, accountId, { status, ...labels, ...failed, ago: 60 * n });
  }
  await insertModelDay(pool, accountId);
  return { accountId, person: await dashboard.signIn(accountId, "viewer") };
}

describe("GET /exports/:list", () => {
  it("200: has the rows and order of each list, and their number last", async () => {
    const { person } = await open();
    const failures = await exportRows(person, "failures");
    const { body } = await person.get("/failures").expect(200);
    expect(failures).toEqual({ rows: body.failures, end: { rows: 2 } });
    const sessions = await exportRows(person, "sessions");
    expect(sessions).toEqual({ rows: (await person.get("/sessions").expect(200)).body.sessions, end: { rows: 3 } });
    const users = await exportRows(person, "users");
    expect(users).toEqual({ rows: (await person.get("/users").expect(200)).body.users, end: { rows: 3 } });
    const agents = await exportRows(person, "agents");
    expect(agents.rows).toMatchObject([
      { id: "agent 0", error: 1, success: 0, failure_rate: 1 },
      { id: "agent 1", timeout: 1, failure_rate: 1 },
      { id: "agent 2", success: 1, failure_rate: 0 },
    ]);
    expect(agents.end).toEqual({ rows: 3 });
    const costs = await exportRows(person, "costs");
    expect(costs).toEqual({ rows: (await person.get("/costs").expect(200)).body.series, end: { rows: 1 } });
    const alerts = await exportRows(person, "alerts");
    const { body: page } = await person.get("/alerts").expect(200);
    expect(alerts.rows.map(({ id, sent_at }) => [id, sent_at])).toEqual(
      page.alerts.map(({ id, sentAt }: { id: string; sentAt: string }) => [id, sentAt]),
    );
    expect(alerts.end).toEqual({ rows: 2 });
  });

  it("200: is whole over several pages", async () => {
    const accountId = await dashboard.makeAccount();
    await pool.query(
      `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, ended_at, session_id, user_id)
       SELECT $1, gen_random_uuid(), 'a ' || n, 'n', 'success', at, at, 's ' || n, 'u ' || n
       FROM generate_series(1, 450) n, LATERAL (SELECT now() - n * interval '1 s' AS at) moment`,
      [accountId],
    );
    await pool.query("INSERT INTO agent (account_id, id) SELECT $1, 'a ' || n FROM generate_series(1, 450) n", [
      accountId,
    ]);
    await pool.query(
      `INSERT INTO alert (account_id, id, trace_id, status, sent_at)
       SELECT account_id, gen_random_uuid(), id, 'error', now() FROM trace WHERE account_id = $1`,
      [accountId],
    );
    const person = await dashboard.signIn(accountId);
    for (const name of ["sessions", "users", "agents", "alerts"]) {
      const { rows, end } = await exportRows(person, name);
      expect([name, new Set(rows.map(({ id }) => id)).size, end]).toEqual([name, 450, { rows: 450 }]);
    }
  });

  it("200: follows the filters of its page", async () => {
    const { person } = await open();
    for (const [name, query, count] of [
      ["failures", "&agent_id=agent%201", 1],
      ["failures", "&state=resolved", 0],
      ["sessions", "&user_id=%3Duser%202", 1],
      ["users", "&agent_id=agent%200", 1],
      ["costs", "&agent_id=nobody", 0],
      ["alerts", "&state=failed", 0],
      ["alerts", "&state=sent", 2],
    ] as const)
      expect([name, query, (await exportRows(person, name, query)).end]).toEqual([name, query, { rows: count }]);
  });

  it("200: writes CSV with a head, the count as last row, times as text and no formulas", async () => {
    const { person } = await open();
    for (const name of names) {
      const { rows } = await exportRows(person, name);
      const answer = await person.get(`/exports/${name}?format=csv`).expect(200);
      expect(answer.headers["content-disposition"]).toMatch(new RegExp(`filename="${name}-\\d{4}-\\d\\d-\\d\\d.csv"`));
      const lines = answer.text.split("\r\n");
      const head = (lines[0] ?? "").split(",").map((text) => text.replaceAll('"', ""));
      expect([name, head.toSorted()]).toEqual([name, Object.keys(rows[0]).toSorted()]);
      expect(lines.at(-2)).toMatch(new RegExp(`^"rows: ${rows.length}",*$`));
    }
    const { text } = await person.get("/exports/users?format=csv").expect(200);
    expect(text).toContain(`"'=user 0"`);
    expect((await person.get("/exports/alerts?format=csv").expect(200)).text).toMatch(/"\d{4}-\d\d-\d\dT/);
  });

  it("200: has nothing of another account", async () => {
    await open();
    const other = await dashboard.signIn(await dashboard.makeAccount());
    for (const name of names) expect(await exportRows(other, name)).toEqual({ rows: [], end: { rows: 0 } });
  });

  it("400: names a wrong parameter", async () => {
    const { person } = await open();
    for (const [name, query, field] of [
      ["users", "", "format"],
      ["costs", "?format=xml", "format"],
      ["failures", "?format=csv&from=x", "from"],
      ["sessions", "?format=csv&cursor=x", "cursor"],
      ["alerts", "?format=csv&state=x", "state"],
    ])
      expect(Object.keys((await person.get(`/exports/${name}${query}`).expect(400)).body.fields)).toEqual([field]);
  });
});

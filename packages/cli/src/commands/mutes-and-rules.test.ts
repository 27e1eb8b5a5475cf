import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { useDatabase } from "@waymark/testing";
import { createCommandLine } from "../command-line.fixture.js";

const database = useDatabase();
const { run, json } = createCommandLine({ DATABASE_URL: database.url });

interface Listed {
  id: string;
  agent_id: string;
  count: number;
  muted_until: string | null;
}

async function newAccount(plan = "pro") {
  const email = `${randomUUID()}@example.com`;
  return json<{ id: string; email: string }>("account", "create", "--email", email, "--plan", plan);
}

async function addFailures(accountId: string, ...agents: string[]) {
  for (const agent of agents) {
    await database.pool.query(
      `INSERT INTO trace (account_id, id, agent_id, name, status, started_at)
       VALUES ($1, gen_random_uuid(), $2, 'n', 'error', now() - interval '1 hour')`,
      [accountId, agent],
    );
  }
}

const failures = async (account: string, ...more: string[]) =>
  (await json<{ failures: Listed[] }>("failures", "--account", account, ...more)).failures;

describe("failures --account", () => {
  it("lists what went wrong, most frequent first", async () => {
    const { id, email } = await newAccount();
    await addFailures(id, "a", "b", "b");
    expect(await failures(email)).toMatchObject([
      { agent_id: "b", count: 2 },
      { agent_id: "a", count: 1 },
    ]);
    expect(await failures(email, "--agent", "a")).toMatchObject([{ agent_id: "a" }]);
    expect(await failures(email, "--from", "30m")).toEqual([]);
    expect((await run(["failures", "--account", email])).stdout).toMatch(/^COUNT +AGENT ID .*\n2 +b /);
  });
});

describe("mute", () => {
  it("silences a failure until a time or for good, and ends", async () => {
    const { id, email } = await newAccount();
    await addFailures(id, "a");
    const [failure] = await failures(email);
    const group = failure?.id ?? "";
    const muted = await json<Listed & { until: string }>(
      "mute",
      "create",
      "--account",
      email,
      "--group",
      group,
      "--until",
      "12h",
    );
    expect(muted).toMatchObject({ id: group, agent_id: "a", state: "active", muted: 0 });
    expect(Date.parse(muted.until) - Date.now()).toBeGreaterThan(11 * 3_600_000);
    expect(await failures(email)).toMatchObject([{ muted_until: muted.until }]);
    expect(await json("mute", "create", "--account", email, "--group", group)).toMatchObject({ until: null });
    expect(await failures(email)).toMatchObject([{ muted_until: "9999-12-31T23:59:59.999Z" }]);
    expect(await json("mute", "list", "--account", email)).toMatchObject([{ id: group, until: null }]);
    // From now on the worker routes the account's alerts, so that the mute can take them.
    const { rowCount } = await database.pool.query("SELECT FROM alert_settings WHERE account_id = $1", [id]);
    expect(rowCount).toBe(1);
    expect(await json("mute", "delete", group)).toEqual({ id: group, muted: 0 });
    expect(await failures(email)).toMatchObject([{ muted_until: null }]);
    expect(await json("mute", "list", "--account", email)).toEqual([]);
  });

  it("is refused for another account's failure, an unknown one, and a past time", async () => {
    const [own, other] = [await newAccount(), await newAccount()];
    await addFailures(other.id, "a");
    const [failure] = await failures(other.email);
    for (const group of [failure?.id ?? "", randomUUID(), "none"]) {
      const refused = await run(["mute", "create", "--account", own.email, "--group", group]);
      expect(refused).toMatchObject({ code: 1, stderr: "Failure not found. 'waymark failures' shows them.\n" });
    }
    const create = ["mute", "create", "--account", other.email, "--group", failure?.id ?? ""];
    const past = await run([...create, "--until", "2020-01-01"]);
    expect(past).toMatchObject({ code: 1, stderr: "until: Must be a time to come.\n" });
    await run(create);
    expect(await run(["mute", "delete", failure?.id ?? "", "--account", own.email])).toMatchObject({ code: 1 });
    expect(await json("mute", "list", "--account", other.email)).toHaveLength(1);
  });
});

describe("rule", () => {
  const create = (account: string, above: string, of: string, within: string) => [
    ...["rule", "create", "--account", account, "--agent", "billing-agent"],
    ...["--above", above, "--of", of, "--within", within],
  ];

  it("is created, listed and deleted", async () => {
    const { email } = await newAccount();
    const rule = await json<Listed>(...create(email, "20%", "20", "15m"));
    expect(rule).toEqual({
      id: expect.any(String),
      agent_id: "billing-agent",
      user_id: null,
      environment: null,
      above_percent: 20,
      of: 20,
      within_seconds: 900,
      cost_per: null,
      above_cost: null,
      p95_above_ms: null,
      tokens_above: null,
      state: "quiet",
      changed_at: null,
      created_at: expect.any(String),
    });
    expect(await json("rule", "list", "--account", email)).toEqual([rule]);
    expect((await run(["rule", "list", "--account", email])).stdout).toMatch(/ 20% +20 +900s +quiet +-$/m);
    const other = await newAccount();
    expect(await run(["rule", "delete", rule.id, "--account", other.email])).toMatchObject({ code: 1 });
    expect(await json("rule", "delete", rule.id)).toEqual({ id: rule.id, agent_id: "billing-agent" });
    expect(await json("rule", "list", "--account", email)).toEqual([]);
  });

  it("about cost or durations is created for an agent or the account, and listed", async () => {
    const { email } = await newAccount();
    const about = (...more: string[]) => run(["rule", "create", "--account", email, ...more]);
    const rule = await json<Listed>("rule", "create", "--account", email, "--cost-per", "day", "--above", "5.00");
    expect(rule).toMatchObject({ agent_id: null, above_percent: null, of: null, cost_per: "day", above_cost: "5" });
    expect(await about("--agent", "a", "--cost-per", "month", "--above", "0.5")).toMatchObject({ code: 0 });
    expect((await run(["rule", "list", "--account", email])).stdout).toMatch(/ \$5 a day +.+\n.+ \$0.5 a month /);
    expect(await about("--p95-above", "30s", "--within", "15m")).toMatchObject({ code: 0 });
    expect((await run(["rule", "list", "--account", email])).stdout).toMatch(/ p95 30s +- +900s /);
    expect(await about("--p95-above", "30s", "--within", "2h")).toMatchObject({
      code: 1,
      stderr: "within: Must be from 1m to 1h.\n",
    });
    expect(await about("--p95-above", "30s")).toMatchObject({ code: 2 });
    expect(await about("--user", "ann", "--trace-cost-above", "1")).toMatchObject({ code: 0 });
    expect(await about("--environment", "production", "--tokens-above", "1000", "--within", "5m")).toMatchObject({
      code: 0,
    });
    const { stdout } = await run(["rule", "list", "--account", email]);
    expect(stdout).toMatch(
      / user ann +\$1 a trace +- +- .+\n.+ environment production +1000 tokens a minute +- +300s /,
    );
    expect(await about("--agent", "a", "--user", "ann", "--trace-cost-above", "1")).toMatchObject({
      code: 1,
      stderr: "user: Must not be given with another one of agent, user and environment.\n",
    });
    expect(await about("--cost-per", "day", "--above", "20%")).toMatchObject({
      code: 1,
      stderr: "above: Must be dollars, such as 5.00.\n",
    });
    expect(await about("--trace-cost-above", "1", "--within", "5m")).toMatchObject({ code: 2 });
    for (const wrong of [
      ["--cost-per", "day", "--p95-above", "30s"],
      ["--of", "5", "--cost-per", "day"],
      ["--agent", "a", "--of", "5"],
      ["--cost-per", "week"],
    ])
      expect(await about(...wrong, "--above", "5")).toMatchObject({ code: 2 });
  });

  it.each([
    ["20", "0", "15m", 2, "It must be a whole number from 1 to 10000."],
    ["100%", "20", "15m", 1, "above: Must be from 0% to under 100%."],
    ["a lot", "20", "15m", 2, "It must be a share such as 20%."],
    ["20%", "20", "30s", 1, "within: Must be from 1m to 24h."],
    ["20%", "20", "25h", 1, "within: Must be from 1m to 24h."],
  ])("above %s of %s within %s is refused", async (above, of, within, code, sentence) => {
    const { email } = await newAccount();
    const refused = await run(create(email, above, of, within));
    expect({ code: refused.code, stderr: refused.stderr }).toEqual({ code, stderr: expect.stringContaining(sentence) });
  });

  it("needs the Pro plan, and is one of 50", async () => {
    const free = await newAccount("free");
    expect((await run(create(free.email, "20%", "20", "15m"))).stderr).toBe("Rules need the Pro plan.\n");
    const { id, email } = await newAccount();
    await database.pool.query(
      `INSERT INTO alert_rule (account_id, id, agent_id, above_percent, of_traces, within_seconds)
       SELECT $1, gen_random_uuid(), 'a', 20, 20, 900 FROM generate_series(1, 49)`,
      [id],
    );
    await json(...create(email, "20%", "20", "15m"));
    expect((await run(create(email, "20%", "20", "15m"))).stderr).toBe("An account has at most 50 rules.\n");
  });
});

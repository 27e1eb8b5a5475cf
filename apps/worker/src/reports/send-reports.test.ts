import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type ReportPeriod, readOwnReport, setOwnReport, stopReport } from "@waymark/alerts";
import { byRole, createPool, createUuidV7, grantRoles, roleUrl } from "@waymark/database";
import { useDatabase, useRolePrefix } from "@waymark/testing";
import { openOwnMails, passPauses } from "../alerts/own-mails.fixture.js";
import { createTestLog } from "../worker.fixture.js";
import { createSendReports } from "./send-reports.job.js";

const database = useDatabase();
const prefix = useRolePrefix();
const passwords = byRole((role) => `password of ${role}`.replaceAll(" ", "-"));
const poolOf = (role: keyof typeof passwords) => {
  const limits = { maxConnections: 4, applicationName: "test", statementTimeoutMs: 0 };
  return createPool({ connectionString: roleUrl(database.url, role, passwords[role], prefix), ...limits });
};
const [pool, dashboardPool, workerPool] = [database.pool, poolOf("dashboard"), poolOf("worker")];
beforeAll(() => grantRoles(database.url, passwords, prefix));
afterAll(() => Promise.all([dashboardPool.end(), workerPool.end()]));
const uuid = createUuidV7();

/** A Wednesday, and the Monday after: the week of the 9th is over then. */
const wednesday = new Date("2026-03-11T12:00:00Z");
const monday = new Date("2026-03-16T00:05:00Z");
const nextMonday = new Date("2026-03-23T00:05:00Z");

async function makeMember({ plan = "pro", every = "week" as ReportPeriod | null, isOwn = false } = {}) {
  const [accountId, personId] = [uuid(), uuid()];
  const email = `${personId}@example.com`;
  const owner = isOwn ? email : `${accountId}@example.com`;
  await pool.query("INSERT INTO account (id, email, plan) VALUES ($1, $2, $3)", [accountId, owner, plan]);
  await pool.query("INSERT INTO person (id, email, name, is_verified) VALUES ($1, $2, '', true)", [personId, email]);
  const member = { accountId, personId, email };
  if (every !== null) await setOwnReport(dashboardPool, { ...member, every, now: wednesday });
  return member;
}

async function addTraces(accountId: string, startedAt: string, statuses: readonly string[], agent = "writer") {
  await pool.query(
    `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, ended_at)
     SELECT $1, gen_random_uuid(), $4, 'n', status, $2, $2 FROM unnest($3::text[]) AS status`,
    [accountId, startedAt, statuses, agent],
  );
}

async function addSite(
  accountId: string,
  domain: string,
  figures: readonly (readonly [string, string, string, number])[],
) {
  const siteId = uuid();
  await pool.query("INSERT INTO site (id, account_id, domain, name) VALUES ($1, $2, $3, $3)", [
    siteId,
    accountId,
    domain,
  ]);
  for (const [day, dimension, value, visitors] of figures) {
    const values = [siteId, dimension, day, value, visitors];
    await pool.query(
      "INSERT INTO daily_stat (site_id, dimension, day, value, visitors, pageviews) VALUES ($1, $2, $3, $4, $5, $5)",
      values,
    );
  }
}

/** Two workers make what is due at once; another delivers it. */
async function mailsAt(now: Date) {
  const { log, lines } = createTestLog();
  const job = () => createSendReports({ pool: workerPool, log, now: () => now, isStopping: () => false })();
  await Promise.all([job(), job()]);
  expect(lines.filter(({ level }) => level >= 40)).toEqual([]);
  const worker = openOwnMails(workerPool);
  await worker.round();
  return { to: (email: string) => worker.mails.filter(({ to }) => to === email) };
}

describe("reports", () => {
  it("of a week come once, with its figures beside those before, and what changed most", async () => {
    const { accountId, email } = await makeMember();
    await addTraces(accountId, "2026-03-15T23:59:59Z", ["success", "success", "error"]);
    await addTraces(accountId, "2026-03-09T00:00:00Z", ["timeout"], "reader");
    await addTraces(accountId, "2026-03-08T23:59:59Z", ["success", "error"]);
    await addTraces(accountId, "2026-03-16T00:00:00Z", ["error"]);
    await addSite(accountId, `${accountId}.example.com`, [
      ...["total", "page"].map(
        (dimension) => ["2026-03-10", dimension, dimension === "page" ? "/new" : "", 30] as const,
      ),
      ["2026-03-04", "total", "", 20],
      ["2026-03-04", "page", "/old", 20],
      ["2026-03-04", "source", "Example", 2],
      ["2026-03-10", "source", "Example", 2],
    ]);
    const [mail, ...more] = (await mailsAt(monday)).to(email);
    expect(more).toEqual([]);
    expect(mail?.subject).toBe("Your week: 30 visitors, 4 traces, 2 failed");
    const text = mail?.text ?? "";
    for (const line of [
      "2026-03-09 to 2026-03-15, days in UTC. In brackets: as many days before.",
      "Traces: 4 (2, +100 %)",
      "Failed traces: 2 (1, +100 %)",
      "Visitors: 30 (20, +50 %)",
      "Page /new: 30 (0)",
      "Page /old: 0 (20, −100 %)",
      "writer: 3 (2, +50 %), failed 1 (1, +0 %)",
      "1 trace, reader",
    ])
      expect(text).toContain(line);
    expect(text).not.toContain("Example");
    expect(text.indexOf("/new")).toBeLessThan(text.indexOf("/old"));
    expect((await mailsAt(monday)).to(email)).toEqual([]);
    expect((await mailsAt(nextMonday)).to(email)).toHaveLength(1);
  });

  it("tell of a month with much noise, unless only agents are kept", async () => {
    const told = { all: await makeMember(), agents: await makeMember(), quiet: await makeMember() };
    for (const [name, { accountId }] of Object.entries(told)) {
      await addTraces(accountId, "2026-03-10T00:00:00Z", ["success", "success"]);
      // The week before has it, and the month before.
      const noise = ["2026-02-28T23:59:59Z", ...(name === "quiet" ? [] : ["2026-03-02T00:00:00Z"])];
      for (const startedAt of noise)
        await pool.query(
          `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, ended_at, otel_trace_id)
           SELECT $1, gen_random_uuid(), 'web', 'GET /', 'success', $2, $2, uuid_send(gen_random_uuid())
           FROM generate_series(1, 2)`,
          [accountId, startedAt],
        );
    }
    await pool.query("UPDATE account SET keep = 'agents' WHERE id = $1", [told.agents.accountId]);
    const { to } = await mailsAt(monday);
    const textOf = ({ email }: { email: string }) => to(email)[0]?.text ?? "";
    expect(textOf(told.all)).toContain("50 % of your latest traces have no agent. The plan page can leave them out:");
    for (const member of [told.agents, told.quiet]) {
      expect(textOf(member)).toContain("Traces: 2");
      expect(textOf(member)).not.toContain("have no agent");
    }
  });

  it("of a month come on its first day, and none comes where nothing happened", async () => {
    const { accountId, email } = await makeMember({ every: "month" });
    const idle = await makeMember({ every: "month" });
    await addTraces(accountId, "2026-03-31T23:59:59Z", ["success"]);
    expect((await mailsAt(new Date("2026-03-31T23:59:59Z"))).to(email)).toEqual([]);
    const april = await mailsAt(new Date("2026-04-01T00:00:00Z"));
    expect(april.to(email)[0]?.subject).toBe("Your month: 1 trace, 0 failed");
    expect(april.to(idle.email)).toEqual([]);
  });

  it("wait for the end of the first period, and for a plan with alerts", async () => {
    const [member, free] = [await makeMember(), await makeMember()];
    for (const { accountId } of [member, free]) await addTraces(accountId, "2026-03-10T00:00:00Z", ["success"]);
    await pool.query("UPDATE account SET plan = 'free' WHERE id = $1", [free.accountId]);
    const sunday = await mailsAt(new Date("2026-03-15T23:59:59Z"));
    expect(sunday.to(member.email)).toEqual([]);
    const { to } = await mailsAt(monday);
    expect([to(member.email).length, to(free.email).length]).toEqual([1, 0]);
    await expect(setOwnReport(dashboardPool, { ...free, every: "week", now: monday })).rejects.toMatchObject({
      status: 400,
    });
  });

  it("come from the own channel of the account's address, which keeps its failures", async () => {
    const { accountId, personId, email } = await makeMember({ isOwn: true });
    await addTraces(accountId, "2026-03-10T00:00:00Z", ["success"]);
    const { rows } = await pool.query("SELECT id, statuses, report FROM channel WHERE account_id = $1", [accountId]);
    expect(rows).toEqual([{ id: accountId, statuses: [], report: "week" }]);
    expect((await mailsAt(monday)).to(email)).toHaveLength(1);
    await setOwnReport(dashboardPool, { accountId, personId, every: null, now: monday });
    expect((await pool.query("SELECT report FROM channel WHERE account_id = $1", [accountId])).rows).toEqual([
      { report: null },
    ]);
  });

  it("end by the token of the mail's List-Unsubscribe, with the channel that was made for them", async () => {
    const [member, other] = [await makeMember(), await makeMember()];
    await addTraces(member.accountId, "2026-03-10T00:00:00Z", ["success"]);
    const [mail] = (await mailsAt(monday)).to(member.email);
    expect(mail?.headers?.["List-Unsubscribe-Post"]).toBe("List-Unsubscribe=One-Click");
    const address = mail?.headers?.["List-Unsubscribe"] ?? "";
    const [, token = ""] = /^<https:\/\/waymark\.example\/dashboard\/api\/unsubscribe\/(.+)>$/.exec(address) ?? [];
    for (const body of [mail?.text, mail?.html]) expect(body).toContain(token);
    for (const wrong of ["", "x", `${token}x`, `${uuid()}.${token.split(".")[1]}`])
      await stopReport(dashboardPool, wrong);
    expect(await readOwnReport(dashboardPool, member)).toBe("week");
    await stopReport(dashboardPool, token);
    await stopReport(dashboardPool, token);
    expect(await readOwnReport(dashboardPool, member)).toBeNull();
    expect(await readOwnReport(dashboardPool, other)).toBe("week");
    const { rowCount } = await pool.query("SELECT FROM channel WHERE address = $1", [member.email]);
    expect(rowCount).toBe(0);
  });

  it("come once each through a mail service that fails", async () => {
    const { accountId, email } = await makeMember();
    await addTraces(accountId, "2026-03-10T00:00:00Z", ["success"]);
    const { log } = createTestLog();
    await createSendReports({ pool: workerPool, log, now: () => monday, isStopping: () => false })();
    const worker = openOwnMails(workerPool, { answers: [{ outcome: "deferred", reason: "busy" }] });
    await worker.round();
    await passPauses(workerPool);
    await worker.round();
    const keys = worker.mails.filter(({ to }) => to === email).map(({ idempotencyKey }) => idempotencyKey);
    expect([keys.length, new Set(keys).size]).toEqual([2, 1]);
  });
});

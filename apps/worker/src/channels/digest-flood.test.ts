import { afterEach, expect, it } from "@jest/globals";
import { changeAlertSettings } from "@waymark/alerts";
import { withTransaction } from "@waymark/database";
import { amount, databaseVariables, startResendStub, useDatabase } from "@waymark/testing";
import { loadConfig } from "../config.js";
import { startWorker } from "../start-worker.js";
import { createTestLog, makeFailedTrace, makeMoreAlerts, until } from "../worker.fixture.js";

const { pool, url } = useDatabase();
const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const agents = ["a", "b", "c", "d"];
const windowSeconds = 3_600;

const failures = amount(2_000, 10_000);

it(`${failures} failures make one mail per agent and window at most, and the mails report all of them`, async () => {
  const { accountId, alertId, email } = await makeFailedTrace(pool);
  await pool.query("UPDATE alert SET sent_at = now() WHERE id = $1", [alertId]);
  await withTransaction(pool, (client) => changeAlertSettings(client, accountId, { mode: "digest", windowSeconds }));
  const stub = await startResendStub();
  closers.push(() => stub.close());
  const config = loadConfig({
    ...databaseVariables("worker", url),
    WORKER_METRICS_PORT: "0",
    RESEND_API_KEY: "re_test",
    RESEND_BASE_URL: stub.baseUrl,
    ALERT_FROM: "alerts@example.com",
    DASHBOARD_URL: "https://waymark.example",
    ALERT_MAILS_PER_ACCOUNT_PER_HOUR: "100",
  });
  const worker = await startWorker({ ...config, sweepIntervalMs: 1_000 }, createTestLog().log);
  closers.push(() => worker.stop());

  const mails = () => stub.mails.filter(({ body }) => body.to === email);
  const reported = () =>
    mails().reduce((sum, { body }) => sum + Number(/^Failed traces: (\d+)$/m.exec(body.text)?.[1]), 0);
  const failAll = async (count: number) => {
    for (const agentId of agents) await makeMoreAlerts(pool, { accountId, count, agentId });
  };
  const areRouted = async () =>
    (await pool.query("SELECT FROM alert WHERE routed_at IS NULL AND sent_at IS NULL")).rowCount === 0;
  /** Waits for the mails of a window, and compares them with one for each agent. */
  const endWindow = async (windows: number) => {
    await until(async () => mails().length >= windows * agents.length && (await areRouted()));
    const subjects = mails().map(({ body }) => body.subject);
    expect(subjects.sort()).toEqual(agents.flatMap((agent) => Array.from({ length: windows }, () => agent)));
    const early = `SELECT FROM delivery WHERE is_collecting AND due_at < (
      SELECT max(begun_at) - interval '1 second' FROM delivery d WHERE d.agent_id = delivery.agent_id) + make_interval(secs => $1)`;
    expect((await pool.query(early, [windowSeconds])).rowCount).toBe(0);
  };
  // Moves the deliveries a window into the past.
  const passWindow = () =>
    pool.query(
      `UPDATE delivery SET due_at = due_at - make_interval(secs => $1), begun_at = begun_at - make_interval(secs => $1),
        created_at = created_at - make_interval(secs => $1)`,
      [windowSeconds],
    );

  await failAll(failures / 8);
  await endWindow(1);
  // Lets each agent's next digest be there for sure, also if the first one took all.
  await failAll(failures / 16);
  await until(areRouted);
  await endWindow(1);
  await passWindow();
  await endWindow(2);
  await failAll(failures / 16);
  await until(areRouted);
  await endWindow(2);
  await passWindow();
  await endWindow(3);
  expect(reported()).toBe(failures);
});

import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import {
  type ChannelInput,
  changeAlertSettings,
  confirmChannel,
  createChannel,
  deleteChannel,
  listDeliveries,
  testChannel,
} from "@waymark/alerts";
import { withTransaction } from "@waymark/database";
import { type Answer, built, databaseVariables, startReceiver, startResendStub, useDatabase } from "@waymark/testing";
import { Webhook } from "standardwebhooks";
import { loadConfig } from "../config.js";
import { startWorker } from "../start-worker.js";
import { createTestLog, makeFailedTrace, makeMoreAlerts, readAlert, until } from "../worker.fixture.js";

const database = useDatabase();
const { pool } = database;
const closers: (() => Promise<unknown>)[] = [];
let stub: Awaited<ReturnType<typeof startResendStub>>;
beforeEach(async () => {
  stub = await startResendStub();
  closers.push(() => stub.close());
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
  // A job mails the alert whose turn it is: one of an earlier test would take the turn of the next test's.
  for (const table of ["alert", "delivery"]) {
    await pool.query(`UPDATE ${table} SET sent_at = now() WHERE sent_at IS NULL AND failed_at IS NULL`);
  }
});

const settings = (env: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
  ...databaseVariables("worker", database.url),
  WORKER_METRICS_PORT: "0",
  RESEND_API_KEY: "re_test",
  RESEND_BASE_URL: stub.baseUrl,
  ALERT_FROM: "alerts@example.com",
  DASHBOARD_URL: "https://waymark.example",
  WEBHOOK_ALLOW_PRIVATE: "127.0.0.0/8,::1/128",
  ...env,
});

async function start(env?: NodeJS.ProcessEnv) {
  const { log, lines } = createTestLog();
  const worker = await startWorker({ ...loadConfig(settings(env)), sweepIntervalMs: 1_000 }, log);
  closers.push(() => worker.stop());
  return lines;
}

async function receive(...answers: Answer[]) {
  const receiver = await startReceiver(...answers);
  closers.push(receiver.close);
  return receiver;
}

/** An account with one failed trace of the past. */
async function makeAccount(): Promise<{ accountId: string; email: string }> {
  const trace = await makeFailedTrace(pool);
  await pool.query("UPDATE alert SET sent_at = now() WHERE id = $1", [trace.alertId]);
  return trace;
}

const addChannel = (accountId: string, to: string, more: Partial<ChannelInput> = {}) =>
  createChannel(pool, accountId, { kind: "webhook", to, ...more });
const fail = async (accountId: string, agentId?: string) => {
  const more = agentId === undefined ? {} : { agentId };
  const [alert] = await makeMoreAlerts(pool, { accountId, count: 1, ...more });
  if (!alert) throw new Error("no alert");
  return alert;
};
const deliveriesOf = (channelId: string) => listDeliveries(pool, { channelId, failed: false, limit: 100 });
const statesOf = async (channelId: string) => (await deliveriesOf(channelId)).map(({ state }) => state);
const isOver = async (channelId: string) => !(await statesOf(channelId)).includes("pending");
const makeDue = () => pool.query("UPDATE delivery SET due_at = now() WHERE begun_at IS NOT NULL");
const mailsTo = (email: string) => stub.mails.filter(({ body }) => body.to === email);

describe("a webhook", () => {
  it("gets a signed event of each failed trace, beside the account's own mail", async () => {
    const { accountId, email } = await makeAccount();
    const { url, received } = await receive();
    const { id, secret = "" } = await addChannel(accountId, url);
    const alert = await fail(accountId);
    await start();
    await until(async () => received.length > 0 && mailsTo(email).length > 0 && (await isOver(id)));
    const [event] = received;
    expect(event?.headers["webhook-id"]).toBe(`${alert.alertId}_${id}`);
    expect(new Webhook(secret).verify(event?.body ?? "", event?.headers as Record<string, string>)).toMatchObject({
      type: "trace.failed",
    });
    const { rows } = await pool.query("SELECT trace_id, created_at FROM alert WHERE id = $1", [alert.alertId]);
    expect(JSON.parse(event?.body ?? "")).toEqual({
      type: "trace.failed",
      timestamp: expect.stringMatching(/^20\d\d-.*Z$/),
      data: {
        trace_id: rows[0].trace_id,
        agent_id: "support-bot",
        name: "trace 1",
        status: "error",
        started_at: expect.any(String),
        ended_at: null,
        failed_span: null,
        error: null,
        url: `https://waymark.example/dashboard/traces/${rows[0].trace_id}`,
      },
    });
    expect([received.length, mailsTo(email).length]).toEqual([1, 1]);
    expect(await readAlert(pool, alert)).toMatchObject({ isSent: true });
  });

  it("gets the innermost failing span and its error", async () => {
    const failed = await makeFailedTrace(pool, { error: "connection refused" });
    const { url, received } = await receive();
    await addChannel(failed.accountId, url);
    await pool.query("UPDATE alert SET created_at = now() WHERE id = $1", [failed.alertId]);
    await start();
    await until(() => received.length > 0);
    expect(JSON.parse(received[0]?.body ?? "").data).toMatchObject({
      failed_span: "call the model",
      error: "connection refused",
      started_at: "2026-01-02T03:04:05.000Z",
      ended_at: "2026-01-02T03:05:28.000Z",
    });
  });

  it("gets the same id and body again after 429, 500, a broken connection and a redirect, until it takes them", async () => {
    const { accountId } = await makeAccount();
    const target = await receive();
    const cut: Answer = (request) => request.socket.destroy();
    const redirect: Answer = (_request, response) => response.writeHead(307, { location: target.url }).end();
    const { url, received } = await receive(429, 500, cut, redirect, 200);
    const { id } = await addChannel(accountId, url);
    await fail(accountId);
    await start();
    for (let attempt = 1; attempt < 5; attempt++) {
      await until(async () => (await deliveriesOf(id))[0]?.attempts === attempt);
      const [delivery] = await deliveriesOf(id);
      expect(delivery).toMatchObject({ state: "pending", last_error: expect.any(String) });
      await makeDue();
    }
    await until(() => isOver(id));
    expect(await deliveriesOf(id)).toMatchObject([{ state: "sent", attempts: 5 }]);
    expect(new Set(received.map(({ headers, body }) => `${headers["webhook-id"]} ${body}`)).size).toBe(1);
    expect([received.length, target.received.length]).toEqual([5, 0]);
  });

  it("that answers 404 loses this event alone; one that answers 410 ends", async () => {
    const { accountId } = await makeAccount();
    const [wrong, gone] = [await receive(404, 200), await receive(410)];
    const channels = [(await addChannel(accountId, wrong.url)).id, (await addChannel(accountId, gone.url)).id] as const;
    await fail(accountId);
    await start();
    await until(async () => (await isOver(channels[0])) && (await isOver(channels[1])) && gone.received.length > 0);
    await fail(accountId);
    await until(() => wrong.received.length === 2);
    await until(() => isOver(channels[0]));
    expect(await statesOf(channels[0])).toEqual(["sent", "failed"]);
    expect((await deliveriesOf(channels[0])).map(({ last_error }) => last_error)).toContain("Answered 404");
    expect(await statesOf(channels[1])).toEqual(["failed"]);
    expect(gone.received).toHaveLength(1);
    await expect(testChannel(pool, { channelId: channels[1] })).rejects.toMatchObject({ code: "channel_ended" });
  });

  it("in a private network is refused, and the delivery says so", async () => {
    const { accountId } = await makeAccount();
    const { port, received } = await receive();
    const { id } = await addChannel(accountId, `http://localhost:${port}/`);
    await fail(accountId);
    await start({ WEBHOOK_ALLOW_PRIVATE: undefined });
    await until(async () => (await statesOf(id)).includes("failed"));
    expect(await deliveriesOf(id)).toMatchObject([{ last_error: expect.stringContaining("private network") }]);
    expect(received).toEqual([]);
  });

  it("of a stranger's address gets its link, and no alert before the click", async () => {
    const { accountId } = await makeAccount();
    const to = "stranger@example.org";
    const { id, state } = await createChannel(pool, accountId, { kind: "mail", to }, async () => "the-token");
    expect(state).toBe("waiting");
    const { url, received } = await receive();
    await addChannel(accountId, url);
    await fail(accountId);
    await start();
    await until(async () => received.length === 1 && (await isOver(id)));
    const [mail, ...others] = stub.mails.filter(({ body }) => body.to.includes(to));
    expect(others).toEqual([]);
    expect(mail?.body).toMatchObject({ subject: "Confirm this address for alerts" });
    expect(mail?.body.text).toContain("https://waymark.example/dashboard/link/the-token");
    await confirmChannel(pool, { channelId: id });
    await fail(accountId);
    await until(() => stub.mails.filter(({ body }) => body.to.includes(to)).length === 2);
  });

  it("that hangs delays no other channel of its account", async () => {
    const { accountId } = await makeAccount();
    const [hanging, quick] = [await receive(() => undefined), await receive()];
    await addChannel(accountId, hanging.url);
    const { id } = await addChannel(accountId, quick.url);
    // In turns with the hanging attempts these would take longer than a test may.
    await makeMoreAlerts(pool, { accountId, count: 100 });
    await start();
    await until(async () => quick.received.length === 100 && (await isOver(id)));
    expect(hanging.received.length).toBeGreaterThan(0);
  });

  it("that hangs delays no other account", async () => {
    const [slow, quick] = [await makeAccount(), await makeAccount()];
    const hanging = await receive(() => undefined);
    const other = await receive();
    for (let n = 0; n < 3; n++) await addChannel(slow.accountId, `${hanging.url}?${n}`);
    for (let n = 0; n < 20; n++) await fail(slow.accountId);
    await start();
    await until(() => hanging.received.length >= 4);
    await addChannel(quick.accountId, other.url);
    for (let n = 0; n < 10; n++) await fail(quick.accountId);
    await until(() => other.received.length === 10);
    const sql = "SELECT FROM delivery WHERE account_id = $1 AND channel_id <> account_id AND attempts > 0";
    expect((await pool.query(sql, [slow.accountId])).rowCount).toBe(0);
  });

  it("gets every event with its id, although the worker is killed with deliveries in hand", async () => {
    const { accountId } = await makeAccount();
    const slow: Answer = (_request, response) => void setTimeout(() => response.end(), 400);
    const { url, received } = await receive(slow);
    const { id } = await addChannel(accountId, url);
    const alerts = await makeMoreAlerts(pool, { accountId, count: 12 });
    const entry = fileURLToPath(built(new URL("../../dist/main.js", import.meta.url)));
    const run = () => spawn(process.execPath, [entry], { env: settings(), stdio: "ignore" });
    const first = run();
    await until(() => received.length >= 3);
    first.kill("SIGKILL");
    await once(first, "exit");
    expect(await isOver(id)).toBe(false);
    // As after the lease of the deliveries in hand.
    await makeDue();
    const second = run();
    closers.push(async () => {
      second.kill();
      await once(second, "exit");
    });
    await until(async () => {
      await pool.query("UPDATE delivery SET due_at = now() WHERE due_at > now() + interval '29 seconds'");
      return (await statesOf(id)).filter((state) => state === "sent").length === alerts.length;
    });
    const ids = new Set(received.map(({ headers }) => headers["webhook-id"]));
    expect([...ids].sort()).toEqual(alerts.map(({ alertId }) => `${alertId}_${id}`).sort());
  });
});

describe("channels", () => {
  it("get what they ask for, of their account, once with two workers", async () => {
    const [one, other] = [await makeAccount(), await makeAccount()];
    const { url, received } = await receive();
    const all = await addChannel(one.accountId, `${url}/all`);
    await addChannel(one.accountId, `${url}/a`, { agents: ["a"] });
    await addChannel(one.accountId, `${url}/timeout`, { statuses: ["timeout"] });
    await addChannel(other.accountId, `${url}/other`);
    const alerts = [await fail(one.accountId, "a"), await fail(one.accountId, "b")];
    await Promise.all([start(), start()]);
    await until(async () => (await isOver(all.id)) && received.length >= 3);
    for (const alert of alerts) await until(async () => (await readAlert(pool, alert))?.isSent === true);
    expect(received.map(({ path }) => path).sort()).toEqual(["/hook/a", "/hook/all", "/hook/all"]);
  });

  it("get no failure of before their time", async () => {
    const { accountId } = await makeAccount();
    const before = await fail(accountId);
    const { url, received } = await receive();
    const { id } = await addChannel(accountId, url);
    // Both within one millisecond, all that a Date of JavaScript keeps.
    const time = "date_trunc('milliseconds', now()) - interval '1 second'";
    await pool.query(`UPDATE alert SET created_at = ${time} WHERE id = $1`, [before.alertId]);
    await pool.query(
      "UPDATE channel SET created_at = a.created_at + interval '1 microsecond' FROM alert a WHERE a.id = $1 AND channel.id = $2",
      [before.alertId, id],
    );
    await start();
    await until(async () => (await readAlert(pool, before))?.isSent === true);
    expect(received).toEqual([]);
  });

  it("of mail, Slack and Discord get messages of their own", async () => {
    const { accountId } = await makeAccount();
    const { url, received } = await receive();
    const to = "team@example.com";
    await addChannel(accountId, to, { kind: "mail" });
    await addChannel(accountId, `${url}/slack`, { kind: "slack" });
    const discord = await addChannel(accountId, `${url}/discord`, { kind: "discord" });
    await fail(accountId);
    await testChannel(pool, { channelId: discord.id });
    await start();
    await until(() => received.length === 3 && mailsTo(to).length === 1);
    expect(mailsTo(to)[0]?.body.subject).toBe("support-bot: “trace 1” ended in error");
    const bodies = received.map(({ path, body }) => [path, JSON.parse(body)]);
    expect(bodies).toContainEqual([
      "/hook/slack",
      expect.objectContaining({ text: expect.stringContaining("trace 1") }),
    ]);
    const test = expect.stringContaining("This is a test");
    expect(bodies).toContainEqual(["/hook/discord", expect.objectContaining({ content: test })]);
    for (const { headers } of received) expect(headers["webhook-signature"]).toBeUndefined();
  });

  it("above a mail channel's limit tell the rest in one message", async () => {
    const { accountId } = await makeAccount();
    const to = "many@example.com";
    const { id } = await addChannel(accountId, to, { kind: "mail" });
    await makeMoreAlerts(pool, { accountId, count: 10 });
    await start({ ALERT_MAILS_PER_ACCOUNT_PER_HOUR: "4" });
    await until(async () => mailsTo(to).length === 4 && (await deliveriesOf(id)).some(({ type }) => type === "digest"));
    await pool.query("UPDATE delivery SET due_at = now() WHERE is_collecting");
    await until(() => mailsTo(to).length === 5);
    const digest = mailsTo(to).find(({ body }) => body.subject === "6 more failed traces");
    expect(digest?.body.text).toMatch(/^Failed traces: 6$/m);
  });

  it("end a delivery that throws like one that is refused, and log why", async () => {
    const { accountId } = await makeAccount();
    const { id } = await addChannel(accountId, "team@example.com", { kind: "mail" });
    const sql = `INSERT INTO delivery (account_id, event_id, channel_id, type, agent_id, content, failures)
      VALUES ($1, gen_random_uuid(), $2, 'digest', 'a', '{}', 1)`;
    await pool.query(sql, [accountId, id]);
    const lines = await start();
    await until(async () => (await deliveriesOf(id))[0]?.attempts === 1);
    expect(await deliveriesOf(id)).toMatchObject([{ state: "pending", last_error: expect.any(String) }]);
    await pool.query("UPDATE delivery SET due_at = now(), begun_at = now() - interval '1 day'");
    await until(() => isOver(id));
    expect(await deliveriesOf(id)).toMatchObject([{ state: "failed", attempts: 2 }]);
    const errors = lines.filter(({ level, channelId }) => level === 50 && channelId === id);
    expect(errors).toHaveLength(2);
    expect(errors[0]).toMatchObject({ err: { message: expect.any(String) } });
  });

  it("without the account's own get no mail to its address", async () => {
    const [one, other] = [await makeAccount(), await makeAccount()];
    await deleteChannel(pool, { channelId: one.accountId });
    const alerts = [await fail(one.accountId), await fail(other.accountId)];
    await start();
    for (const alert of alerts) await until(async () => (await readAlert(pool, alert))?.isSent === true);
    expect([mailsTo(one.email).length, mailsTo(other.email).length]).toEqual([0, 1]);
  });

  it("that ask get an agent's next success after failures, once", async () => {
    const { accountId } = await makeAccount();
    const { url, received } = await receive();
    await addChannel(accountId, `${url}/failures`);
    await addChannel(accountId, `${url}/recovered`, { recovered: true, agents: ["a"] });
    await addChannel(accountId, `${url}/b`, { recovered: true, agents: ["b"] });
    for (const agent of ["a", "a"]) await fail(accountId, agent);
    await start();
    await until(() => received.length === 4);
    const sql = `INSERT INTO trace (account_id, id, agent_id, name, status, started_at)
      SELECT $1, overlay(gen_random_uuid()::text PLACING left(uuid_floor(now())::text, 13) FROM 1)::uuid, agent, 'fine', 'success', '2020-01-01'
      FROM unnest('{a,a,b}'::text[]) AS agent`;
    await pool.query(sql, [accountId]);
    await until(() => received.length === 5);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(received.slice(4)).toMatchObject([{ path: "/hook/recovered" }]);
    const { type, data } = JSON.parse(received[4]?.body ?? "");
    expect(type).toBe("trace.recovered");
    expect(data).toMatchObject({ agent_id: "a", name: "fine", status: "success", failed_span: null, error: null });
  });
});

describe("digests", () => {
  it("tell an agent's failures once in a window, and all of them", async () => {
    const { accountId, email } = await makeAccount();
    await withTransaction(pool, (client) =>
      changeAlertSettings(client, accountId, { mode: "digest", windowSeconds: 60 }),
    );
    const { url, received } = await receive();
    await addChannel(accountId, url);
    await addChannel(accountId, `${url}/slack`, { kind: "slack" });
    await start();
    const digests = () =>
      mailsTo(email).map(({ body }) => [body.subject, /^Failed traces: (\d+)$/m.exec(body.text)?.[1]]);
    await makeMoreAlerts(pool, { accountId, count: 1, agentId: "a" });
    await until(() => digests().length === 1);
    const alerts = await makeMoreAlerts(pool, { accountId, count: 700, agentId: "a" });
    await makeMoreAlerts(pool, { accountId, count: 3, agentId: "b" });
    const collected = `SELECT sum(failures)::int AS sum FROM delivery WHERE account_id = $1 AND channel_id = $1 AND agent_id = 'a'`;
    await until(async () => (await pool.query(collected, [accountId])).rows[0].sum === 701 && digests().length === 2);
    expect(digests()).toEqual([
      ["a", "1"],
      ["b", "3"],
    ]);
    const early =
      "SELECT FROM delivery WHERE is_collecting AND channel_id = account_id AND agent_id = 'a' AND due_at < now() + interval '20 seconds'";
    expect((await pool.query(early)).rows).toEqual([]);
    await pool.query("UPDATE delivery SET due_at = now() WHERE is_collecting");
    await until(() => digests().length === 3);
    expect(digests()[2]).toEqual(["a", "700"]);
    for (const alert of alerts.slice(0, 3)) await until(async () => (await readAlert(pool, alert))?.isSent === true);
    await until(() => received.filter(({ path }) => path === "/hook").length === 704);
    const slack = received.filter(({ path }) => path === "/hook/slack").map(({ body }) => JSON.parse(body).text);
    expect(slack.map((text) => Number(/^Failed traces: (\d+)$/m.exec(text)?.[1])).sort()).toEqual([1, 3, 700]);
  });
});

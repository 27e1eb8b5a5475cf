import { routeAlerts } from "@waymark/alerts";
import type { Delivery, Mail } from "@waymark/alerts/mail";
import { createDeliverer, createSendDelivery } from "@waymark/alerts/sending";
import type pg from "pg";
import { createTestLog } from "../worker.fixture.js";

interface OwnMailsOptions {
  perTrace?: number;
  perAccount?: number;
  /** Answers of the mail service, then it takes all. */
  answers?: Delivery[];
  /** Mails after which the worker stops. */
  stopAfter?: number;
  /** The mail service never answers. */
  hangs?: boolean;
}

const maxTurns = 1_000;

/** Workers that route alerts and deliver mails, with a mail service that keeps them. */
export function openOwnMails(pool: pg.Pool, options: OwnMailsOptions = {}) {
  const { perTrace = 3, perAccount = 20, answers = [], stopAfter = Number.POSITIVE_INFINITY, hangs } = options;
  const limits = { perTrace, perAccount };
  const mails: Mail[] = [];
  const counts: string[] = [];
  const held = { alerts: 0 };
  const { log, lines } = createTestLog();
  const isStopping = () => mails.length >= stopAfter;
  const mailer = {
    send: async (mail: Mail) => {
      mails.push(mail);
      if (hangs) await new Promise(() => undefined);
      return answers.shift() ?? ({ outcome: "sent" } as const);
    },
  };
  const post = () => Promise.reject(new Error("Nothing is posted"));
  const dashboardUrl = "https://waymark.example";
  const count = (sort: string, outcome: string) => void counts.push(`${sort} ${outcome}`);
  const send = createSendDelivery({ pool, mailer, post, log, dashboardUrl, limits, count });
  const countHeld = (alerts: number) => {
    held.alerts += alerts;
  };
  const isDue = async () =>
    (await pool.query("SELECT FROM delivery WHERE sent_at IS NULL AND failed_at IS NULL AND due_at <= now()")).rowCount;
  /** Routes the alerts of all accounts or of one. */
  const route = (accountId?: string) =>
    routeAlerts(pool, { accountId, limits: { perHour: perAccount, pending: 100 }, isStopping: () => false });
  const createWorker = () => createDeliverer({ pool, log, send, limits, countHeld, isStopping });
  /** A worker that routes alerts, and delivers until nothing is due. */
  const startWorker = () => {
    const deliverer = createWorker();
    return async (accountId?: string) => {
      await route(accountId);
      for (let turn = 0; turn < maxTurns && !isStopping() && (await isDue()); turn++) {
        await deliverer.start();
        await deliverer.drain();
      }
    };
  };
  const { start, drain } = createWorker();
  return { round: startWorker(), startWorker, route, start, drain, mails, counts, held, lines };
}

/** As when the pauses of all attempts are over. @returns the pauses in milliseconds */
export async function passPauses(pool: pg.Pool): Promise<number[]> {
  const { rows } = await pool.query<{ ms: number }>(
    `UPDATE delivery SET due_at = now(), begun_at = delivery.begun_at - (old.due_at - now())
     FROM (SELECT event_id, due_at FROM delivery WHERE due_at > now() AND sent_at IS NULL AND failed_at IS NULL) AS old
     WHERE delivery.event_id = old.event_id
     RETURNING extract(epoch FROM old.due_at - now())::float8 * 1000 AS ms`,
  );
  return rows.map(({ ms }) => ms);
}

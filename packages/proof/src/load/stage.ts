import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPrisma } from "@waymark/database/prisma";
import { type System, type SystemOptions, startSystem } from "../system/start-system.js";
import { type Receiver, startReceiver } from "./receiver.js";

/** Where the load goes. */
export interface Addresses {
  trace: string;
  analytics: string;
  collector: string;
  dashboard: string;
}

/** The system with a receiver of its mails and webhooks. */
export interface Stage {
  readonly system: System;
  readonly prisma: ReturnType<typeof createPrisma>;
  readonly receiver: Receiver;
  readonly urls: Addresses;
  stop(): Promise<void>;
}

/** As in production, but limits of mails above the load's failures. */
const env = {
  RESEND_API_KEY: "re_proof",
  ALERT_FROM: "Waymark <alerts@example.com>",
  ALERT_MAILS_PER_ACCOUNT_PER_HOUR: "10000",
  WEBHOOK_ALLOW_PRIVATE: "127.0.0.0/8,::1/128",
  TRUSTED_PROXIES: "loopback",
};

/** Starts the system in a temporary folder, which `stop` removes. */
export async function openStage(options: Omit<SystemOptions, "folder" | "env">): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), "waymark-proof-"));
  const receiver = await startReceiver();
  let system: System | undefined;
  const stop = async () => {
    await system?.stop();
    await receiver.close();
    await rm(folder, { recursive: true, force: true });
  };
  // Postgres and Redis run apart from this process.
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => stop().finally(() => process.exit(1)));
  }
  try {
    system = await startSystem({ ...options, folder, env: { ...env, RESEND_BASE_URL: receiver.mailUrl } });
  } catch (error) {
    await stop();
    throw error;
  }
  const { url } = system;
  const urls = {
    trace: url("trace-api"),
    analytics: url("analytics-api"),
    collector: url("collector"),
    dashboard: url("dashboard"),
  };
  return { system, prisma: createPrisma(system.pool), receiver, urls, stop };
}

import { randomUUID } from "node:crypto";
import pg from "pg";
import { breakConnection } from "./unanswered.js";

/** The channel that the triggers on `account` and `api_key` notify, with an account id as payload. */
const channel = "waymark_access";
const heartbeatPrefix = "heartbeat:";
/** How long the server may take to end the connection when we stop. */
const farewellMs = 1_000;

export interface AccessListenerOptions {
  connectionString: string;
  /** The keys of this account, or its plan, changed. */
  onChange(accountId: string): void;
  /** The listener came up or went down: while down, changes go unheard, so what was remembered must not be trusted long. */
  onState(listening: boolean): void;
  onError(error: Error): void;
  /** How often the connection proves that notifications arrive; the same time is allowed for the proof. */
  heartbeatMs?: number;
  /** How long to wait before connecting again. */
  reconnectMs?: number;
}

export interface AccessListener {
  stop(): Promise<void>;
}

/**
 * Listens for changes of access on a connection of its own, and connects again when it breaks. A heartbeat through the
 * channel itself finds connections that look open and deliver nothing, such as one through a transaction pooler.
 */
export function listenForAccessChanges(options: AccessListenerOptions): AccessListener {
  const { heartbeatMs = 5_000, reconnectMs = 500 } = options;
  let stopped = false;
  let client: pg.Client | undefined;
  let timer: NodeJS.Timeout | undefined;
  let awaited: string | undefined;

  async function connect(): Promise<void> {
    const next = new pg.Client({
      connectionString: options.connectionString,
      application_name: "waymark access listener",
      connectionTimeoutMillis: heartbeatMs,
      query_timeout: heartbeatMs,
      keepAlive: true,
    });
    client = next;
    let broken = false;
    const onBroken = (error?: Error) => {
      if (broken) return;
      broken = true;
      clearTimeout(timer);
      next.end().catch(() => undefined);
      if (stopped) return;
      if (error) options.onError(error);
      options.onState(false);
      timer = setTimeout(connect, reconnectMs);
    };
    next.on("error", onBroken);
    next.on("end", () => onBroken());
    next.on("notification", ({ payload = "" }) => {
      if (!payload.startsWith(heartbeatPrefix)) options.onChange(payload);
      else if (payload === awaited) awaited = undefined;
    });
    const beat = () => {
      if (awaited !== undefined) return onBroken(new Error("The access listener hears no notifications"));
      awaited = heartbeatPrefix + randomUUID();
      next.query("SELECT pg_notify($1, $2)", [channel, awaited]).catch(onBroken);
      timer = setTimeout(beat, heartbeatMs);
      timer.unref();
    };
    try {
      await next.connect();
      await next.query(`LISTEN ${channel}`);
      awaited = undefined;
      options.onState(true);
      beat();
    } catch (error) {
      onBroken(error instanceof Error ? error : new Error(String(error)));
    }
  }

  void connect();
  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      if (!client) return;
      const ended = client.end().catch(() => undefined);
      // A server that hangs never says goodbye.
      const cut = setTimeout(breakConnection, farewellMs, client);
      await ended;
      clearTimeout(cut);
    },
  };
}

import { randomUUID } from "node:crypto";
import pg from "pg";
import { breakConnection } from "./transaction.js";

/** Triggers on `account` and `api_key` notify this channel with an account id. */
const channel = "waymark_access";
const heartbeatPrefix = "heartbeat:";
/** After this `stop` breaks the connection: a hanging server never ends it. */
const farewellMs = 1_000;

export interface AccessListenerOptions {
  connectionString: string;
  onChange(accountId: string): void;
  /** Receives whether the listener is up. While it is down, changes go unheard and caches must expire soon. */
  onState(listening: boolean): void;
  onError(error: Error): void;
  heartbeatMs?: number;
  reconnectMs?: number;
}

export type AccessListener = ReturnType<typeof listenForAccessChanges>;

/** Its heartbeat through the channel finds open connections that deliver nothing, as through a transaction pooler. */
export function listenForAccessChanges(options: AccessListenerOptions) {
  const { heartbeatMs = 5_000, reconnectMs = 500 } = options;
  let stopped = false;
  let client: pg.Client | undefined;
  let timer: NodeJS.Timeout | undefined;
  let awaited: string | undefined;

  function later(task: () => void, ms: number): NodeJS.Timeout {
    clearTimeout(timer);
    timer = setTimeout(task, ms);
    return timer;
  }

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
      next.end().catch(() => undefined);
      if (stopped) return;
      if (error) options.onError(error);
      options.onState(false);
      later(connect, reconnectMs);
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
      later(beat, heartbeatMs).unref();
    };
    try {
      await next.connect();
      await next.query(`LISTEN ${channel}`);
      // The end of the connection can come in one packet with the answer.
      if (broken || stopped) return;
      awaited = undefined;
      options.onState(true);
      beat();
    } catch (error) {
      onBroken(error instanceof Error ? error : new Error(String(error)));
    }
  }

  void connect();
  return {
    async stop(): Promise<void> {
      stopped = true;
      clearTimeout(timer);
      if (!client) return;
      const ended = client.end().catch(() => undefined);
      const cut = setTimeout(breakConnection, farewellMs, client);
      await ended;
      clearTimeout(cut);
    },
  };
}

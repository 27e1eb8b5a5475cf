import { allSlots, type Slots } from "@waymark/auth";
import { listenForAccessChanges } from "@waymark/database";
import { LRUCache } from "lru-cache";
import type pg from "pg";
import type { Logger } from "pino";
import { slotOfSession } from "../token.js";
import { findSession, keepSession, type Role } from "./session.query.js";

/** The life of a cached session while the listener works. Bounds the effect of changes without notifications. */
const listeningLifeMs = 30_000;
/** The same while the listener is down and misses the ends of sessions. */
const deafLifeMs = 1_000;

export interface Viewer {
  personId: string;
  sessionId: string;
  accountId: string;
  role: Role;
  /** Whether the person runs this installation (`OPERATORS`). */
  isOperator: boolean;
}

export interface SessionsOptions {
  url: URL;
  pool: pg.Pool;
  /** For the listener's own connection. */
  connectionString: string;
  /** Addresses, in lower case, of people who run this installation. */
  operators: readonly string[];
  log: Logger;
  /** Of the cell; all by default. */
  slots?: Slots;
  now(): Date;
  /** Sessions cached at most; the least recently used makes room. */
  maxEntries?: number;
}

export interface SessionCache {
  /** Finds the viewer of a `Cookie` header; undefined when it has no good session. */
  find(cookies: string | undefined): Promise<Viewer | undefined>;
  /** Forgets the cached sessions of an account at once; other instances hear of a change within a second. */
  forget(accountId: string): void;
  stop(): Promise<void>;
}

interface Entry {
  viewer: Viewer;
  loadedAt: number;
}

/** Finds sessions and caches them. `NOTIFY` brings their ends and changes of roles to every instance at once. */
export function createSessions(options: SessionsOptions): SessionCache {
  const { url, pool, log, now, slots = allSlots, maxEntries = 10_000 } = options;
  const entries = new LRUCache<string, Entry>({ max: maxEntries });
  const operators = new Set(options.operators);
  const cookie = createSessionCookie(url);
  let isListening = false;
  let isDeafLogged = false;
  // A look-up that began before a change must not be cached after it.
  let changes = 0;

  function forget(accountId: string): void {
    changes++;
    for (const [id, { viewer }] of [...entries.entries()]) if (viewer.accountId === accountId) entries.delete(id);
  }

  const listener = listenForAccessChanges({
    connectionString: options.connectionString,
    onChange: forget,
    onState: (listening) => {
      changes++;
      isListening = listening;
      entries.clear();
      if (listening) isDeafLogged = false;
    },
    onError: (err) => {
      // The listener tries again twice a second.
      const level = isDeafLogged ? "debug" : "warn";
      isDeafLogged = true;
      log[level]({ err }, "ends of sessions are not heard; looking sessions up more often");
    },
  });

  async function load(token: string): Promise<Viewer | undefined> {
    const changesBefore = changes;
    const loadedAt = now();
    const session = await findSession(pool, token, loadedAt);
    if (!session) return undefined;
    const { personId, sessionId, accountId, role, email } = session;
    const viewer = { personId, sessionId, accountId, role, isOperator: operators.has(email) };
    if (changes === changesBefore) entries.set(token, { viewer, loadedAt: loadedAt.getTime() });
    await keepSession(pool, session, loadedAt);
    return viewer;
  }

  return {
    async find(cookies) {
      const token = cookie.read(cookies);
      if (token === undefined || !slots.has(slotOfSession(token) ?? "")) return undefined;
      const entry = entries.get(token);
      const life = isListening ? listeningLifeMs : deafLifeMs;
      if (entry && Math.abs(now().getTime() - entry.loadedAt) < life) return entry.viewer;
      entries.delete(token);
      return load(token);
    },
    forget,
    stop: () => listener.stop(),
  };
}

const daySeconds = 24 * 3_600;

export interface Cookie {
  read(header: string | undefined): string | undefined;
  /** Makes the `Set-Cookie` header of a new token. Lax, since links in mails must arrive signed in. */
  write(token: string): string;
  remove(): string;
}

/** @param url of the dashboard; decides about the cookie's name and `Secure` */
export function createSessionCookie(url: URL): Cookie {
  return createCookie(url, "waymark", 90 * daySeconds);
}

/** Keeps the proof of a sign-up as long as its link lives. */
export function createSignUpCookie(url: URL): Cookie {
  return createCookie(url, "waymark-sign-up", daySeconds);
}

/** Browsers accept the prefix `__Host-` only over https, without `Domain` and with `Path=/`. */
function createCookie(url: URL, plainName: string, maxAgeSeconds: number): Cookie {
  const name = url.protocol === "https:" ? `__Host-${plainName}` : plainName;
  const attributes = `Path=/; HttpOnly; SameSite=Lax${url.protocol === "https:" ? "; Secure" : ""}`;
  return {
    read(header = "") {
      const parts = header.split(";").map((part) => part.trim());
      return parts.find((part) => part.startsWith(`${name}=`))?.slice(name.length + 1);
    },
    write: (token) => `${name}=${token}; Max-Age=${maxAgeSeconds}; ${attributes}`,
    remove: () => `${name}=; Max-Age=0; ${attributes}`,
  };
}

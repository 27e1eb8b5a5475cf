import { allSlots, createAccessCache, type Slots } from "@waymark/auth";
import type pg from "pg";
import type { Logger } from "pino";
import { slotOfSession } from "../token.js";
import { findSession, keepSession, type StoredSession } from "./session.query.js";

export interface Viewer extends Omit<StoredSession, "email" | "seenAt"> {
  /** Whether the person runs this installation (`OPERATORS`). */
  isOperator: boolean;
}

export type SessionCache = ReturnType<typeof createSessions>;

interface SessionsOptions {
  url: URL;
  pool: pg.Pool;
  connectionString: string;
  /** Addresses, in lower case, of people who run this installation. */
  operators: readonly string[];
  log: Logger;
  /** Of the cell; all by default. */
  slots?: Slots;
  now(): Date;
  maxEntries?: number;
}

/** Finds sessions and caches them for half a minute; for a second while changes are not heard. */
export function createSessions(options: SessionsOptions) {
  const { url, pool, now, slots = allSlots, maxEntries = 10_000 } = options;
  const operators = new Set(options.operators);
  const cookie = createSessionCookie(url);

  async function load(token: string): Promise<Viewer | undefined> {
    const at = now();
    const session = await findSession(pool, token, at);
    if (!session) return undefined;
    await keepSession(pool, session, at);
    const { email, seenAt: _, ...viewer } = session;
    return { ...viewer, isOperator: operators.has(email) };
  }

  const cache = createAccessCache({
    ...options,
    load,
    accountOf: ({ accountId }) => accountId,
    listeningLifeMs: 30_000,
    deafLifeMs: 1_000,
    maxEntries,
    now: () => now().getTime(),
    deafness: "ends of sessions are not heard; looking sessions up more often",
  });
  return {
    /** Finds the viewer of a `Cookie` header; undefined when it has no good session. */
    async find(cookies: string | undefined): Promise<Viewer | undefined> {
      const token = cookie.read(cookies);
      if (token === undefined || !slots.has(slotOfSession(token) ?? "")) return undefined;
      return cache.get(token, now().getTime()) ?? cache.load(token);
    },
    forget: cache.forget,
    stop: cache.stop,
  };
}

const daySeconds = 24 * 3_600;

/** @param url of the dashboard; decides about the cookie's name and `Secure` */
export function createSessionCookie(url: URL) {
  return createCookie(url, { plainName: "waymark", maxAgeSeconds: 90 * daySeconds });
}

/** Keeps the proof of a sign-up as long as its link lives. */
export function createSignUpCookie(url: URL) {
  return createCookie(url, { plainName: "waymark-sign-up", maxAgeSeconds: daySeconds });
}

/** Keeps a sign-in that is with the provider: `SameSite=Lax`, since the provider's page leads back here. */
export function createProviderCookie(url: URL) {
  return createCookie(url, { plainName: "waymark-provider", maxAgeSeconds: 300 });
}

/** Keeps the proof of a shared link's password, and goes to this link alone. */
export function createLinkCookie(url: URL, path: string) {
  return createCookie(url, { plainName: "waymark-shared", maxAgeSeconds: daySeconds, path, sameSite: "Strict" });
}

interface CookieOptions {
  plainName: string;
  maxAgeSeconds: number;
  path?: string;
  sameSite?: "Lax" | "Strict";
}

/** Browsers accept the prefix `__Host-` only over https, without `Domain` and with `Path=/`; `__Secure-` with any path. */
function createCookie(url: URL, { plainName, maxAgeSeconds, path = "/", sameSite = "Lax" }: CookieOptions) {
  const isSecure = url.protocol === "https:";
  const name = isSecure ? `${path === "/" ? "__Host-" : "__Secure-"}${plainName}` : plainName;
  const attributes = `Path=${path}; HttpOnly; SameSite=${sameSite}${isSecure ? "; Secure" : ""}`;
  return {
    read(header: string | undefined): string | undefined {
      const parts = (header ?? "").split(";").map((part) => part.trim());
      return parts.find((part) => part.startsWith(`${name}=`))?.slice(name.length + 1);
    },
    /** Makes the `Set-Cookie` header of a new token. Lax, since links in mails must arrive signed in. */
    write: (token: string) => `${name}=${token}; Max-Age=${maxAgeSeconds}; ${attributes}`,
    remove: () => `${name}=; Max-Age=0; ${attributes}`,
  };
}

import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "@jest/globals";
import { createKeyDirectory, type KeyDirectory } from "@waymark/auth";
import { createUuidV7 } from "@waymark/database";
import { createLogger, createRegistry } from "@waymark/service";
import { createAddressReader, createProxyWatch } from "@waymark/service/limits";
import { useDatabase } from "@waymark/testing";
import {
  type CountryDirectory,
  createRecorder,
  createRequestRecorder,
  openCountryDirectory,
} from "@waymark/web-stats/analytics";
import type { Express } from "express";
import type pg from "pg";
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import request from "supertest";
import { createApp } from "./app.js";
import { createClientReader, loadSpamReferrers, type SpamCheck } from "./event/read-client.js";
import { joinLines } from "./script/get-script.route.js";

/** A browser, by no means a bot. */
export const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0";

const readAsset = (name: string) => joinLines(readFileSync(new URL(`../assets/${name}`, import.meta.url), "utf8"));

export const tracker = { script: readAsset("script.js"), extensions: readAsset("extensions.js") };

export interface TestAppOptions {
  trustedProxies?: string[];
  countryHeader?: string;
  maxWaiting?: number;
  /** No limits unless given; for given ones time stands still. */
  eventsPerSecond?: { perAddress?: number; perSite?: number };
  log?: Logger;
}

/** The real app on a database of its own. */
export interface TestApp {
  readonly app: Express;
  readonly registry: Registry;
  readonly pool: pg.Pool;
  readonly databaseUrl: string;
  makeSite(): Promise<{ id: string; domain: string }>;
  /** Posts an event from a browser. */
  post(body: string | object, headers?: Record<string, string>): request.Test;
  /** The site's recorded events, oldest first. */
  readEvents(siteId: string): Promise<Record<string, unknown>[]>;
}

export function useApp(options: TestAppOptions = {}): TestApp {
  const database = useDatabase();
  const uuid = createUuidV7();
  const { trustedProxies = [], countryHeader, maxWaiting, eventsPerSecond, log } = options;
  const registry = createRegistry("collector");
  let app: Express | undefined;
  let keys: KeyDirectory | undefined;
  afterAll(() => keys?.stop());

  beforeAll(async () => {
    const { pool, directUrl } = database;
    const silent = createLogger({ service: "collector", level: "silent" });
    keys = createKeyDirectory({ service: "trace", pool, connectionString: directUrl, log: silent });
    const [countries, isSpam] = await Promise.all([openCountryDirectory(undefined), makeSpamCheck()]);
    app = openApp(database.pool, registry, {
      countries,
      isSpam,
      trustedProxies,
      countryHeader,
      maxWaiting,
      eventsPerSecond,
      log,
      keys,
    });
  });
  const running = () => {
    if (!app) throw new Error("The app starts in beforeAll");
    return app;
  };
  return {
    get app() {
      return running();
    },
    registry,
    pool: database.pool,
    databaseUrl: database.url,
    makeSite: () => makeSite(database.pool, uuid),
    post: (body, headers = {}) =>
      request(running())
        .post("/api/event")
        .set({ "User-Agent": firefox, "Content-Type": "text/plain", ...headers })
        .send(typeof body === "string" ? body : JSON.stringify(body)),
    readEvents: async (siteId) =>
      (await database.pool.query("SELECT * FROM event WHERE site_id = $1 ORDER BY id", [siteId])).rows,
  };
}

interface Parts {
  countries: CountryDirectory;
  isSpam: SpamCheck;
  trustedProxies: string[];
  countryHeader: string | undefined;
  maxWaiting: number | undefined;
  eventsPerSecond?: TestAppOptions["eventsPerSecond"] | undefined;
  log?: Logger | undefined;
  /** Nobody's unless given. */
  keys?: KeyDirectory;
}

/** The real app on a pool, also on one without a database. */
export function openApp(pool: pg.Pool, registry: Registry, parts: Parts): Express {
  const { maxWaiting, isSpam } = parts;
  const log = parts.log ?? createLogger({ service: "collector", level: "silent" });
  const proxies = createProxyWatch(log);
  const addressOf = createAddressReader(parts.trustedProxies, proxies);
  return createApp({
    recorder: createRecorder({ pool, ...(maxWaiting !== undefined && { maxWaiting }) }),
    recordRequests: createRequestRecorder(pool),
    keys: parts.keys ?? { find: () => undefined },
    readClient: createClientReader({ ...parts, addressOf }),
    addressOf,
    eventsPerSecond: { perAddress: 0, perSite: 0, ...parts.eventsPerSecond },
    clock: () => 0,
    isSpam,
    tracker,
    checks: { required: { database: () => pool.query("SELECT 1") }, notes: proxies.notes },
    log,
    registry,
  });
}

async function makeSpamCheck(): Promise<SpamCheck> {
  const file = join(tmpdir(), `waymark-spammers-${process.pid}.txt`);
  await writeFile(file, "# hosts\nspam.example\n\nOther-Spam.example\r\n");
  return loadSpamReferrers(file);
}

/** A site, with an account of its own. */
export async function makeSite(pool: pg.Pool, uuid = createUuidV7()): Promise<{ id: string; domain: string }> {
  const [accountId, id] = [uuid(), uuid()];
  const domain = `${id}.example`;
  await pool.query("INSERT INTO account (id, email, plan) VALUES ($1, $2, 'pro')", [accountId, `${id}@example.com`]);
  await pool.query("INSERT INTO site (id, account_id, domain, name) VALUES ($1, $2, $3, 'site')", [
    id,
    accountId,
    domain,
  ]);
  return { id, domain };
}

import { afterAll } from "@jest/globals";
import { createAccount } from "@waymark/accounts";
import {
  createPasswords,
  createSessionCookie,
  createSessions,
  type Role,
  startSession,
} from "@waymark/accounts/identity";
import type { Mail } from "@waymark/alerts/mail";
import { createKeyDirectory } from "@waymark/auth";
import { createPool, createUuidV7 } from "@waymark/database";
import { createPrisma } from "@waymark/database/prisma";
import type { PlanId } from "@waymark/plan";
import { createLogger, createRegistry } from "@waymark/service";
import { createRefusals } from "@waymark/service/http";
import { createAddressReader, createLimiter, createProxyWatch, type Limit } from "@waymark/service/limits";
import { directUrlOf, useDatabase, useInstances } from "@waymark/testing";
import type { Express } from "express";
import request from "supertest";
import { createApp } from "./app.js";
import type { AppDeps } from "./app-deps.js";
import { loadConfig } from "./config.js";
import type { Pages } from "./pages/pages.js";
import { createAccountMails } from "./session/account-mails.js";
import { createGuesses } from "./session/guesses.js";
import { createOtherCells } from "./session/other-cells.js";
import { createProofNetwork } from "./sites/find-proof.js";
import { proofLimit } from "./sites/sites.route.js";

/** The paths of data, below the dashboard's address. */
const apiPath = "/dashboard/api";

/** Somebody signed in. Paths are below `/dashboard/api`, such as `/me`. */
export interface SignedIn {
  readonly accountId: string;
  readonly personId: string;
  readonly email: string;
  /** The `Cookie` header, for requests of a test's own. */
  readonly cookie: string;
  get(path: string): request.Test;
  post(path: string, body?: object): request.Test;
  patch(path: string, body?: object): request.Test;
  put(path: string, body?: object): request.Test;
  delete(path: string): request.Test;
}

/** The real dashboard on a database of its own. */
export interface TestDashboard {
  readonly app: Express;
  /** An instance on the same database, as beside a load balancer. */
  readonly secondApp: Express;
  readonly pool: ReturnType<typeof createPool>;
  /** Past a pooler, for imports. */
  readonly directPool: TestDashboard["pool"];
  readonly databaseUrl: string;
  /** Sets the moment, and so the UTC day that is "today". */
  setNow(moment: Date): void;
  /** Makes an account of the day before yesterday and returns its id; its people come with `signIn`. */
  makeAccount(plan?: PlanId): Promise<string>;
  /** Makes a person of the account and signs them in; an owner unless a role is given. */
  signIn(accountId: string, role?: Role, app?: Express): Promise<SignedIn>;
  /** The mails of the account since the last call, oldest first. Waits for those under way. */
  takeMails(): Promise<Mail[]>;
  /** A request without a session, with the browser's header of the own origin. */
  anonymous(app?: Express): Pick<SignedIn, "get" | "post" | "patch" | "put" | "delete">;
}

export interface DashboardOptions {
  /** Further settings. */
  env?: NodeJS.ProcessEnv;
  /** Built pages; none by default. */
  pages?: Pages;
  /** Another address of the database, such as a proxy's. */
  connectThrough?(url: string): string;
  /** Replaces dependencies of the app, such as a mailer. */
  deps?: Partial<AppDeps>;
}

const uuid = createUuidV7();

/** @returns functions that send requests with the headers of a browser on the own origin */
function requester(app: Express, url: URL, cookie?: string) {
  const prepare = (test: request.Test) => {
    test.set("Origin", url.origin);
    return cookie === undefined ? test : test.set("Cookie", cookie);
  };
  const send = (test: request.Test, body?: object) => (body ? prepare(test).send(body) : prepare(test));
  return {
    get: (path: string) => prepare(request(app).get(apiPath + path)),
    post: (path: string, body?: object) => send(request(app).post(apiPath + path), body),
    patch: (path: string, body?: object) => send(request(app).patch(apiPath + path), body),
    put: (path: string, body?: object) => send(request(app).put(apiPath + path), body),
    delete: (path: string) => prepare(request(app).delete(apiPath + path)),
  };
}

async function addPerson(pool: TestDashboard["pool"], accountId: string, role: Role) {
  const personId = uuid();
  const email = `person-${personId}@example.com`;
  const person = "INSERT INTO person (id, email, name, is_verified) VALUES ($1, $2, $3, true)";
  await pool.query(person, [personId, email, `A ${role}`]);
  const membership = "INSERT INTO membership (account_id, person_id, role) VALUES ($1, $2, $3)";
  await pool.query(membership, [accountId, personId, role]);
  return { personId, email };
}

/** A hash of a millisecond. */
const cheap = { N: 1_024, r: 8, p: 1 };

/** What sign-in needs, with mails kept in memory. */
function createIdentity(
  pool: TestDashboard["pool"],
  { trustedProxies, cellDashboards }: ReturnType<typeof loadConfig>,
) {
  const log = createLogger({ service: "dashboard", level: "silent" });
  const openLimiter = (limit: Limit) => createLimiter({ ...limit, redisUrl: undefined, pool, log });
  const proxies = createProxyWatch(log);
  const addressOf = createAddressReader(trustedProxies, proxies);
  const guesses = createGuesses({ openLimiter, addressOf });
  const otherCells = createOtherCells({ urls: cellDashboards, addressOf });
  const passwords = createPasswords({ refusals: createRefusals(createRegistry("dashboard")), cost: cheap });
  const sent: Mail[] = [];
  const mailer = {
    send: async (mail: Mail) => {
      sent.push(mail);
      return { outcome: "sent" } as const;
    },
  };
  const mails = createAccountMails({ mailer, openLimiter, log });
  const takeMails = async () => {
    await mails.idle();
    return sent.splice(0);
  };
  const proofs = { limiter: openLimiter(proofLimit), network: createProofNetwork() };
  return { parts: { passwords, guesses, mails, proofs, otherCells }, takeMails, notes: proxies.notes };
}

/** A database that nothing stands before is up: a busy machine fails no test. */
function openPool(connectionString: string, isUp: boolean) {
  const timeouts = isUp ? { statementTimeoutMs: 0, connectTimeoutMs: 0 } : { statementTimeoutMs: 10_000 };
  return createPool({ connectionString, maxConnections: 10, applicationName: "test", ...timeouts });
}

/** Builds the app as production does, twice. Call it at the top of a file. */
export function useDashboard(options: DashboardOptions = {}): TestDashboard {
  const database = useDatabase();
  const log = createLogger({ service: "dashboard", level: "silent" });
  const connectionString = options.connectThrough?.(database.url) ?? database.url;
  const config = loadConfig({ DATABASE_URL: connectionString, ...options.env });
  const pool = openPool(connectionString, options.connectThrough === undefined);
  const prisma = createPrisma(pool);
  const cookieOf = createSessionCookie(config.url);
  const { parts, takeMails, notes } = createIdentity(pool, config);
  let current = () => new Date();

  const instance = useInstances(() => {
    const now = () => current();
    const { url, operators, slots } = config;
    const source = { pool, connectionString: directUrlOf(connectionString), slots, log };
    const sessions = createSessions({ url, operators, ...source, now });
    const links = createKeyDirectory({ ...source, service: "link", now: () => now().getTime() });
    const app = createApp({
      config,
      pool,
      sessions,
      links,
      ...parts,
      payments: undefined,
      pages: options.pages ?? { files: new Map(), manifest: {} },
      checks: { required: { database: () => pool.query("SELECT 1") }, notes },
      log,
      registry: createRegistry("dashboard"),
      now,
      ...options.deps,
    });
    return { app, stop: () => Promise.all([sessions.stop(), links.stop()]) };
  });
  afterAll(() => pool.end());

  let accounts = 0;
  return {
    get app() {
      return instance(0);
    },
    get secondApp() {
      return instance(1);
    },
    pool,
    directPool: database.directPool,
    databaseUrl: database.url,
    setNow: (moment) => {
      current = () => moment;
    },
    async makeAccount(plan = "pro") {
      const { id } = await createAccount(prisma, { email: `account-${++accounts}@example.com`, plan });
      await pool.query("UPDATE account SET created_at = created_at - interval '2 days' WHERE id = $1", [id]);
      return id;
    },
    async signIn(accountId, role = "owner", app = instance(0)) {
      const { personId, email } = await addPerson(pool, accountId, role);
      const token = await startSession(pool, { personId, accountId, now: current() });
      const cookie = cookieOf.write(token).split(";")[0] ?? "";
      return { accountId, personId, email, cookie, ...requester(app, config.url, cookie) };
    },
    takeMails,
    anonymous: (app = instance(0)) => requester(app, config.url),
  };
}

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { describeWithRedis, freePort, useDatabase } from "@waymark/testing";
import pg from "pg";
import { createExaminer, writeSettings } from "./installation.fixture.js";

const database = useDatabase();
const examine = createExaminer(database);
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "waymark-mistakes-"));
});
afterAll(() => rm(folder, { recursive: true }));

interface Visit {
  env?: NodeJS.ProcessEnv;
  args?: readonly string[];
  now?: () => Date;
  /** Undoes the mistake. */
  end?(): unknown;
}

interface Mistake {
  title: string;
  check: string;
  says: RegExp;
  cure: RegExp;
  make(): Visit | Promise<Visit>;
}

/** Makes each mistake, and expects one sentence and its cure; before it the check finds nothing wrong. */
function play(mistakes: readonly Mistake[]): void {
  for (const { title, check, says, cure, make } of mistakes)
    it(title, async () => {
      expect((await examine())[check]?.state).not.toBe("wrong");
      const { env, args, now, end } = await make();
      try {
        const found = (await examine(env, args, now))[check];
        expect(found).toMatchObject({ state: "wrong" });
        expect(found?.says).toMatch(says);
        expect(found?.cure).toMatch(cure);
        expect([found?.says, found?.cure].join(" ")).toMatch(/^[^\n]+\.$/);
      } finally {
        await end?.();
      }
    });
}

const at = (change: (url: URL) => unknown) => {
  const url = new URL(database.url);
  change(url);
  return { env: { DATABASE_URL: url.href, DIRECT_DATABASE_URL: url.href } };
};

async function connect(...names: readonly string[]): Promise<Visit> {
  const clients = names.map((name) => new pg.Client({ connectionString: database.url, application_name: name }));
  for (const client of clients) await client.connect();
  return { end: () => Promise.all(clients.map((client) => client.end())) };
}

describe("a mistake with the database", () => {
  play([
    {
      title: "a name that is not there",
      check: "database",
      says: /refuses the connection: .*nobody_has_it/,
      cure: /Without it/,
      make: () => at((url) => (url.pathname = "/nobody_has_it")),
    },
    {
      title: "a port where nothing listens",
      check: "database",
      says: /cannot be reached/,
      cure: /Without it/,
      make: () => at((url) => (url.port = "1")),
    },
    {
      title: "the address of another kind of database",
      check: "database",
      says: /must be URLs that start with postgres:/,
      cure: /Without it/,
      make: () => at((url) => (url.href = "mysql://localhost/waymark")),
    },
    {
      title: "a migration that was forgotten",
      check: "schema",
      says: /older than this release: run its 'waymark migrate'/,
      cure: /wait/,
      async make() {
        const newest = "(SELECT max(migration_name) FROM _prisma_migrations)";
        const { rows } = await database.pool.query(
          `UPDATE _prisma_migrations SET migration_name = 'x' || migration_name WHERE migration_name = ${newest} RETURNING id`,
        );
        const back = "UPDATE _prisma_migrations SET migration_name = substr(migration_name, 2) WHERE id = $1";
        return { end: () => database.pool.query(back, [rows[0].id]) };
      },
    },
    {
      title: "a clock ten minutes ahead",
      check: "clock",
      says: /10 m 00 s ahead of/,
      cure: /NTP/,
      make: () => ({ now: () => new Date(Date.now() + 600_000) }),
    },
    {
      title: "services of two releases",
      check: "versions",
      says: /^Services run several releases: 1\.2\.0 \(trace-api\), 1\.3\.0 \(trace-api, worker\)\.$/,
      cure: /Upgrade/,
      make: () => connect("waymark trace-api 1.2.0", "waymark trace-api 1.3.0", "waymark worker 1.3.0"),
    },
    {
      title: "no worker",
      check: "versions",
      says: /No worker/,
      cure: /Start it/,
      make: () => connect("waymark trace-api 1.3.0"),
    },
    {
      title: "alerts that nobody sends",
      check: "mails",
      says: /^Waiting for over 10 minutes: 1 alert; the provider answers 401\.$/,
      cure: /worker/,
      async make() {
        await database.pool.query(`
          INSERT INTO delivery (account_id, event_id, channel_id, type, due_at, last_error, is_collecting)
          VALUES (gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'trace.failed', now() - interval '11 minutes',
            'the provider answers 401', false)`);
        return { end: () => database.pool.query("DELETE FROM delivery") };
      },
    },
  ]);
});

async function startRedis(...args: readonly string[]): Promise<Visit> {
  const port = await freePort();
  const flags = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--save", "", ...args];
  const server: ChildProcess = spawn("redis-server", flags, { stdio: ["ignore", "pipe", "ignore"] });
  for await (const text of server.stdout ?? []) if (String(text).includes("Ready to accept")) break;
  const end = async () => {
    server.kill("SIGKILL");
    await once(server, "exit");
  };
  return { env: { REDIS_URL: `redis://127.0.0.1:${port}` }, end };
}

describeWithRedis("a mistake with Redis", () => {
  play([
    {
      title: "an address where nothing listens",
      check: "Redis",
      says: /no answer: .*ECONNREFUSED/,
      cure: /REDIS_URL/,
      make: () => ({ env: { REDIS_URL: "redis://127.0.0.1:1" } }),
    },
    {
      title: "a policy that drops jobs",
      check: "Redis",
      says: /drops jobs .*allkeys-lru/,
      cure: /noeviction/,
      make: () => startRedis("--appendonly", "yes", "--maxmemory-policy", "allkeys-lru"),
    },
    {
      title: "no persistence",
      check: "Redis",
      says: /a crash loses queued jobs/,
      cure: /appendonly yes/,
      make: () => startRedis(),
    },
  ]);
});

async function serve(server: Server, scheme: string): Promise<Visit> {
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const url = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { env: { TRACE_API_URL: url }, end: () => new Promise((done) => server.close(done)) };
}

describe("a mistake with an address", () => {
  const address = (title: string, url: string, says: RegExp, cure: RegExp): Mistake => {
    return { title, check: "collector", says, cure, make: () => ({ env: { COLLECTOR_URL: url } }) };
  };
  play([
    address("no address at all", "collect.example.com", /COLLECTOR_URL is no address/, /Write it as https:/),
    address("a path", "https://localhost/collect", /has a path: \/collect/, /own domain/),
    address("a domain without DNS", "https://nobody.invalid", /No address is known/, /DNS record/),
    address("no encryption", "http://192.0.2.1", /not encrypted/, /TLS/),
    {
      title: "a certificate that nobody signed",
      check: "trace API",
      says: /^127\.0\.0\.1:\d+: /,
      cure: /proxy's log/,
      make: () => serve(createTlsServer(), "https"),
    },
    {
      title: "a proxy without its service",
      check: "trace API",
      says: /answers 502/,
      cure: /log/,
      make: () =>
        serve(
          createServer((_request, response) => response.writeHead(502).end()),
          "http",
        ),
    },
  ]);
});

describe("a mistake with backups", () => {
  const backups = () => join(folder, "backups");
  const args = () => ["--backups", backups()];
  const end = () => rm(backups(), { recursive: true, force: true });
  play([
    {
      title: "a folder that is not there",
      check: "backup",
      says: /cannot be read/,
      cure: /Name the folder/,
      make: () => ({ args: args() }),
    },
    {
      title: "no backup",
      check: "backup",
      says: /has no backup/,
      cure: /by a timer/,
      async make() {
        await mkdir(backups());
        return { args: args(), end };
      },
    },
    {
      title: "a timer that stopped",
      check: "backup",
      says: /is 27\S* h.* old/,
      cure: /timer/,
      async make() {
        await mkdir(backups());
        await writeFile(join(backups(), "a.dump"), "x");
        const old = Date.now() / 1_000 - 27 * 3_600;
        await utimes(join(backups(), "a.dump"), old, old);
        return { args: args(), end };
      },
    },
  ]);
});

describe("a mistake with settings", () => {
  const password = { POSTGRES_PASSWORD: "a-password-of-the-test" };
  const setting = (
    title: string,
    lines: Record<string, string>,
    check: string,
    says: RegExp,
    cure: RegExp,
  ): Mistake => {
    return { title, check, says, cure, make: async () => ({ args: ["--settings", await writeSettings(lines)] }) };
  };
  const from = "Me <me@example.com>";
  play([
    setting("a misspelt name", { ALERTS_FROM: from }, "settings", /did you mean ALERT_FROM/, /Mend/),
    setting("a name that nothing reads", { NONSENSE: "1" }, "settings", /^NONSENSE is not read\.$/, /Mend/),
    setting("a deleted one", { COLLECTOR_FILES: "x" }, "settings", /no effect any more: delete it/, /delete/),
    setting("all trusted as proxies", { TRUSTED_PROXIES: "::/0" }, "settings", /choose its address/, /Mend/),
    setting("all networks for channels", { WEBHOOK_ALLOW_PRIVATE: "0.0.0.0/0" }, "settings", /private servers/, /Mend/),
    setting("no look at certificates", { NODE_TLS_REJECT_UNAUTHORIZED: "0" }, "settings", /every certificate/, /Mend/),
    setting("a short password", { POSTGRES_PASSWORD: "short" }, "passwords", /Shorter than 12/, /openssl/),
    setting(
      "one password twice",
      { ...password, REDIS_PASSWORD: password.POSTGRES_PASSWORD },
      "passwords",
      /The same password stands in POSTGRES_PASSWORD, REDIS_PASSWORD/,
      /openssl/,
    ),
    setting("no way for mails", password, "mail", /nobody is told/, /SMTP_URL/),
    setting("mails without a sender", { SMTP_URL: "smtp://x" }, "mail", /ALERT_FROM is missing/, /Set both/),
    {
      title: "a mail server that is not there",
      check: "mail",
      says: /not taken: .*ECONNREFUSED/,
      cure: /SMTP_URL/,
      make: () => ({ env: { SMTP_URL: "smtp://127.0.0.1:1", ALERT_FROM: from }, args: ["--mail", "me@example.com"] }),
    },
    {
      title: "a file that everybody reads",
      check: "settings",
      says: /Everybody on this machine reads/,
      cure: /chmod 600/,
      make: async () => ({ args: ["--settings", await writeSettings(password, 0o644)] }),
    },
  ]);
});

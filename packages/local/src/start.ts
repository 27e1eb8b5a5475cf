import { once } from "node:events";
import { chmod, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { CommandError, dataFolderOf, explainError, prepareDatabase } from "@waymark/cli";
import { type RolePasswords, roleUrl } from "@waymark/database";
import { describeSystem, findEntry } from "./announce.js";
import { loadRuns, runInProcess } from "./app-in-process.js";
import { type AppProcess, startApp } from "./app-process.js";
import { askApp } from "./ask-app.js";
import { type Claim, claimDataFolder } from "./claim.js";
import { demoOperator } from "./demo/demo-accounts.js";
import { loadDemo } from "./demo/load-demo.js";
import { watchApps } from "./dev/watch-apps.js";
import { startEmbeddedPostgres } from "./embedded-postgres.js";
import { keepRunning } from "./keep-running.js";
import type { StartOptions } from "./options.js";
import { anyFreePort } from "./ports.js";
import { readRolePasswordFile } from "./role-passwords.js";
import {
  type AppName,
  apps,
  loadConfigs,
  readSettings,
  type StartSettings,
  servedApps,
  variableOf,
} from "./settings.js";

const root = fileURLToPath(new URL("../../../", import.meta.url));

const sourceFlags = () => ["--import", import.meta.resolve("tsx"), "--conditions=source"];

const inspectFlag = "--inspect=127.0.0.1:9229";

export interface StartDeps {
  options: StartOptions;
  env: NodeJS.ProcessEnv;
  say(text: string): void;
  signal: AbortSignal;
  /** Rejects with an error that nothing caught. */
  crashed: Promise<never>;
}

interface System extends StartDeps {
  settings: StartSettings;
  dataFolder: string;
  claim: Claim;
  /** The steps run in reverse order, also after a start that failed halfway. */
  undo: (() => unknown)[];
  isDemoWanted: boolean;
}

/**
 * Runs all of Waymark until the signal aborts, and leaves nothing running.
 * @throws Error with a sentence when a part does not start
 */
export async function runLocalSystem(deps: StartDeps): Promise<void> {
  const { env, signal, options } = deps;
  const dataFolder = dataFolderOf(env);
  const claim = await claimDataFolder(dataFolder);
  const undo: System["undo"] = [() => claim.release()];
  try {
    const settings = await readSettings(env, loadConfigs(root, options.isWatchWanted));
    // The apps lead to each other, so each needs the others' ports before it starts.
    for (const app of servedApps) settings.ports[app] ||= await anyFreePort();
    const isDemoWanted = options.isDemoWanted ?? settings.databaseUrl === undefined;
    const running = await startAll({ ...deps, settings, dataFolder, claim, undo, isDemoWanted });
    const failure = await Promise.race([...running.map((app) => app.ended), aborted(signal), deps.crashed]);
    if (failure) throw new Error(failure);
  } catch (error) {
    // After a stop, errors are its effect.
    if (!signal.aborted) throw error;
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

async function startAll(system: System): Promise<AppProcess[]> {
  const { settings, dataFolder, claim, undo, signal } = system;
  const databaseUrl = settings.databaseUrl ?? (await openDatabase(system));
  signal.throwIfAborted();
  // Your own database gets no roles or passwords from us: its owner decides about access.
  const passwords = settings.databaseUrl ? undefined : await readRolePasswordFile(join(dataFolder, "roles.json"));
  await prepare(system, databaseUrl, passwords);
  await claim.publish({ databaseUrl });
  const databaseOf = (app: AppName) => {
    const role = app.replace("-", "_") as keyof RolePasswords;
    if (!passwords) return { DATABASE_URL: databaseUrl };
    return { DIRECT_DATABASE_URL: "", DATABASE_URL: roleUrl(databaseUrl, role, passwords[role]) };
  };
  const running: AppProcess[] = [];
  undo.push(() => Promise.all(running.map((app) => app.stop())));
  // A start after a kill ends the processes named here.
  const publishApps = () => claim.publish({ apps: running.map(({ name, identity }) => ({ name, ...identity })) });
  for await (const app of openApps(system, databaseOf, publishApps)) running.push(app);
  await publishApps();
  const failure = Promise.race(running.map((app) => app.ended)).then((how) => {
    throw new Error(how);
  });
  await Promise.race([welcome(system, databaseUrl, running), failure, aborted(signal), system.crashed]);
  return running;
}

/** Loads the demo, waits until all is ready, and prints the addresses. */
async function welcome(system: System, databaseUrl: string, running: readonly AppProcess[]): Promise<void> {
  const { say, signal, env, settings, dataFolder, claim } = system;
  const ports = await Promise.all(running.map((app) => app.ready));
  const urlOf = (app: AppName) => `http://127.0.0.1:${ports[apps.indexOf(app)]}`;
  for (const app of servedApps) await askApp({ app, url: `${urlOf(app)}/ready`, signal });
  // Nor does your own database get the demo's accounts, whose keys are printed, without --demo.
  const demo = system.isDemoWanted
    ? await loadDemo({ databaseUrl, dataFolder, now: new Date(), say, signal })
    : undefined;
  const [traceUrl, analyticsUrl, collectorUrl] = [urlOf("trace-api"), urlOf("analytics-api"), urlOf("collector")];
  await demo?.sendTraces(traceUrl);
  const dashboardUrl = dashboardUrlOf(env, settings);
  await claim.publish({ urls: servedApps.map(urlOf), collectorUrl, dashboardUrl });
  signal.throwIfAborted();
  const accounts = demo?.accounts;
  const mailFolder = join(dataFolder, "mails");
  const text = describeSystem({
    entry: await findEntry({ ...settings, databaseUrl, dashboardUrl, accounts, now: new Date() }),
    traceUrl,
    analyticsUrl,
    collectorUrl,
    isOtlpServed: settings.otlpPort !== 0 && running.every(({ identity }) => identity.pid === process.pid),
    database: describeUrl(databaseUrl),
    queue: settings.redisUrl ? describeUrl(settings.redisUrl) : "in the database",
    dataFolder,
    mails: env["RESEND_API_KEY"] || env["SMTP_URL"] ? "sent" : `written to ${mailFolder}; their links appear here`,
    accounts,
  });
  say(`\n${text}`);
}

/** Migrates; for your own database, the error names it. */
async function prepare({ settings, dataFolder }: System, url: string, passwords: RolePasswords | undefined) {
  try {
    await prepareDatabase(url, passwords);
  } catch (error) {
    if (!settings.databaseUrl) throw error;
    throw new CommandError(explainError(error, { url, from: "environment" }, dataFolder), { cause: error });
  }
}

async function openDatabase({ dataFolder, undo, say }: System): Promise<string> {
  const postgres = await startEmbeddedPostgres({ folder: join(dataFolder, "postgres") });
  undo.push(() => postgres.stop());
  postgres.keepRunning(say);
  if (postgres.adopted) say("Took over the Postgres that an earlier start left behind.");
  return postgres.connectionString;
}

async function* openApps(
  { env, say, options, settings, dataFolder, isDemoWanted, signal, crashed }: System,
  databaseOf: (app: AppName) => NodeJS.ProcessEnv,
  publishApps: () => Promise<void>,
): AsyncGenerator<AppProcess, void, void> {
  const logFolder = join(dataFolder, "logs");
  await mkdir(logFolder, { recursive: true, mode: 0o700 });
  await chmod(logFolder, 0o700);
  const appEnv = appEnvironment(env, settings, dataFolder);
  if (isDemoWanted) {
    // Whoever runs the demo runs the installation.
    appEnv["OPERATORS"] ||= demoOperator;
  }
  const { isWatchWanted, inspected } = options;
  const logFileOf = (name: string) => join(logFolder, `${name}.log`);
  const start = (name: AppName) =>
    startApp({
      name,
      entry: join(root, "apps", name, isWatchWanted ? "src/main.ts" : "dist/main.js"),
      nodeFlags: [...(isWatchWanted ? sourceFlags() : []), ...(name === inspected ? [inspectFlag] : [])],
      env: { ...appEnv, ...databaseOf(name) },
      cwd: root,
      logFile: logFileOf(name),
      say,
    });
  if (!isWatchWanted && inspected === undefined && !options.areProcessesWanted && settings.isOneProcessEnough) {
    const runs = await loadRuns(root);
    for (const name of apps) {
      const furtherPort = name === "trace-api" ? settings.otlpPort : 0;
      const own = { ...appEnv, ...databaseOf(name) };
      const app = runInProcess({ name, run: runs[name], env: own, furtherPort, logFile: logFileOf(name), say });
      yield app;
      // Together they would hold the loop until connections of the first ones time out.
      await Promise.race([app.ready, aborted(signal), crashed]);
      signal.throwIfAborted();
    }
    return;
  }
  if (!isWatchWanted) {
    const pause = (ms: number, signal: AbortSignal) => wait(ms, undefined, { signal }).catch(() => undefined);
    for (const name of apps)
      yield keepRunning({ start: () => start(name), say, onRestart: publishApps, pause, now: Date.now });
    return;
  }
  const cwd = join(root, "apps/dashboard");
  const entry = join(cwd, "scripts/watch-pages.mjs");
  const pages = startApp({ name: "pages", entry, nodeFlags: [], env, cwd, logFile: logFileOf("pages"), say });
  await pages.ready;
  yield* [...watchApps({ root, names: apps, start, say }), pages];
}

/** The apps' settings: the ports, and the addresses by which they lead to each other. */
function appEnvironment(env: NodeJS.ProcessEnv, settings: StartSettings, dataFolder: string): NodeJS.ProcessEnv {
  const ports = servedApps.map((app) => [variableOf(app), settings.ports[app]] as const);
  return {
    ...Object.fromEntries(ports.map(([name, port]) => [`${name}_URL`, `http://127.0.0.1:${port}`])),
    ...env,
    DASHBOARD_URL: dashboardUrlOf(env, settings),
    WAYMARK_DATA_DIR: dataFolder,
    ...Object.fromEntries(ports.map(([name, port]) => [`${name}_PORT`, String(port)])),
  };
}

/** Cookies belong to a host, so links in mails, redirects and the terminal use the same. */
function dashboardUrlOf(env: NodeJS.ProcessEnv, { ports }: StartSettings): string {
  return (env["DASHBOARD_URL"] || `http://127.0.0.1:${ports.dashboard}`).replace(/\/+$/, "");
}

function describeUrl(text: string): string {
  const url = new URL(text);
  return `${url.protocol}//${url.host}${url.pathname}`;
}

async function aborted(signal: AbortSignal): Promise<undefined> {
  if (!signal.aborted) await once(signal, "abort");
}

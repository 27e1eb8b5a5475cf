import { chmod, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { CommandError, dataFolderOf, explainError, prepareDatabase } from "@waymark/cli";
import { type RolePasswords, roleUrl } from "@waymark/database";
import { describeSystem, findEntry } from "./announce.js";
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
import { type AppName, apps, loadConfigs, readSettings, type StartSettings } from "./settings.js";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** Node's flags for TypeScript, with workspace packages from their sources. */
const sourceFlags = () => ["--import", import.meta.resolve("tsx"), "--conditions=source"];

const inspectFlag = "--inspect=127.0.0.1:9229";

export interface StartDeps {
  options: StartOptions;
  env: NodeJS.ProcessEnv;
  /** Writes a line for the person at the terminal. */
  say(text: string): void;
  /** Aborting it stops the system. */
  signal: AbortSignal;
}

/**
 * Runs all of Waymark until the signal aborts, and leaves nothing running.
 * @throws Error with a sentence when a part does not start
 */
export async function runLocalSystem(deps: StartDeps): Promise<void> {
  const { env, signal } = deps;
  const dataFolder = dataFolderOf(env);
  const claim = await claimDataFolder(dataFolder);
  // The steps run in reverse order, also after a start that failed halfway.
  const undo: (() => unknown)[] = [() => claim.release()];
  try {
    const settings = await readSettings(env, loadConfigs(root, deps.options.isWatchWanted));
    // The apps lead to each other, so each needs the others' ports before it starts.
    for (const [name, port] of Object.entries(settings.ports)) {
      if (port === 0) settings.ports[name as keyof StartSettings["ports"]] = await anyFreePort();
    }
    const running = await startAll(deps, { settings, dataFolder, claim, undo });
    const failure = await Promise.race([...running.map((app) => app.ended), aborted(signal)]);
    if (failure) throw new Error(failure);
  } catch (error) {
    // After a stop, errors are its effect.
    if (!signal.aborted) throw error;
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

interface Context {
  settings: StartSettings;
  dataFolder: string;
  claim: Claim;
  undo: (() => unknown)[];
}

/** Starts everything, prints the addresses, and returns the apps. */
async function startAll(deps: StartDeps, context: Context): Promise<AppProcess[]> {
  const { settings, dataFolder, claim, undo } = context;
  const databaseUrl = settings.databaseUrl ?? (await openDatabase(context, deps.say));
  deps.signal.throwIfAborted();
  // Your own database gets no roles or passwords from us: its owner decides about access.
  const passwords = settings.databaseUrl ? undefined : await readRolePasswordFile(join(dataFolder, "roles.json"));
  await prepare(databaseUrl, passwords, context);
  await claim.publish({ databaseUrl });
  let running: AppProcess[] = [];
  // A start after a kill ends the processes named here.
  const publishApps = () => claim.publish({ apps: running.map(({ name, identity }) => ({ name, ...identity })) });
  running = await openApps(deps, { ...context, databaseUrl, passwords, publishApps });
  undo.push(() => Promise.all(running.map((app) => app.stop())));
  await publishApps();
  const failure = Promise.race(running.map((app) => app.ended)).then((how) => {
    throw new Error(how);
  });
  await Promise.race([welcome(deps, { ...context, databaseUrl, running }), failure, aborted(deps.signal)]);
  return running;
}

/** Loads the demo, waits until all is ready, and prints the addresses. */
async function welcome(
  { options, say, signal, env }: StartDeps,
  { settings, dataFolder, claim, databaseUrl, running }: Context & { databaseUrl: string; running: AppProcess[] },
): Promise<void> {
  // Nor does your own database get the demo's accounts, whose keys are printed, without --demo.
  const demo = isDemoWanted(options, settings)
    ? await loadDemo({ databaseUrl, dataFolder, now: new Date(), say, signal })
    : undefined;
  const ports = await Promise.all(running.map((app) => app.ready));
  const openReady = async (app: AppName) => {
    const url = `http://127.0.0.1:${ports[apps.indexOf(app)]}`;
    await askApp({ app, url: `${url}/ready`, signal });
    return url;
  };
  const traceUrl = await openReady("trace-api");
  const analyticsUrl = await openReady("analytics-api");
  const collectorUrl = await openReady("collector");
  const urls = [traceUrl, analyticsUrl, collectorUrl, await openReady("dashboard")];
  await demo?.sendTraces(traceUrl);
  const dashboardUrl = dashboardUrlOf(env, settings.ports.dashboard);
  await claim.publish({ urls, collectorUrl, dashboardUrl });
  signal.throwIfAborted();
  const accounts = demo?.accounts;
  say(
    `\n${describeSystem({
      entry: await findEntry({ ...settings, databaseUrl, dashboardUrl, accounts, now: new Date() }),
      traceUrl,
      analyticsUrl,
      collectorUrl,
      database: describeUrl(databaseUrl),
      queue: settings.redisUrl ? describeUrl(settings.redisUrl) : "in the database",
      dataFolder,
      mails: env["RESEND_API_KEY"]
        ? "sent by Resend"
        : `written to ${join(dataFolder, "mails")}; their links appear here`,
      accounts,
    })}`,
  );
}

/** Migrates; for your own database, the error names it. */
async function prepare(url: string, passwords: RolePasswords | undefined, { settings, dataFolder }: Context) {
  try {
    await prepareDatabase(url, passwords);
  } catch (error) {
    if (!settings.databaseUrl) throw error;
    throw new CommandError(explainError(error, { url, from: "environment" }, dataFolder), { cause: error });
  }
}

function isDemoWanted(options: StartOptions, settings: StartSettings): boolean {
  return options.isDemoWanted ?? settings.databaseUrl === undefined;
}

async function openDatabase({ dataFolder, undo }: Context, say: StartDeps["say"]): Promise<string> {
  const postgres = await startEmbeddedPostgres({ folder: join(dataFolder, "postgres") });
  undo.push(() => postgres.stop());
  postgres.keepRunning(say);
  if (postgres.adopted) say("Took over the Postgres that an earlier start left behind.");
  return postgres.connectionString;
}

async function openApps(
  { env, say, options }: StartDeps,
  {
    settings,
    dataFolder,
    databaseUrl,
    passwords,
    publishApps,
  }: Context & { databaseUrl: string; passwords: RolePasswords | undefined; publishApps(): Promise<void> },
): Promise<AppProcess[]> {
  const logFolder = join(dataFolder, "logs");
  await mkdir(logFolder, { recursive: true, mode: 0o700 });
  await chmod(logFolder, 0o700);
  const appEnv = appEnvironment(env, settings, dataFolder);
  if (isDemoWanted(options, settings)) {
    // Whoever runs the demo runs the installation.
    appEnv["OPERATORS"] ||= demoOperator;
    // The demo's running trace ends like one whose agent was killed.
    appEnv["TRACE_STALE_AFTER"] ??= "1d";
  }
  const { isWatchWanted, inspected } = options;
  const start = (name: AppName) => {
    const role = name.replace("-", "_") as keyof RolePasswords;
    return startApp({
      name,
      entry: join(root, "apps", name, isWatchWanted ? "src/main.ts" : "dist/main.js"),
      nodeFlags: [...(isWatchWanted ? sourceFlags() : []), ...(name === inspected ? [inspectFlag] : [])],
      env: {
        ...appEnv,
        ...(passwords && { DIRECT_DATABASE_URL: "" }),
        DATABASE_URL: passwords ? roleUrl(databaseUrl, role, passwords[role]) : databaseUrl,
      },
      cwd: root,
      logFile: join(logFolder, `${name}.log`),
      say,
    });
  };
  if (!isWatchWanted) {
    return apps.map((name) =>
      keepRunning({ start: () => start(name), say, onRestart: publishApps, pause: pauseUnlessStopped, now: Date.now }),
    );
  }
  const pages = startApp({
    name: "pages",
    entry: join(root, "apps/dashboard/scripts/watch-pages.mjs"),
    nodeFlags: [],
    env,
    cwd: join(root, "apps/dashboard"),
    logFile: join(logFolder, "pages.log"),
    say,
  });
  await pages.ready;
  return [...watchApps({ root, names: apps, start, say }), pages];
}

function pauseUnlessStopped(ms: number, signal: AbortSignal): Promise<void> {
  return wait(ms, undefined, { signal }).catch(() => undefined);
}

/** The apps' settings: the ports, and the addresses by which they lead to each other. */
function appEnvironment(env: NodeJS.ProcessEnv, { ports }: StartSettings, dataFolder: string): NodeJS.ProcessEnv {
  return {
    TRACE_API_URL: `http://127.0.0.1:${ports.trace}`,
    ANALYTICS_API_URL: `http://127.0.0.1:${ports.analytics}`,
    COLLECTOR_URL: `http://127.0.0.1:${ports.collector}`,
    ...env,
    DASHBOARD_URL: dashboardUrlOf(env, ports.dashboard),
    WAYMARK_DATA_DIR: dataFolder,
    TRACE_API_PORT: String(ports.trace),
    ANALYTICS_API_PORT: String(ports.analytics),
    COLLECTOR_PORT: String(ports.collector),
    DASHBOARD_PORT: String(ports.dashboard),
  };
}

/** Cookies belong to a host, so links in mails, redirects and the terminal use the same. */
function dashboardUrlOf(env: NodeJS.ProcessEnv, port: number): string {
  return (env["DASHBOARD_URL"] || `http://127.0.0.1:${port}`).replace(/\/+$/, "");
}

/** The URL for the terminal, without user and password. */
function describeUrl(text: string): string {
  const url = new URL(text);
  return `${url.protocol}//${url.host}${url.pathname}`;
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
}

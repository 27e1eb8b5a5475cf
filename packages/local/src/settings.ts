import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { isPortFree } from "./ports.js";

/** The apps, in the order of their start. */
export const apps = ["trace-api", "analytics-api", "collector", "worker", "dashboard"] as const;
export type AppName = (typeof apps)[number];

/** The apps that others than the system call; the worker has only metrics. */
export const servedApps = ["trace-api", "analytics-api", "collector", "dashboard"] as const;

export const variableOf = (app: string) => app.toUpperCase().replace("-", "_");

/** Stands for the embedded database while the configuration is checked. */
const anyDatabaseUrl = "postgres://127.0.0.1/waymark";

interface AppConfig {
  http?: { host: string; port: number };
  metrics: { port: number; isPortChosen: boolean };
  signUp?: "open" | "invited";
  processes?: number;
}

export type StartSettings = Awaited<ReturnType<typeof readSettings>>;

type LoadConfig = (app: AppName, env: NodeJS.ProcessEnv) => Promise<AppConfig>;

export function loadConfigs(root: string, isFromSources: boolean): LoadConfig {
  return async (app, env) => {
    const file = pathToFileURL(join(root, "apps", app, isFromSources ? "src/config.ts" : "dist/config.js"));
    const { loadConfig } = (await import(file.href)) as { loadConfig(env: NodeJS.ProcessEnv): AppConfig };
    return loadConfig(env);
  };
}

/**
 * Reads the configuration of all apps before the first one starts, and checks their ports.
 * @throws OptionsError with a line for every wrong variable and every taken port
 */
export async function readSettings(env: NodeJS.ProcessEnv, load: LoadConfig) {
  const problems = new Set<string>();
  const configs: Partial<Record<AppName, AppConfig | undefined>> = {};
  for (const app of apps) {
    const own = { ...env, DATABASE_URL: env["DATABASE_URL"] || anyDatabaseUrl };
    try {
      configs[app] = await load(app, own);
    } catch (error) {
      // Apps share variables, so the same problem may come twice. The app's other settings are still checked.
      const lines = problemsOf(error);
      for (const line of lines) problems.add(line);
      configs[app] = await loadWithout(lines, own, (rest) => load(app, rest));
    }
  }
  for (const problem of await findTakenPorts(configs)) problems.add(problem);
  if (problems.size > 0) throw new OptionsError([...problems]);
  const ports = servedApps.map((app) => [app, configs[app]?.http?.port ?? 0]);
  return {
    ports: Object.fromEntries(ports) as Record<(typeof servedApps)[number], number>,
    isDashboardLocal: /^(127\.|::1$|localhost$)/.test(configs.dashboard?.http?.host ?? ""),
    /** The port that exporters of OTLP over HTTP know by themselves; 0 where it is taken, or the ports are others. */
    otlpPort: configs["trace-api"]?.http?.port === 4_100 && (await isPortFree(4_318)) ? 4_318 : 0,
    isOneProcessEnough: apps.every((app) => (configs[app]?.processes ?? 1) === 1),
    isSignUpOpen: configs.dashboard?.signUp !== "invited",
    databaseUrl: env["DATABASE_URL"] || undefined,
    redisUrl: env["REDIS_URL"] || undefined,
  };
}

/** An app's configuration without its refused variables; a refused port counts as any free port. */
async function loadWithout(
  problems: readonly string[],
  env: NodeJS.ProcessEnv,
  load: (env: NodeJS.ProcessEnv) => Promise<AppConfig>,
): Promise<AppConfig | undefined> {
  const names = new Set(problems.map((line) => line.split(" ")[0] ?? ""));
  const rest = Object.entries({ ...env, DATABASE_URL: anyDatabaseUrl }).filter(([name]) => !names.has(name));
  const noPorts = [...names].filter((name) => name.endsWith("_PORT")).map((name) => [name, "0"]);
  return load(Object.fromEntries([["DATABASE_URL", anyDatabaseUrl], ...rest, ...noPorts])).catch(() => undefined);
}

/** The lines of the apps' ConfigError, known by its name: this package does not import the class. */
function problemsOf(error: unknown): readonly string[] {
  const { problems } = error as { problems?: readonly string[] };
  if (error instanceof Error && error.name === "ConfigError" && problems) return problems;
  throw error;
}

/** A sentence for each port taken by another process or given to two of our apps. */
async function findTakenPorts(configs: Partial<Record<AppName, AppConfig | undefined>>): Promise<string[]> {
  const problems: string[] = [];
  const seen = new Map<number, string>();
  for (const [app, config] of Object.entries(configs)) {
    if (!config) continue;
    const { http, metrics } = config;
    const name = variableOf(app);
    const wanted = [
      ...(http ? [{ port: http.port, variable: `${name}_PORT` }] : []),
      // Without a chosen metrics port, the app takes a free one.
      ...(metrics.isPortChosen ? [{ port: metrics.port, variable: `${name}_METRICS_PORT` }] : []),
    ];
    for (const { port, variable } of wanted.filter((it) => it.port !== 0)) {
      const other = seen.get(port);
      if (other) problems.push(`Port ${port} is that of ${other}. Set ${variable} to another port.`);
      else if (!(await isPortFree(port))) {
        problems.push(`Port ${port} is taken by another process. Set ${variable} to another port.`);
      }
      seen.set(port, variable);
    }
  }
  return problems;
}

/** Wrong arguments or variables. The message has a line for each mistake, for the person at the terminal. */
export class OptionsError extends Error {
  override name = "OptionsError";

  constructor(readonly problems: readonly string[]) {
    super(problems.join("\n"));
  }
}

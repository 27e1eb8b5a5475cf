import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { OptionsError } from "./options-error.js";
import { isPortFree } from "./ports.js";

/** The apps that run, in the order of their start. */
export const apps = ["trace-api", "analytics-api", "collector", "worker"] as const;
export type AppName = (typeof apps)[number];

/** Stands for the embedded database while the configuration is checked. */
const anyDatabaseUrl = "postgres://127.0.0.1/waymark";

/** What we use of an app's configuration. */
interface AppConfig {
  http?: { port: number };
  metrics: { port: number; isPortChosen: boolean };
}

/** What `start` was told by its environment. */
export interface StartSettings {
  ports: { trace: number; analytics: number; collector: number };
  databaseUrl: string | undefined;
  redisUrl: string | undefined;
}

/** Reads one app's configuration, as the app itself does. */
export type LoadConfig = (app: AppName, env: NodeJS.ProcessEnv) => Promise<AppConfig>;

/** The apps' own `loadConfig`, from what was built. */
export function loadBuiltConfigs(root: string): LoadConfig {
  return async (app, env) => {
    const file = pathToFileURL(join(root, "apps", app, "dist", "config.js"));
    const { loadConfig } = (await import(file.href)) as { loadConfig(env: NodeJS.ProcessEnv): AppConfig };
    return loadConfig(env);
  };
}

/**
 * Reads what the apps will read, before any of them starts, and looks whether their ports are free.
 * @throws OptionsError with a line for every variable that is wrong and every port that is taken
 */
export async function readSettings(env: NodeJS.ProcessEnv, load: LoadConfig): Promise<StartSettings> {
  const problems = new Set<string>();
  const configs: Partial<Record<AppName, AppConfig>> = {};
  for (const app of apps) {
    try {
      configs[app] = await load(app, { ...env, DATABASE_URL: env["DATABASE_URL"] || anyDatabaseUrl });
    } catch (error) {
      // Every app reads some of the same variables.
      for (const problem of problemsOf(error)) problems.add(problem);
    }
  }
  for (const problem of await findTakenPorts(configs)) problems.add(problem);
  if (problems.size > 0) throw new OptionsError([...problems]);
  const portOf = (app: AppName) => configs[app]?.http?.port ?? 0;
  return {
    ports: { trace: portOf("trace-api"), analytics: portOf("analytics-api"), collector: portOf("collector") },
    databaseUrl: env["DATABASE_URL"] || undefined,
    redisUrl: env["REDIS_URL"] || undefined,
  };
}

/** The lines of the apps' own ConfigError, which is another class for each of their packages. */
function problemsOf(error: unknown): readonly string[] {
  const { problems } = error as { problems?: readonly string[] };
  if (error instanceof Error && error.name === "ConfigError" && problems) return problems;
  throw error;
}

/** A sentence for each port that somebody else listens on, or that two of ours were given. */
async function findTakenPorts(configs: Partial<Record<AppName, AppConfig>>): Promise<string[]> {
  const problems: string[] = [];
  const seen = new Map<number, string>();
  for (const [app, { http, metrics }] of Object.entries(configs)) {
    const name = app.toUpperCase().replace("-", "_");
    const wanted = [
      ...(http ? [{ port: http.port, variable: `${name}_PORT` }] : []),
      // A metrics port that nobody chose may be any free one.
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

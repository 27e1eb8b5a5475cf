import { parseArgs } from "node:util";

/** What `pnpm start` was told. */
export interface StartOptions {
  isHelpWanted: boolean;
  isDemoWanted: boolean;
  ports: { trace: number; analytics: number; collector: number };
  databaseUrl: string | undefined;
  redisUrl: string | undefined;
}

/** What was told cannot be done; the message is for the person who said it. */
export class OptionsError extends Error {
  override name = "OptionsError";
}

export const help = `Runs all of Waymark on this machine: Postgres, the trace API, the analytics API, the collector and
the worker, with demo accounts and data. Ctrl-C stops all of it; the data is kept for the next time.

usage: npx --yes pnpm@10.34.9 start [--no-demo]

  --no-demo   make no demo accounts and data
  --help      show this

environment:
  TRACE_API_PORT, ANALYTICS_API_PORT,  other ports than 4100, 4200
  COLLECTOR_PORT                       and 4300
  DATABASE_URL                         a Postgres of your own in place of the one from npm
  REDIS_URL                            a Redis for the queue and the rate limits
  RESEND_API_KEY, ALERT_FROM           send mails through Resend in place of writing files
  WAYMARK_DATA_DIR                     where data, logs and mails are kept (.waymark)
  LOG_LEVEL                            how much the apps write to their logs (info)

README.md has all variables.
`;

/**
 * Reads arguments and environment.
 * @throws OptionsError naming what is wrong
 */
export function readOptions(args: string[], env: NodeJS.ProcessEnv): StartOptions {
  const values = readArguments(args);
  return {
    isHelpWanted: values.help ?? false,
    isDemoWanted: !values["no-demo"],
    ports: {
      trace: readPort(env, "TRACE_API_PORT", 4100),
      analytics: readPort(env, "ANALYTICS_API_PORT", 4200),
      collector: readPort(env, "COLLECTOR_PORT", 4300),
    },
    databaseUrl: env["DATABASE_URL"] || undefined,
    redisUrl: env["REDIS_URL"] || undefined,
  };
}

function readArguments(args: string[]) {
  // pnpm hands the `--` of `pnpm start -- --no-demo` on.
  const given = args[0] === "--" ? args.slice(1) : args;
  try {
    return parseArgs({ args: given, options: { help: { type: "boolean" }, "no-demo": { type: "boolean" } } }).values;
  } catch (error) {
    throw new OptionsError(`${error instanceof Error ? error.message : error} 'start --help' shows what there is.`);
  }
}

function readPort(env: NodeJS.ProcessEnv, name: string, fallback: number): number {
  const text = env[name] || String(fallback);
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new OptionsError(`${name} must be a whole number from 0 to 65535.`);
}

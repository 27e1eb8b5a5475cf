import { parseArgs } from "node:util";
import { typed } from "@waymark/cli";
import { type AppName, apps, OptionsError } from "./settings.js";

export type StartOptions = ReturnType<typeof readOptions>;

export const help = `Runs all of Waymark on this machine: Postgres, the trace API, the analytics API, the collector, the
worker and the dashboard, with demo accounts and data. Ctrl-C stops all of it; the data is kept for the next time.

usage: ${typed.start} [--demo | --no-demo] [--processes] [--inspect APP]

In a clone \`dev\` runs the apps from their sources, and restarts an app when its files or its packages change.

  --no-demo   make no demo accounts and data
  --demo      make them also in the database of DATABASE_URL (default: not there)
  --processes run each app in a process of its own, and start it again when it ends
  --inspect   let a debugger attach to an app, such as trace-api, at 127.0.0.1:9229
  --running   only check whether it runs already: exit code 3 if so, else 0
  --help      show this

environment:
  TRACE_API_PORT, ANALYTICS_API_PORT,  other ports than 4100, 4200,
  COLLECTOR_PORT, DASHBOARD_PORT       4300 and 4000
  DASHBOARD_URL                        the dashboard's address in links (http://127.0.0.1:4000)
  DATABASE_URL                         a Postgres of your own in place of the one from npm
  REDIS_URL                            a Redis for the queue and the rate limits
  RESEND_API_KEY, ALERT_FROM           send mails through Resend in place of writing files
  SMTP_URL, ALERT_FROM                 or by a mail server
  WAYMARK_DATA_DIR                     folder for data, logs and mails (.waymark)
  LOG_LEVEL                            how much the apps write to their logs (info)

docker/.env.example lists all variables.
`;

export function readOptions(args: string[]) {
  const { help: isHelpWanted = false, running: isCheckWanted = false, ...values } = readArguments(args);
  if (values.demo && values["no-demo"]) throw new OptionsError(["Give either --demo or --no-demo."]);
  return {
    isHelpWanted,
    isCheckWanted,
    isDemoWanted: values.demo ? true : values["no-demo"] ? false : undefined,
    areProcessesWanted: values.processes ?? false,
    isWatchWanted: values.watch ?? false,
    inspected: readAppName(values.inspect),
  };
}

function readAppName(name: string | undefined): AppName | undefined {
  const app = apps.find((it) => it === name);
  if (name !== undefined && !app) throw new OptionsError([`--inspect takes one of: ${apps.join(", ")}.`]);
  return app;
}

function readArguments(args: string[]) {
  // pnpm passes on the `--` of `pnpm start -- --no-demo`.
  const given = args[0] === "--" ? args.slice(1) : args;
  try {
    const flag = { type: "boolean" } as const;
    const inspect = { type: "string" } as const;
    const options = { help: flag, running: flag, demo: flag, "no-demo": flag, watch: flag, processes: flag, inspect };
    return parseArgs({ args: given, options }).values;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new OptionsError([`${reason} 'start --help' shows what there is.`]);
  }
}

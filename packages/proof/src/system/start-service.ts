import { join } from "node:path";
import { type AppProcess, anyFreePort, startApp } from "@waymark/local";
import { waitUntilReady } from "./start-system.js";

interface ServiceOptions {
  /** The folder of a built clone. */
  build: string;
  /** Holds its log and data. */
  folder: string;
  databaseUrl: string;
  env?: NodeJS.ProcessEnv;
}

/** Limits of a client's rate would refuse most requests of one machine. */
export const withoutRateLimits = {
  TRACE_RATE_LIMIT_PER_SECOND: "0",
  COLLECTOR_RATE_LIMIT_PER_ADDRESS: "0",
  TRUSTED_PROXIES: "loopback",
};

/** Starts one service of a build with the flags of its image, and waits until it is ready. */
export async function startService(
  name: string,
  { build, folder, databaseUrl, env }: ServiceOptions,
): Promise<{ port: number; process: AppProcess }> {
  const prefix = name.toUpperCase().replace("-", "_");
  const [port, metricsPort] = [await anyFreePort(), await anyFreePort()];
  const process = startApp({
    name,
    entry: join(build, "apps", name, "dist/main.js"),
    nodeFlags: [],
    env: {
      ...withoutRateLimits,
      // Of earlier builds.
      COLLECTOR_RATE_LIMIT_PER_SITE: "0",
      DATABASE_URL: databaseUrl,
      DIRECT_DATABASE_URL: databaseUrl,
      WAYMARK_DATA_DIR: join(folder, name),
      [`${prefix}_PORT`]: String(port),
      [`${prefix}_METRICS_PORT`]: String(metricsPort),
      ...env,
    },
    cwd: build,
    logFile: join(folder, `${name}.log`),
    say: () => undefined,
  });
  // Earlier builds do not tell this process that they are ready.
  await waitUntilReady(`http://127.0.0.1:${metricsPort}`);
  return { port, process };
}

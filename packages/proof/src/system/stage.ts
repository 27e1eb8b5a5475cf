import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { prepareDatabase } from "@waymark/cli";
import { createPool } from "@waymark/database";
import { startEmbeddedPostgres } from "@waymark/local";
import { freePorts, launch, makeFolder, type ServiceName, waitUntilReady, withoutRateLimits } from "./start-system.js";
import type { Undo } from "./undo.js";

export type Stage = Awaited<ReturnType<typeof openStage>>;

export const poolOptions = { maxConnections: 3, applicationName: "bench", statementTimeoutMs: 0 };

const dashboardUrl = "http://localhost:4000";

/** An app that does nothing: what `bin/idle-app.mjs` knows. */
type Idle = "express" | "express-classes" | "collector";

interface StartOptions {
  /** The folder of a built clone; without it this one's. */
  build?: string | undefined;
  idle?: Idle;
  env?: NodeJS.ProcessEnv;
}

/**
 * A Postgres with this version's tables for a bench, and single services on it.
 * @param kept a folder whose database outlives the bench
 */
export async function openStage(undo: Undo, kept?: string) {
  const folder = await makeFolder(undo);
  const postgresFolder = kept ?? join(folder, "postgres");
  const postgres = await startEmbeddedPostgres({ folder: postgresFolder });
  undo(() => postgres.stop());
  const { connectionString } = postgres;
  await prepareDatabase(connectionString, undefined);
  const pool = createPool({ connectionString, ...poolOptions });
  undo(() => pool.end());
  const start = async (name: ServiceName, { build, idle, env }: StartOptions = {}) => {
    const ports = await freePorts();
    const app = launch(name, {
      build,
      ...(idle && { entry: fileURLToPath(new URL("../../bin/idle-app.mjs", import.meta.url)) }),
      folder,
      ports,
      env: {
        ...withoutRateLimits,
        TRUSTED_PROXIES: "loopback",
        OTLP_GRPC_PORT: "0",
        // Of earlier builds.
        COLLECTOR_RATE_LIMIT_PER_SITE: "0",
        DATABASE_URL: connectionString,
        DIRECT_DATABASE_URL: "",
        DASHBOARD_URL: dashboardUrl,
        ...(idle && { IDLE_APP: idle, IDLE_PORT: String(ports.port) }),
        ...env,
      },
    });
    undo(() => app.stop(1_000));
    // Earlier builds do not tell this process that they are ready.
    await (idle ? app.ready : waitUntilReady(`http://127.0.0.1:${ports.metricsPort}`));
    return { app, port: ports.port, pid: app.identity.pid };
  };
  const dataFolder = join(postgresFolder, "data");
  return { folder, connectionString, pool, url: () => dashboardUrl, start, postgres: { dataFolder } };
}

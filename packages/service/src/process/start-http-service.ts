import type { RequestListener } from "node:http";
import type { PoolOptions } from "@waymark/database";
import type pg from "pg";
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import { placeIn } from "./cluster/messages.js";
import type { Member, Siblings } from "./cluster/siblings.js";
import { connectionLimits } from "./connections.js";
import type { databaseConfig } from "./env.js";
import { Leaving } from "./leaving.js";
import { listen } from "./listen.js";
import { createLogger } from "./logger.js";
import { openDatabase } from "./open-stores.js";
import {
  answerReady,
  type Checks,
  observeReadiness,
  openOperationsServer,
  type ReadinessChecks,
  readiness,
} from "./operations-server.js";
import { type ProcessLike, type Running, runProcess } from "./run-process.js";
import { type SettingNotice, warnOfSettings } from "./setting-notices.js";

export interface HttpServiceConfig {
  http: { host: string; port: number };
  metrics: { host: string; port: number; isPortChosen: boolean };
  database: ReturnType<typeof databaseConfig>;
  redisUrl?: string | undefined;
  processes?: number;
  notices?: readonly SettingNotice[];
}

export interface ServiceParts<Config> {
  config: Config;
  pool: pg.Pool;
  registry: Registry;
  log: Logger;
  /** Undefined in the only process. */
  siblings: Siblings | undefined;
  stores: Checks;
}

export interface FurtherServer {
  /** Lets calls in hand finish, and cuts the rest after the time. */
  stop(drainTimeoutMs: number): Promise<void>;
}

interface HttpApp {
  handler: RequestListener;
  checks: ReadinessChecks;
  /** Opens a further server, which starts and stops with the HTTP server. `partOf` is this process's part of a limit. */
  listenFurther?(partOf: (amount: number) => number): Promise<FurtherServer | undefined>;
  /** Ends answers that would not end by themselves, before the server waits for requests in hand. */
  beforeStop?(): void;
  /** Closes the app's own resources, after the last request and before the pool. */
  stop(): Promise<void>;
}

export interface HttpServiceOptions<Config extends HttpServiceConfig> {
  /** Such as `trace-api`: the name in logs, metrics and `pg_stat_activity`. Its ports' variables start with it, in capitals. */
  name: string;
  loadConfig(env: NodeJS.ProcessEnv): Config;
  pool?: Pick<Partial<PoolOptions>, "lockTimeoutMs" | "plansOnce" | "pipeline">;
  openApp(parts: ServiceParts<Config>): HttpApp | Promise<HttpApp>;
}

/** After a signal, requests in hand get this long. */
const drainTimeoutMs = 10_000;

/**
 * Runs an HTTP service: pool, app, operations server and HTTP server. On a signal `/ready` says no ({@link Leaving}), then they
 * close in this order: HTTP server, app, pool, operations server. {@link runProcess} has the signals and exit codes. With several
 * processes this one forks them and keeps the operations server.
 */
export async function startHttpService<Config extends HttpServiceConfig>(
  node: ProcessLike,
  options: HttpServiceOptions<Config>,
): Promise<void> {
  const place = placeIn(node.env);
  const level = node.env["LOG_LEVEL"];
  const log = createLogger({ service: options.name, level, process: place?.number, destination: node.log });
  const names = namesOf(options.name);
  await runProcess(node, log, async () => {
    const config = options.loadConfig(node.env);
    const { processes = 1, http, metrics } = config;
    if (place) {
      const { joinPrimary } = await import("./cluster/siblings.js");
      return openService(options, config, log, joinPrimary(node, place));
    }
    warnOfSettings(log, config.notices);
    if (processes === 1) return openService(options, config, log, undefined, node.furtherPort);
    const { openPrimary } = await import("./cluster/primary.js");
    const operations = { ...metrics, portVariable: names.metricsPort };
    return openPrimary({ node, log, name: options.name, processes, host: http.host, metrics: operations });
  });
}

function namesOf(service: string) {
  const prefix = service.toUpperCase().replaceAll("-", "_");
  return { port: `${prefix}_PORT`, metricsPort: `${prefix}_METRICS_PORT` };
}

async function openService<Config extends HttpServiceConfig>(
  options: HttpServiceOptions<Config>,
  config: Config,
  log: Logger,
  member?: Member,
  furtherPort?: number,
): Promise<Running> {
  const { name } = options;
  const names = namesOf(name);
  const settings = { ...options.pool, maxConnections: partOf(config.database.maxConnections, member) };
  const { pool, registry, stores } = await openDatabase({ service: name, config, log, pool: settings });
  const app = await options.openApp({ config, pool, registry, log, siblings: member?.siblings, stores });
  const { handler, checks } = app;
  const leaving = new Leaving();
  checks.leaving = leaving;
  const asked = { metrics: () => registry.metrics(), ready: () => answerReady(checks) };
  observeReadiness(registry, () => readiness(checks));
  const operations = member
    ? undefined
    : await openOperationsServer({ ...config.metrics, ...asked, portVariable: names.metricsPort });
  const { host, port } = config.http;
  const limits = {
    maxConnections: partOf(connectionLimits.maxConnections, member),
    isPortShared: member !== undefined,
  };
  const further = await app.listenFurther?.((amount) => partOf(amount, member));
  const server = await listen({ handler, host, port, portVariable: names.port, registry, limits });
  // A function around it: an app's prototypes belong to the messages of its first port.
  const around: RequestListener = (request, response) => handler(request, response);
  const second = furtherPort
    ? await listen({ handler: around, host, port: furtherPort, portVariable: names.port })
    : undefined;
  member?.serve({ metrics: () => registry.getMetricsAsJSON(), ready: asked.ready }, server.port);
  if (operations) log.info({ host, port: server.port, metricsPort: operations.port }, "listening");
  return {
    inHand: (since) => server.routesSince(since),
    ...(operations && { port: server.port }),
    async stop() {
      await leaving.tell();
      app.beforeStop?.();
      await Promise.all([server.stop(drainTimeoutMs), second?.stop(drainTimeoutMs), further?.stop(drainTimeoutMs)]);
      await app.stop();
      await pool.end();
      await operations?.stop(0);
    },
  };
}

function partOf(amount: number, member: Member | undefined): number {
  return member ? member.partOf(amount) : amount;
}

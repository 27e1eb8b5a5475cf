import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { loadConfigs, OptionsError, readSettings } from "./settings.js";

const load = loadConfigs(fileURLToPath(new URL("../../../", import.meta.url)), false);
const noPorts = { TRACE_API_PORT: "0", ANALYTICS_API_PORT: "0", COLLECTOR_PORT: "0", DASHBOARD_PORT: "0" };
const servers: Server[] = [];

async function takePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  const address = server.address();
  return typeof address === "object" && address ? address.port : 0;
}

let taken: number[];
beforeAll(async () => {
  taken = [await takePort(), await takePort(), await takePort()];
});
afterAll(() => {
  for (const server of servers) server.close();
});

async function problemsOf(env: NodeJS.ProcessEnv): Promise<readonly string[]> {
  const error = await readSettings(env, load).catch((problem: unknown) => problem);
  if (error instanceof OptionsError) return error.problems;
  throw new Error(`It was not refused: ${JSON.stringify(error)}`);
}

describe("the settings of start", () => {
  it("are those that the apps read", async () => {
    expect(await readSettings({ ...noPorts, DATABASE_URL: "", REDIS_URL: "redis://x" }, load)).toEqual({
      ports: { "trace-api": 0, "analytics-api": 0, collector: 0, dashboard: 0 },
      isDashboardLocal: true,
      otlpPort: 0,
      isOneProcessEnough: true,
      isSignUpOpen: true,
      databaseUrl: undefined,
      redisUrl: "redis://x",
    });
  });

  it("are refused all at once, each by name, whichever app reads it", async () => {
    const problems = await problemsOf({
      ...noPorts,
      TRACE_API_PORT: "http",
      DATABASE_URL: "mysql://secret@host/db",
      LOG_LEVEL: "loud",
      TRUSTED_PROXIES: "everybody",
      TRACE_STALE_AFTER: "soon",
    });
    expect(problems.map((line) => line.split(" ")[0]).sort()).toEqual([
      "DATABASE_URL",
      "LOG_LEVEL",
      "TRACE_API_PORT",
      "TRACE_STALE_AFTER",
      "TRUSTED_PROXIES",
    ]);
    expect(problems).toContain("LOG_LEVEL must be one of: trace, debug, info, warn, error, fatal, silent");
    expect(problems).toContain("DATABASE_URL must be a URL that starts with postgres:// or postgresql://");
    expect(problems.join()).not.toMatch(/secret|loud/);
  });

  it("tell a dashboard on the network from one on this machine", async () => {
    expect((await readSettings({ ...noPorts, HOST: "0.0.0.0" }, load)).isDashboardLocal).toBe(false);
  });

  it("name all ports that are taken or given twice, metrics' among them, with other mistakes", async () => {
    const [trace, collector, metrics] = taken.map(String);
    const problems = await problemsOf({
      TRACE_API_PORT: trace,
      ANALYTICS_API_PORT: trace,
      COLLECTOR_PORT: collector,
      DASHBOARD_PORT: "0",
      WORKER_METRICS_PORT: metrics,
      ALERT_MAILS_PER_ACCOUNT_PER_HOUR: "0",
    });
    expect(problems).toEqual([
      "ALERT_MAILS_PER_ACCOUNT_PER_HOUR must be a whole number from 1 to 10000",
      `Port ${trace} is taken by another process. Set TRACE_API_PORT to another port.`,
      `Port ${trace} is that of TRACE_API_PORT. Set ANALYTICS_API_PORT to another port.`,
      `Port ${collector} is taken by another process. Set COLLECTOR_PORT to another port.`,
      `Port ${metrics} is taken by another process. Set WORKER_METRICS_PORT to another port.`,
    ]);
  });
});

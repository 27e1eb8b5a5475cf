import { EventEmitter, once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { describe, expect, it } from "@jest/globals";
import { databaseVariables, freePort, useDatabase } from "@waymark/testing";
import { ConfigError, databaseConfig } from "./env.js";
import { type HttpServiceOptions, type ServiceParts, startHttpService } from "./start-http-service.js";

const database = useDatabase();
const local = { host: "127.0.0.1", port: 0 };
const config = {
  http: local,
  metrics: { ...local, isPortChosen: true },
  database: databaseConfig({ ...databaseVariables("analytics-api", database.url), DATABASE_POOL_SIZE: 1 }),
};

type Options = HttpServiceOptions<typeof config>;

/** The process notes its exit instead of ending. */
async function start(options: Pick<Options, "openApp"> & Partial<Options>, of: object = {}) {
  const emitter = new EventEmitter();
  const errors: string[] = [];
  const ended = new Promise<number>((resolve) => {
    Object.assign(emitter, {
      env: { LOG_LEVEL: "silent" },
      exit: resolve,
      stderr: { write: (text: string) => errors.push(text) },
      ...of,
    });
  });
  await startHttpService(emitter as unknown as NodeJS.Process, {
    name: "some-api",
    loadConfig: () => config,
    ...options,
  });
  return { errors, ended, signal: () => emitter.emit("SIGTERM") };
}

describe("startHttpService", () => {
  it("warns of settings in its log, once for all processes", async () => {
    const warned = async (env: NodeJS.ProcessEnv) => {
      const lines: string[] = [];
      const log = { write: (line: string) => void lines.push(line) };
      await start(
        {
          openApp: () => {
            throw new ConfigError([]);
          },
          loadConfig: () => ({ ...config, notices }),
        },
        { env, log },
      );
      return lines.map((line) => JSON.parse(line)).filter(({ level }) => level === "warn");
    };
    const notices = [{ name: "LOGLEVEL", says: "is not read: did you mean LOG_LEVEL?" }];
    expect(await warned({})).toEqual([
      expect.objectContaining({ setting: "LOGLEVEL", msg: "LOGLEVEL is not read: did you mean LOG_LEVEL?" }),
    ]);
    expect(await warned({ WAYMARK_PROCESS: "1/2" })).toEqual([]);
  });

  it("opens the app on the named pool, and stops it while the pool still answers", async () => {
    let parts: ServiceParts<typeof config> | undefined;
    let nameAtStop: unknown;
    const service = await start({
      openApp: (given) => {
        parts = given;
        return {
          handler: (_request, response) => response.end("ok"),
          checks: { required: given.stores },
          async stop() {
            const { rows } = await given.pool.query("SHOW application_name");
            nameAtStop = rows[0].application_name;
          },
        };
      },
    });
    await expect(parts?.stores["database"]?.()).resolves.toBeUndefined();
    expect(await parts?.registry.metrics()).toMatch(
      /waymark_database_connections\{state="idle",service="some-api"\} 1/,
    );
    service.signal();
    expect(await service.ended).toBe(0);
    expect(nameAtStop).toMatch(/^waymark some-api \d+\.\d+\.\d+/);
    expect(parts?.pool.ended).toBe(true);
  });

  it("answers 503 on /ready to whoever asks regularly before it refuses requests, and stops at once where nobody asks", async () => {
    const [port, metricsPort] = [await freePort(), await freePort()];
    const asked = { ...config, http: { ...local, port }, metrics: { ...config.metrics, port: metricsPort } };
    const ask = async (from: number, path: string) => {
      const answer = await fetch(`http://127.0.0.1:${from}${path}`, { headers: { Connection: "close" } });
      return [answer.status, await answer.text()];
    };
    const open = () =>
      start({
        loadConfig: () => asked,
        openApp: ({ stores }) => ({
          handler: (_request, response) => response.end("ok"),
          checks: { required: stores },
          stop: async () => undefined,
        }),
      });
    const service = await open();
    for (let asks = 0; asks < 3; asks++) {
      expect(await ask(metricsPort, "/ready")).toEqual([200, '{"status":"ok","checks":{"database":"ok"}}']);
      await new Promise((resolve) => setTimeout(resolve, 400));
    }
    service.signal();
    expect(await ask(metricsPort, "/ready")).toEqual([
      503,
      '{"error":"Not ready: stopping","checks":{"database":"ok"}}',
    ]);
    expect(await ask(port, "/")).toEqual([200, "ok"]);
    expect(await service.ended).toBe(0);
    await expect(ask(port, "/")).rejects.toThrow("fetch failed");

    const again = await open();
    expect(await ask(metricsPort, "/ready")).toEqual([200, expect.any(String)]);
    again.signal();
    await expect(ask(port, "/")).rejects.toThrow("fetch failed");
    expect(await again.ended).toBe(0);
  });

  it("exits with 2 where the configuration or the app names a variable", async () => {
    const openApp = () => {
      throw new ConfigError(["SOME_FILE cannot be read"]);
    };
    const service = await start({ openApp });
    expect(await service.ended).toBe(2);
    expect(service.errors.join()).toContain("SOME_FILE cannot be read");
  });

  it("names the variable of a port that is taken", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const service = await start({
      loadConfig: () => ({ ...config, metrics: { ...config.metrics, port } }),
      openApp: () => ({ handler: () => undefined, checks: { required: {} }, stop: async () => undefined }),
    });
    expect(await service.ended).toBe(1);
    expect(service.errors.join()).toContain("Set SOME_API_METRICS_PORT to another port.");
    other.close();
  });
});

import { describe, expect, it } from "@jest/globals";
import { allSlots } from "@waymark/auth";
import { loadConfig } from "./config.js";

const databaseUrl = "postgres://waymark@127.0.0.1/waymark";

describe("loadConfig", () => {
  it("needs the database alone", () => {
    expect(loadConfig({ DATABASE_URL: databaseUrl })).toEqual({
      http: { host: "127.0.0.1", port: 4200 },
      metrics: { host: "127.0.0.1", port: 4201, isPortChosen: false },
      database: { url: databaseUrl, directUrl: databaseUrl, maxConnections: 10 },
      redisUrl: undefined,
      processes: 1,
      slots: allSlots,
      notices: [],
    });
  });

  it("takes ports and Redis from the environment", () => {
    const env = {
      DATABASE_URL: databaseUrl,
      ANALYTICS_API_PORT: "80",
      ANALYTICS_API_METRICS_PORT: "81",
      REDIS_URL: "redis://127.0.0.1",
    };
    expect(loadConfig(env)).toMatchObject({
      http: { port: 80 },
      metrics: { port: 81, isPortChosen: true },
      redisUrl: "redis://127.0.0.1",
    });
  });

  it("names every variable that is missing or wrong, and no value", () => {
    const load = () => loadConfig({ ANALYTICS_API_PORT: "eighty", REDIS_URL: "secret" });
    expect(load).toThrow(/DATABASE_URL must be set/);
    expect(load).toThrow(/ANALYTICS_API_PORT must be a whole number/);
    expect(load).toThrow(/REDIS_URL must be a URL/);
    expect(load).not.toThrow(/secret|eighty/);
  });
});

import { describe, expect, it } from "@jest/globals";
import { loadConfig } from "./config.js";

const databaseUrl = "postgres://waymark@127.0.0.1/waymark";

describe("loadConfig", () => {
  it("needs the database alone", () => {
    expect(loadConfig({ DATABASE_URL: databaseUrl })).toEqual({
      http: { host: "127.0.0.1", port: 4300 },
      metrics: { host: "127.0.0.1", port: 4301, isPortChosen: false },
      database: { url: databaseUrl, directUrl: databaseUrl, maxConnections: 10 },
      processes: 1,
      notices: [],
      trustedProxies: [],
      countryDatabase: undefined,
      countryHeader: undefined,
      referrerSpamList: undefined,
      eventsPerSecond: { perAddress: 50, perSite: 500 },
    });
  });

  it("takes addresses, ranges and names of ranges for proxies", () => {
    const env = { DATABASE_URL: databaseUrl, TRUSTED_PROXIES: "127.0.0.1, 10.0.0.0/8,uniquelocal, 2001:db8::/32" };
    expect(loadConfig(env).trustedProxies).toEqual(["127.0.0.1", "10.0.0.0/8", "uniquelocal", "2001:db8::/32"]);
  });

  it("names every variable that is missing or wrong, and no value", () => {
    const load = () =>
      loadConfig({ COLLECTOR_PORT: "many", TRUSTED_PROXIES: "everybody", COUNTRY_HEADER: "no header: at all" });
    expect(load).toThrow(/DATABASE_URL must be set/);
    expect(load).toThrow(/COLLECTOR_PORT must be a whole number/);
    expect(load).toThrow(/TRUSTED_PROXIES must be addresses or ranges/);
    expect(load).toThrow(/COUNTRY_HEADER must be the name of a header/);
    expect(load).not.toThrow(/many|everybody|at all/);
  });
});

import { describe, expect, it } from "@jest/globals";
import { OptionsError, readOptions } from "./options.js";

describe("the options of start", () => {
  it("have defaults", () => {
    expect(readOptions([], {})).toEqual({
      isHelpWanted: false,
      isDemoWanted: true,
      ports: { trace: 4100, analytics: 4200, collector: 4300 },
      databaseUrl: undefined,
      redisUrl: undefined,
    });
  });

  it("come from arguments, also after pnpm's --, and from the environment", () => {
    const env = { TRACE_API_PORT: "1", ANALYTICS_API_PORT: "", DATABASE_URL: "postgres://x", REDIS_URL: "redis://x" };
    expect(readOptions(["--", "--no-demo"], env)).toMatchObject({
      isDemoWanted: false,
      ports: { trace: 1, analytics: 4200, collector: 4300 },
      databaseUrl: "postgres://x",
      redisUrl: "redis://x",
    });
    expect(readOptions(["--help"], {}).isHelpWanted).toBe(true);
  });

  it.each([
    [["--demo"], {}, /Unknown option '--demo'/],
    [["now"], {}, /now/],
    [[], { TRACE_API_PORT: "http" }, /TRACE_API_PORT must be a whole number/],
    [[], { ANALYTICS_API_PORT: "70000" }, /ANALYTICS_API_PORT must be/],
  ])("refuse %j %j", (args, env, message) => {
    expect(() => readOptions(args, env)).toThrow(OptionsError);
    expect(() => readOptions(args, env)).toThrow(message);
  });
});

import { describe, expect, it } from "@jest/globals";
import { z } from "zod";
import { ConfigError, commonVariables, durationVariable, integerVariable, portVariable, readEnv } from "./env.js";

const shape = { ...commonVariables, PORT: portVariable(4100), SIZE: integerVariable({ min: 1, max: 9 }).default(3) };
const database = { DATABASE_URL: "postgres://localhost/waymark" };

describe("readEnv", () => {
  it("fills in defaults, and counts an empty variable as not set", () => {
    const read = readEnv({ ...database, PORT: "", REDIS_URL: "" }, shape);
    expect(read).toMatchObject({ PORT: 4100, SIZE: 3, HOST: "127.0.0.1", LOG_LEVEL: "info" });
    expect(read.REDIS_URL).toBeUndefined();
  });

  it("names every variable that is wrong or missing, and never shows a value", () => {
    const wrong = {
      DATABASE_URL: "mysql://user:secret@host",
      REDIS_URL: "secret",
      PORT: "70000",
      SIZE: "1.5",
      LOG_LEVEL: "loud",
    };
    const error = readAndCatch(wrong);
    expect(error.problems).toEqual([
      "DATABASE_URL must be a URL that starts with postgres:// or postgresql://",
      "REDIS_URL must be a URL that starts with redis:// or rediss://",
      expect.stringMatching(/^LOG_LEVEL /),
      "PORT must be a whole number from 0 to 65535",
      "SIZE must be a whole number from 1 to 9",
    ]);
    expect(error.message).not.toContain("secret");
    expect(readAndCatch({}).problems).toEqual(["DATABASE_URL must be set"]);
  });

  it("refuses several hosts with a sentence, and takes a comma elsewhere", () => {
    const problem = "DATABASE_URL must name one host; put a proxy before several";
    expect(readAndCatch({ DATABASE_URL: "postgres://u:secret@a:5432,b:5432/waymark" }).problems).toEqual([problem]);
    expect(readAndCatch({ DATABASE_URL: "postgres://a,b/waymark" }).problems).toEqual([problem]);
    const commas = "postgres://u:a,b@host/way,mark?x=1,2";
    expect(readEnv({ DATABASE_URL: commas }, shape).DATABASE_URL).toBe(commas);
  });

  it("names a misspelt variable beside the one that is missing", () => {
    expect(readAndCatch({ DATABSE_URL: "postgres://u:secret@h/w" }).problems).toEqual([
      "DATABASE_URL must be set",
      "DATABSE_URL is not read: did you mean DATABASE_URL?",
    ]);
  });

  it("takes bounds themselves", () => {
    const read = (text: string) => readEnv({ N: text }, { N: integerVariable({ min: 1, max: 9 }) }).N;
    expect([read("1"), read("9")]).toEqual([1, 9]);
    expect(() => read("0")).toThrow(ConfigError);
    expect(() => read("10")).toThrow(ConfigError);
    expect(readEnv({ NAME: "x" }, { NAME: z.string() })).toEqual({ NAME: "x", notices: [] });
  });
});

describe("durationVariable", () => {
  const shape = { AFTER: durationVariable({ min: "1s", max: "90d" }).optional() };

  it.each([
    ["1", 1_000],
    ["1s", 1_000],
    ["90s", 90_000],
    ["30m", 1_800_000],
    ["2h", 7_200_000],
    ["1d", 86_400_000],
    ["0090", 90_000],
    ["90d", 7_776_000_000],
    ["7776000", 7_776_000_000],
    ["", undefined],
  ])("reads %j as %s milliseconds", (AFTER, expected) => {
    expect(readEnv({ AFTER }, shape).AFTER).toBe(expected);
  });

  it.each([
    "0",
    "0s",
    "91d",
    "7776001",
    "1.5h",
    "-1s",
    "1 h",
    "1H",
    "1w",
    "h",
    "1h30m",
    "1e3",
    "9999999999",
    "constructor",
  ])("refuses %j, by name and without its value", (AFTER) => {
    expect(() => readEnv({ AFTER }, shape)).toThrow(
      new ConfigError(["AFTER must be a time from 1s to 90d, such as 90s, 30m, 2h, 1d, or seconds"]),
    );
  });
});

function readAndCatch(env: NodeJS.ProcessEnv): ConfigError {
  try {
    readEnv(env, shape);
  } catch (error) {
    if (error instanceof ConfigError) return error;
  }
  throw new Error("no ConfigError");
}

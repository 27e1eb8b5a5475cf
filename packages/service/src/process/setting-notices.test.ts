import { readFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import { commonVariables } from "./env.js";
import { findNotices } from "./setting-notices.js";

const example = readFileSync(new URL("../../../../docker/.env.example", import.meta.url), "utf8");
const known = [...new Set(example.match(/\b[A-Z][A-Z0-9_]+(?==)/g))];
const told = (env: NodeJS.ProcessEnv) => findNotices(env, known).map(({ name, says }) => `${name} ${says}`);

describe("findNotices", () => {
  it("tells what was probably meant", () => {
    expect(told({ DATABSE_URL: "x", redis_url: "x", ALERTS_FROM: "x", SMTP_URI: "x", LOGLEVEL: "x" })).toEqual([
      "DATABSE_URL is not read: did you mean DATABASE_URL?",
      "redis_url is not read: did you mean REDIS_URL?",
      "ALERTS_FROM is not read: did you mean ALERT_FROM?",
      "SMTP_URI is not read: did you mean SMTP_URL?",
      "LOGLEVEL is not read: did you mean LOG_LEVEL?",
    ]);
  });

  it("leaves names of other programs, empty values, and settings of other services alone", () => {
    const foreign = [
      "HOME",
      "HOSTNAME",
      "PORT",
      "PGHOST",
      "POSTGRES_USER",
      "REDIS_PORT",
      "TERM",
      "HTTP_URL",
      "NODE_PATH",
    ];
    expect(told(Object.fromEntries(foreign.map((name) => [name, "x"])))).toEqual([]);
    expect(told({ DATABSE_URL: "" })).toEqual([]);
    const all = Object.fromEntries(known.map((name) => [name, "x"]));
    expect(known.length).toBeGreaterThan(60);
    expect(findNotices(all, Object.keys(commonVariables))).toEqual([]);
  });

  it("tells settings of earlier versions", () => {
    expect(told({ COLLECTOR_RATE_LIMIT_PER_SITE: "1", COLLECTOR_FILES: "" })).toEqual([
      "COLLECTOR_RATE_LIMIT_PER_SITE has no effect any more: delete it",
    ]);
  });

  it("tells values that open an installation, and no others", () => {
    const wide = { TRUSTED_PROXIES: "10.0.0.1, 0.0.0.0/0", WEBHOOK_ALLOW_PRIVATE: "::/0" };
    expect(told({ ...wide, NODE_TLS_REJECT_UNAUTHORIZED: "0" })).toEqual([
      expect.stringMatching(/^TRUSTED_PROXIES .*every client may choose its address/),
      expect.stringMatching(/^WEBHOOK_ALLOW_PRIVATE .*every account reaches private servers/),
      expect.stringMatching(/^NODE_TLS_REJECT_UNAUTHORIZED takes every certificate/),
    ]);
    expect(told({ TRUSTED_PROXIES: "10.0.0.0/8", WEBHOOK_ALLOW_PRIVATE: "fd12::/16" })).toEqual([]);
  });
});

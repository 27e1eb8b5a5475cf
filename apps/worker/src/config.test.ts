import { describe, expect, it } from "@jest/globals";
import { loadConfig } from "./config.js";

const DATABASE_URL = "postgres://waymark@127.0.0.1/waymark";

describe("loadConfig", () => {
  it("needs the database alone, and writes mails as files then", () => {
    expect(loadConfig({ DATABASE_URL, WAYMARK_DATA_DIR: "/data" })).toEqual({
      metrics: { host: "127.0.0.1", port: 4401, isPortChosen: false },
      database: { url: DATABASE_URL, directUrl: DATABASE_URL, maxConnections: 10 },
      redisUrl: undefined,
      mail: {
        from: "Waymark <alerts@localhost>",
        dashboardUrl: "http://localhost:4000",
        resend: undefined,
        smtp: undefined,
        isProduction: false,
        folder: "/data/mails",
        limits: { perTrace: 5, perAccount: 100 },
      },
      eventRetentionMonths: undefined,
      staleAfterMs: 86_400_000,
      rootAfterMs: 60_000,
      sweepIntervalMs: 15_000,
      notices: [],
      webhookNetworks: { isEmpty: true, has: expect.any(Function) },
    });
  });

  it("closes stale traces after a day, and those without a root after a minute, unless variables say otherwise", () => {
    expect(loadConfig({ DATABASE_URL, TRACE_STALE_AFTER: "30m" }).staleAfterMs).toBe(1_800_000);
    expect(() => loadConfig({ DATABASE_URL, TRACE_STALE_AFTER: "91d" })).toThrow(/TRACE_STALE_AFTER must be a time/);
    expect(loadConfig({ DATABASE_URL, OTEL_ROOT_AFTER: "5m" }).rootAfterMs).toBe(300_000);
    expect(() => loadConfig({ DATABASE_URL, OTEL_ROOT_AFTER: "2d" })).toThrow(/OTEL_ROOT_AFTER must be a time/);
  });

  it("takes a limit of an account's mails", () => {
    const limit = (text: string) => ({ DATABASE_URL, ALERT_MAILS_PER_ACCOUNT_PER_HOUR: text });
    expect(loadConfig(limit("10000")).mail.limits).toEqual({ perTrace: 5, perAccount: 10_000 });
    expect(() => loadConfig(limit("0"))).toThrow(/ALERT_MAILS_PER_ACCOUNT_PER_HOUR must be a whole number/);
  });

  it("needs a sender with a Resend key", () => {
    expect(() => loadConfig({ DATABASE_URL, RESEND_API_KEY: "re_1" })).toThrow(/ALERT_FROM must be set/);
    const config = loadConfig({ DATABASE_URL, RESEND_API_KEY: "re_1", ALERT_FROM: "a@example.com" });
    expect(config.mail).toMatchObject({
      from: "a@example.com",
      resend: { apiKey: "re_1", baseUrl: "https://api.resend.com" },
    });
  });

  it("takes a mail server by SMTP, with encryption but for this machine", () => {
    const smtp = (SMTP_URL: string) => loadConfig({ DATABASE_URL, SMTP_URL, ALERT_FROM: "a@example.com" }).mail.smtp;
    expect(smtp("smtps://me:p%40ss@mail.example.com")).toEqual({
      host: "mail.example.com",
      port: 465,
      isSecure: true,
      isLoopback: false,
      auth: { user: "me", pass: "p@ss" },
    });
    expect(smtp("smtp://mail.example.com:2525")).toMatchObject({ port: 2525, isSecure: false, isLoopback: false });
    expect(smtp("smtp://[::1]")).toMatchObject({ host: "::1", port: 587, isLoopback: true });
    expect(() => loadConfig({ DATABASE_URL, SMTP_URL: "smtp://localhost" })).toThrow(/ALERT_FROM must be set/);
    expect(() => loadConfig({ DATABASE_URL, SMTP_URL: "smtp://x", RESEND_API_KEY: "re", ALERT_FROM: "a@b" })).toThrow(
      /SMTP_URL must be empty with RESEND_API_KEY/,
    );
  });

  it.each([
    "mail.example.com",
    "https://x",
    "smtp://",
    "smtp://me@x",
    "smtp://x/path",
    "smtp://x?a=b",
    "smtp://a:secret%@x",
  ])("refuses %s as a mail server, without its value", (SMTP_URL) => {
    const load = () => loadConfig({ DATABASE_URL, SMTP_URL, ALERT_FROM: "a@example.com" });
    expect(load).toThrow(/^The configuration is not right:\n {2}SMTP_URL must /);
    expect(load).not.toThrow(/secret/);
  });

  it("takes a dashboard's address without a path, and with https in public", () => {
    const load = (DASHBOARD_URL: string) => loadConfig({ DATABASE_URL, DASHBOARD_URL }).mail.dashboardUrl;
    for (const url of [
      "https://w.example",
      "http://localhost:4000",
      "http://10.0.0.2:4000",
      "http://[fd00::1]",
      "http://nas.lan",
    ])
      expect(load(url)).toBe(url);
    expect(() => load("https://w.example/dashboard")).toThrow(/DASHBOARD_URL must have no path/);
    for (const url of ["http://w.example", "http://9.9.9.9"])
      expect(() => load(url)).toThrow(/DASHBOARD_URL must be https/);
  });

  it.each(["nobody", "A <a@example.com>\nBcc: b@example.com", "A <>"])("refuses %j as a sender", (ALERT_FROM) => {
    expect(() => loadConfig({ DATABASE_URL, ALERT_FROM })).toThrow(/ALERT_FROM must be like/);
  });

  it("takes slashes off the ends of base URLs", () => {
    const env = { DATABASE_URL, DASHBOARD_URL: "https://w.example/", RESEND_BASE_URL: "http://127.0.0.1:1/" };
    const { mail } = loadConfig({ ...env, RESEND_API_KEY: "re_1", ALERT_FROM: "a@example.com" });
    expect([mail.dashboardUrl, mail.resend?.baseUrl]).toEqual(["https://w.example", "http://127.0.0.1:1"]);
  });
});

import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { parseEnv } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { createCommandLine } from "../command-line.fixture.js";
import { runCommandLine } from "../program.js";

const waymark = createCommandLine({});
const exampleText = await readFile(fileURLToPath(new URL("../../../../docker/.env.example", import.meta.url)), "utf8");
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "waymark-setup-"));
  await writeFile(join(folder, ".env.example"), exampleText);
});
afterEach(() => rm(folder, { recursive: true }));

const given = ["--domain", "Example.com", "--certificates-mail", "me@example.com", "--yes"];
const setup = (...args: string[]) => waymark.run(["setup", "--into", folder, ...args]);
const readEnv = async (name = ".env") => parseEnv(await readFile(join(folder, name), "utf8"));

/** On a terminal, with an answer to each question. */
async function answer(args: readonly string[], answers: readonly string[]) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const left = [...answers];
  let asked = "";
  stderr.on("data", (chunk: Buffer) => {
    asked += chunk.toString();
    if (asked.endsWith(": ")) stdin.write(`${left.shift() ?? ""}\n`);
  });
  const context = { env: {}, stdin: Object.assign(stdin, { isTTY: true }), stdout, stderr };
  const rest = { catchInterrupts: () => new AbortController().signal, now: () => new Date() };
  const code = await runCommandLine({ ...context, ...rest }, ["setup", ...args], "1.2.3");
  return { code, asked, questions: answers.length - left.length, left };
}

describe("waymark setup", () => {
  it("writes what Compose needs in production, for the owner alone", async () => {
    const { code, stdout } = await setup(...given);
    expect(code).toBe(0);
    const env = await readEnv();
    expect(env).toMatchObject({
      COMPOSE_FILE: "compose.yaml:compose.production.yaml",
      TRACE_API_DOMAIN: "traces.example.com",
      ANALYTICS_API_DOMAIN: "stats.example.com",
      COLLECTOR_DOMAIN: "collect.example.com",
      DASHBOARD_DOMAIN: "waymark.example.com",
      ACME_EMAIL: "me@example.com",
      RESEND_API_KEY: "",
    });
    const passwords = Object.entries(env).filter(([name]) => name.endsWith("_PASSWORD"));
    expect(passwords).toHaveLength(7);
    expect(new Set(passwords.map(([, value]) => value)).size).toBe(7);
    for (const [name, value = ""] of passwords) {
      expect(value).toMatch(/^[0-9a-f]{48}$/);
      expect(stdout).toContain(name);
      expect(stdout).not.toContain(value);
    }
    expect((await stat(join(folder, ".env"))).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toEqual([".env", ".env.example"]);
    const lines = (text: string) => text.split("\n").length;
    expect(lines(await readFile(join(folder, ".env"), "utf8"))).toBe(lines(exampleText));
  });

  it("keeps every value that is there, and changes nothing when run again", async () => {
    await writeFile(join(folder, ".env"), "# mine\nPOSTGRES_PASSWORD=old\nLOG_LEVEL=warn");
    await chmod(join(folder, ".env"), 0o644);
    await setup(...given, "--mail", "re_key", "--sender", "Me <me@example.com>");
    const text = await readFile(join(folder, ".env"), "utf8");
    expect(text).toMatch(/^# mine\nPOSTGRES_PASSWORD=old\nLOG_LEVEL=warn\nREDIS_PASSWORD=/);
    expect(await readEnv()).toMatchObject({ RESEND_API_KEY: "re_key", ALERT_FROM: "Me <me@example.com>" });
    expect((await stat(join(folder, ".env"))).mode & 0o777).toBe(0o600);
    const again = await answer(["--into", folder], []);
    expect(again).toMatchObject({ code: 0, questions: 0 });
    expect(await readFile(join(folder, ".env"), "utf8")).toBe(text);
  });

  it("asks at most five questions, and again after an answer that cannot be", async () => {
    const smtp = "smtps://me:p$s@mail.example.com:465";
    const answers = ["example", "example.com", "me@example.com", smtp, ""];
    const { code, asked, left } = await answer(["--into", folder], answers);
    expect({ code, left }).toEqual({ code: 0, left: [] });
    expect(asked).toContain("'example' is no domain such as example.com.\n");
    expect(asked).toContain("The sender of mails [Waymark <waymark@example.com>]: ");
    const env = await readEnv();
    expect(env).toMatchObject({ SMTP_URL: "smtps://me:p%24s@mail.example.com:465" });
    expect(env["ALERT_FROM"]).toBe("Waymark <waymark@example.com>");
  });

  it("writes a file for each unit of systemd, each with its own role", async () => {
    const args = ["setup", "--systemd", "--into", join(folder, "etc"), "--domain", "example.com", "--yes"];
    const { files } = await waymark.json<{ files: { path: string }[] }>(...args, "--mail", "smtp://127.0.0.1:25");
    expect(files.map(({ path }) => path)).toContain(join(folder, "etc", "migrate.env"));
    const [migrate, trace, worker, dashboard, common] = await Promise.all(
      ["migrate", "trace-api", "worker", "dashboard", "common"].map((name) => readEnv(`etc/${name}.env`)),
    );
    expect(trace).toEqual({
      DATABASE_URL: `postgres://waymark_trace_api:${migrate?.["TRACE_API_DB_PASSWORD"]}@127.0.0.1:5432/waymark`,
    });
    expect(worker).toMatchObject({ SMTP_URL: "smtp://127.0.0.1:25", ALERT_FROM: "Waymark <waymark@example.com>" });
    expect(dashboard).toMatchObject({ COLLECTOR_URL: "https://collect.example.com", TRUSTED_PROXIES: "loopback" });
    expect(common).toEqual({ DASHBOARD_URL: "https://waymark.example.com" });
    const owner = /^postgres:\/\/waymark:(\w{48})@/.exec(migrate?.["DATABASE_URL"] ?? "")?.[1];
    const sql = await readFile(join(folder, "etc/database.sql"), "utf8");
    expect(sql).toContain(`PASSWORD '${owner}'`);
    expect(sql).toContain("GRANT pg_read_all_settings TO waymark;");
    for (const name of await readdir(join(folder, "etc")))
      expect((await stat(join(folder, "etc", name))).mode & 0o777).toBe(0o600);
    const again = await waymark.json<{ files: { added: string[] }[] }>(...args);
    expect(again.files.flatMap(({ added }) => added)).toEqual([]);
  });

  it("shows with --print what it would write, without secrets, and writes nothing", async () => {
    const { stdout } = await setup(...given, "--mail", "re_secret", "--print");
    expect(stdout).toContain("    TRACE_API_DOMAIN=traces.example.com\n");
    expect(stdout).toContain("    POSTGRES_PASSWORD=…\n");
    expect(stdout).not.toContain("re_secret");
    expect(await readdir(folder)).toEqual([".env.example"]);
  });

  it.each([
    ["--domain", "https://example.com", /^--domain: 'https:\/\/example.com' is no domain/],
    ["--domain", "10.0.0.1", /^--domain: '10.0.0.1' is no domain/],
    ["--certificates-mail", "me", /^--certificates-mail: 'me' is no address of mail/],
    ["--mail", "pigeon", /^--mail: Mails leave by a key re_…/],
  ])("refuses %s %s in one sentence", async (option, value, sentence) => {
    const { code, stderr } = await setup(...given, option, value);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(sentence) });
    expect(stderr.trim().split("\n")).toHaveLength(1);
    expect(await readdir(folder)).toEqual([".env.example"]);
  });

  it("refuses a sender that is no address, a missing answer, and a folder that it cannot use", async () => {
    const sender = await setup(...given, "--mail", "re_x", "--sender", "Waymark");
    expect(sender.stderr).toMatch(/^--sender: 'Waymark' is no sender/);
    expect((await setup("--yes")).stderr).toBe("--domain is needed: there is nobody to ask.\n");
    const nowhere = await waymark.run(["setup", "--into", join(folder, "none"), ...given]);
    expect(nowhere.stderr).toBe(`The folder ${join(folder, "none")} cannot be written: ENOENT.\n`);
    await mkdir(join(folder, "empty"));
    const empty = await waymark.run(["setup", "--into", join(folder, "empty"), ...given]);
    expect(empty.stderr).toMatch(/has no .env.example/);
  });
});

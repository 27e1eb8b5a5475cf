import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { readEnv } from "@waymark/service";
import { pino } from "pino";
import { createFileMailer } from "./file-mailer.js";
import { mailVariables, readMailSettings } from "./mail-variables.js";
import { openMailer } from "./open-mailer.js";

function createTestLog() {
  const lines: object[] = [];
  return { log: pino({}, { write: (line) => void lines.push(JSON.parse(line)) }), lines };
}

let folder: string;
beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), "waymark-mails-")), "mails");
});
afterEach(() => rm(join(folder, ".."), { recursive: true }));

describe("the file mailer", () => {
  it("writes a mail that mail programs read, for its owner alone, and logs where", async () => {
    const { log, lines } = createTestLog();
    const mailer = createFileMailer({ folder, from: "Waymark <alerts@localhost>", log });
    const mail = {
      to: "a@example.com",
      subject: "“ü” failed",
      text: "plain ü",
      html: "<p>rich</p>",
      idempotencyKey: "k",
    };
    expect(await mailer.send(mail)).toEqual({ outcome: "sent" });
    const path = join(folder, "k.eml");
    const written = await readFile(path, "utf8");
    expect(written).toMatch(/^From: Waymark <alerts@localhost>$/m);
    expect(written).toMatch(/^To: a@example.com$/m);
    expect(written).toMatch(/^Subject: =\?UTF-8\?/m);
    expect(written).toMatch(/^Content-Type: multipart\/alternative/m);
    expect(written).toContain("<p>rich</p>");
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(lines).toEqual([expect.objectContaining({ msg: "mail written", path, to: "a@example.com" })]);
  });

  it("replaces the file when the same mail is sent again", async () => {
    const mailer = createFileMailer({ folder, from: "a@localhost", log: createTestLog().log });
    for (const text of ["one", "two"])
      await mailer.send({ to: "b@x", subject: "s", text, html: "", idempotencyKey: "k" });
    expect(await readdir(folder)).toEqual(["k.eml"]);
    expect(await readFile(join(folder, "k.eml"), "utf8")).toContain("two");
  });
});

describe("opening the mailer", () => {
  const open = (env: Record<string, string>, log: ReturnType<typeof createTestLog>["log"]) =>
    openMailer(readMailSettings(readEnv(env, mailVariables(env))), log);

  it("warns in production that mails become files, and where", async () => {
    const [local, production] = [createTestLog(), createTestLog()];
    await open({ WAYMARK_DATA_DIR: join(folder, "..") }, local.log);
    await open(
      { WAYMARK_DATA_DIR: join(folder, ".."), NODE_ENV: "production", ALERT_FROM: "a@example.com" },
      production.log,
    );
    expect(local.lines).toEqual([]);
    expect(production.lines).toEqual([
      expect.objectContaining({ level: 40, folder, msg: expect.stringMatching(/^mails become files/) }),
    ]);
  });

  it("refuses a folder that cannot be made", async () => {
    const file = join(folder, "..", "file");
    await writeFile(file, "");
    await expect(open({ WAYMARK_DATA_DIR: file }, createTestLog().log)).rejects.toThrow(
      /WAYMARK_DATA_DIR names a folder that cannot be written: E/,
    );
  });
});

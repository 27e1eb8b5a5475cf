import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { pino } from "pino";
import { createFileMailer } from "./file-mailer.js";

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

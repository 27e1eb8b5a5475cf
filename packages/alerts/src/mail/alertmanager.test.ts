import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { describeWithProgram, freePort } from "@waymark/testing";
import { SMTPServer } from "smtp-server";

const script = fileURLToPath(new URL("../../../../docker/monitoring/alertmanager.sh", import.meta.url));
const people = { ALERT_FROM: "Waymark <alerts@example.com>", OPERATORS: "one@example.com,two@example.com" };

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "waymark-alertmanager-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Writes Alertmanager's configuration of some settings. */
function configure(env: NodeJS.ProcessEnv) {
  const variables = { PATH: "/usr/local/bin:/usr/bin:/bin", TMPDIR: folder, ...env };
  const { status, stderr } = spawnSync("sh", [script, "echo"], { env: variables, encoding: "utf8" });
  const file = join(folder, "alertmanager.yml");
  return status === 0 ? { status, file, config: readFileSync(file, "utf8") } : { status, stderr };
}

const mailOf = (env: NodeJS.ProcessEnv) => {
  const lines = (configure({ ...people, ...env }).config ?? "").matchAll(/^ {6}[ -] (\w+): (.*)$/gm);
  return Object.fromEntries([...lines].map(([, name = "", value = ""]) => [name, value]));
};

describe("the configuration of Alertmanager", () => {
  it("takes a mail server's URL, a key of Resend, and its people", () => {
    expect(mailOf({ SMTP_URL: "smtps://me%40example.com:it%27s%25:x@mail.example.com" })).toEqual({
      to: "'one@example.com,two@example.com'",
      from: "'Waymark <alerts@example.com>'",
      smarthost: "'mail.example.com:465'",
      auth_username: "'me@example.com'",
      auth_password: "'it''s%:x'",
      require_tls: "false",
      send_resolved: "true",
    });
    expect(mailOf({ SMTP_URL: "smtp://a:b@[2001:db8::1]:25/" })).toMatchObject({
      smarthost: "'[2001:db8::1]:25'",
      require_tls: "true",
    });
    expect(mailOf({ SMTP_URL: "smtp://mail.example.com" })).toMatchObject({
      smarthost: "'mail.example.com:587'",
      auth_username: "''",
      require_tls: "true",
    });
    expect(mailOf({ SMTP_URL: "smtp://127.0.0.1:2525" })).toMatchObject({ require_tls: "false" });
    expect(mailOf({ RESEND_API_KEY: "re_x", OPERATORS: "", ACME_EMAIL: "me@example.com" })).toMatchObject({
      to: "'me@example.com'",
      smarthost: "'smtp.resend.com:465'",
      auth_username: "'resend'",
      auth_password: "'re_x'",
    });
  });

  it("has no mail without a way, and refuses one that cannot work with a sentence", () => {
    expect(mailOf({})).toEqual({});
    const refused = (env: NodeJS.ProcessEnv) => configure(env);
    const people = { status: 2, stderr: "Mails of alerts need ALERT_FROM, and OPERATORS or ACME_EMAIL.\n" };
    expect(refused({ RESEND_API_KEY: "re_x", ALERT_FROM: "a@example.com" })).toEqual(people);
    expect(refused({ RESEND_API_KEY: "re_x", ACME_EMAIL: "a@example.com" })).toEqual(people);
    expect(
      refused({ SMTP_URL: "smtps://a:b@mail.example.com:466", ALERT_FROM: "a@b.co", ACME_EMAIL: "a@b.co" }),
    ).toEqual({
      status: 2,
      stderr: expect.stringMatching(/^SMTP_URL: Alertmanager speaks TLS from the first byte at port 465 alone/),
    });
  });
});

describeWithProgram("amtool", "amtool", (amtool) => {
  it("takes the configuration with and without mail", () => {
    for (const env of [{}, { SMTP_URL: "smtps://a:b%27@mail.example.com" }, { RESEND_API_KEY: "re_x" }]) {
      const { file = "" } = configure({ ...people, ...env });
      expect(execFileSync(amtool, ["check-config", file], { encoding: "utf8" })).toContain("SUCCESS");
    }
  });
});

describeWithProgram("prometheus-alertmanager", "Alertmanager", (program) => {
  it("mails an alert with its runbook to the operators", async () => {
    const mails: { to: string[]; message: string }[] = [];
    const server = new SMTPServer({
      authOptional: true,
      disabledCommands: ["STARTTLS"],
      async onData(stream, { envelope }, done) {
        mails.push({ to: envelope.rcptTo.map((it) => it.address), message: await text(stream) });
        done();
        server.emit("mail");
      },
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.server.address() as AddressInfo;
    const { file = "", config = "" } = configure({ ...people, SMTP_URL: `smtp://127.0.0.1:${port}` });
    writeFileSync(file, config.replace("group_wait: 30s", "group_wait: 0s"));
    const address = `127.0.0.1:${await freePort()}`;
    const args = [`--config.file=${file}`, `--storage.path=${folder}`, `--web.listen-address=${address}`];
    const child = spawn(program, [...args, "--cluster.listen-address="], { stdio: "ignore" });
    try {
      const mailed = once(server, "mail");
      const labels = { alertname: "WaymarkDown", severity: "page", instance: "worker:4401" };
      const annotations = { summary: "worker:4401 does not answer", runbook: "docker/RUNBOOK.md#waymarkdown" };
      const tell = () =>
        fetch(`http://${address}/api/v2/alerts`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify([{ labels, annotations }]),
        }).then(
          ({ ok }) => ok,
          () => false,
        );
      while (!(await tell())) await new Promise((resolve) => setTimeout(resolve, 100));
      await mailed;
      expect(mails[0]?.to).toEqual(["one@example.com", "two@example.com"]);
      expect(mails[0]?.message.replaceAll("=\r\n", "")).toMatch(
        /^Subject: .*WaymarkDown[\s\S]*docker\/RUNBOOK\.md#waymarkdown/m,
      );
    } finally {
      child.kill();
      await once(child, "close");
      await new Promise<void>((resolve) => server.close(() => resolve()));
    }
  });
});

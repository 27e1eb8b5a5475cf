import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { createSmtpMailer } from "./smtp-mailer.js";

const mail = { to: "a@example.com", subject: "“ü” failed", text: "t", html: "<p>h</p>", idempotencyKey: "alert-1" };
const auth = { user: "me", pass: "correct-horse" };
const closers: (() => Promise<unknown>)[] = [];
let folder: string;
let cert: string;
let key: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "waymark-smtp-"));
  const [keyFile, certFile] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const args = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  const name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
  execFileSync("openssl", [...args, ...name, "-keyout", keyFile, "-out", certFile], { stdio: "ignore" });
  [cert, key] = [readFileSync(certFile, "utf8"), readFileSync(keyFile, "utf8")];
});
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** A mail server that notes what it accepts. */
async function startServer(options: SMTPServerOptions = {}) {
  const mails: { from: unknown; to: unknown[]; isEncrypted: boolean; user: unknown; message: string }[] = [];
  const server = new SMTPServer({
    key,
    cert,
    authOptional: true,
    onAuth: ({ username, password }, _session, done) => {
      const isRight = username === auth.user && password === auth.pass;
      done(isRight ? null : new Error("Wrong"), isRight ? { user: username } : undefined);
    },
    async onData(stream, { envelope, secure, user }, done) {
      const message = await text(stream);
      const from = (envelope.mailFrom || undefined)?.address;
      mails.push({ from, to: envelope.rcptTo.map((it) => it.address), isEncrypted: secure, user, message });
      done();
    },
    ...options,
  });
  // A client that gives up.
  server.on("error", () => undefined);
  await once(server.listen(0, "127.0.0.1"), "listening");
  closers.push(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return { mails, port: (server.server.address() as AddressInfo).port };
}

interface Given {
  port: number;
  isSecure?: boolean;
  isLoopback?: boolean;
  pass?: string;
  ca?: string;
  timeoutMs?: number;
}

function send({ port, isSecure = false, isLoopback = true, pass, ca, ...more }: Given) {
  const smtp = {
    host: "127.0.0.1",
    port,
    isSecure,
    isLoopback,
    ...(pass !== undefined && { auth: { ...auth, pass } }),
  };
  const from = "Waymark <alerts@example.org>";
  return createSmtpMailer({ smtp, from, ...(ca !== undefined && { ca }), ...more }).send(mail);
}

const answer = (responseCode: number) => Object.assign(new Error("because"), { responseCode });

describe("the SMTP mailer", () => {
  it.each([true, false])("sends over TLS (from the first byte: %s) with the password", async (isSecure) => {
    const { mails, port } = await startServer({ secure: isSecure, authOptional: false });
    expect(await send({ port, isSecure, isLoopback: false, pass: auth.pass, ca: cert })).toEqual({ outcome: "sent" });
    expect(mails).toEqual([
      expect.objectContaining({ from: "alerts@example.org", to: ["a@example.com"], isEncrypted: true, user: "me" }),
    ]);
    expect(mails[0]?.message).toMatch(/^From: Waymark <alerts@example.org>\r$/m);
    expect(mails[0]?.message).toMatch(/^Subject: =\?UTF-8\?/m);
    expect(mails[0]?.message).toContain("<p>h</p>");
  });

  it("gives each attempt at a mail the same Message-ID", async () => {
    const { mails, port } = await startServer();
    for (const outcome of ["sent", "sent"]) expect(await send({ port })).toEqual({ outcome });
    for (const { message } of mails) expect(message).toMatch(/^Message-ID: <alert-1@example.org>\r$/m);
    expect(mails).toHaveLength(2);
  });

  it("sends no password and no mail without encryption, but to this machine", async () => {
    const { mails, port } = await startServer({ disabledCommands: ["STARTTLS"], allowInsecureAuth: true });
    expect(await send({ port, isLoopback: false, pass: auth.pass })).toMatchObject({ outcome: "deferred" });
    expect(mails).toEqual([]);
    expect(await send({ port, pass: auth.pass })).toEqual({ outcome: "sent" });
    expect(mails).toMatchObject([{ isEncrypted: false, user: "me" }]);
  });

  it("waits for the operator where the certificate is not trusted, or the password wrong", async () => {
    const { mails, port } = await startServer();
    const untrusted = await send({ port, isLoopback: false });
    expect(untrusted).toMatchObject({ outcome: "deferred", reason: expect.stringMatching(/certificate/) });
    const denied = await send({ port, isLoopback: false, pass: "wrong-secret", ca: cert });
    expect(denied).toMatchObject({ outcome: "deferred", reason: expect.stringMatching(/answered 535/) });
    expect(JSON.stringify(denied)).not.toContain("wrong-secret");
    expect(mails).toEqual([]);
  });

  it.each([
    ["RCPT TO", 550, "refused"],
    ["RCPT TO", 450, "deferred"],
    ["MAIL FROM", 553, "deferred"],
    ["DATA", 554, "refused"],
    ["DATA", 451, "deferred"],
  ])("counts an answer to %s of %i as %s", async (command, code, outcome) => {
    const { port } = await startServer({
      ...(command === "MAIL FROM" && { onMailFrom: (_address, _session, done) => done(answer(code)) }),
      ...(command === "RCPT TO" && { onRcptTo: (_address, _session, done) => done(answer(code)) }),
      ...(command === "DATA" && {
        onData: (stream, _session, done) => void text(stream).then(() => done(answer(code))),
      }),
    });
    const delivery = await send({ port });
    expect(delivery).toEqual({ outcome, reason: `The mail server answered ${code} because` });
  });

  it("gives up waiting for an answer, and says so", async () => {
    const server = createServer(() => undefined);
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    closers.push(async () => void server.close());
    const reason = "The mail server could not be used: no answer in time";
    expect(await send({ port, timeoutMs: 50 })).toEqual({ outcome: "deferred", reason });
  });

  it("says that nothing could be reached", async () => {
    const { port } = await startServer();
    for (const close of closers.splice(0)) await close();
    expect(await send({ port })).toMatchObject({ outcome: "deferred", reason: expect.stringMatching(/ECONNREFUSED/) });
  });
});

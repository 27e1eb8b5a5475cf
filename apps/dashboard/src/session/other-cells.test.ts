import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeEach, describe, expect, it } from "@jest/globals";
import { useDashboard } from "../dashboard.fixture.js";
import { cookieOf, password, turnOn } from "./codes.fixture.js";
import { createAuthenticator } from "./passkeys.fixture.js";

/** A server of a dashboard that is made later, since each dashboard names the other's address. */
async function listen() {
  const cell: { dashboard?: ReturnType<typeof useDashboard>; requests: number; isAway: boolean } = {
    requests: 0,
    isAway: false,
  };
  const server = createServer((request, response) => {
    cell.requests++;
    if (cell.isAway) response.writeHead(502).end();
    else cell.dashboard?.app(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  return { cell, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const [a, b] = [await listen(), await listen()];
const open = (slots: string, other: string) =>
  useDashboard({ env: { CELL_SLOTS: slots, CELL_DASHBOARDS: other, TRUSTED_PROXIES: "loopback" } });
const [home, away] = [open("00-7f", b.url), open("80-ff", a.url)];
a.cell.dashboard = home;
b.cell.dashboard = away;
beforeEach(() => {
  a.cell.requests = b.cell.requests = 0;
});

/** Signs somebody up in a cell. */
async function signUp(cell: typeof home, email: string): Promise<void> {
  const asked = await cell.anonymous().post("/sign-up", { name: "Ada", email, password }).expect(202);
  const token = /\/dashboard\/link\/([\w-]+)/.exec((await cell.takeMails())[0]?.text ?? "")?.[1];
  await cell.anonymous().post("/link", { token }).set("Cookie", cookieOf(asked.headers)).expect(200);
}

describe("sign-in over two cells", () => {
  it("finds the person's cell, with its session, and says the same of a wrong password as of nobody", async () => {
    await signUp(away, "ada@example.com");
    const entered = await home.anonymous().post("/sign-in", { email: "ada@example.com", password }).expect(200);
    expect(cookieOf(entered.headers)).toMatch(/^waymark=[89a-f][0-9a-f]\./);
    await away.anonymous().get("/me").set("Cookie", cookieOf(entered.headers)).expect(200);
    await home.anonymous().get("/me").set("Cookie", cookieOf(entered.headers)).expect(401);
    const wrong = { email: "ada@example.com", password: "another horse battery" };
    const [known, unknown] = [wrong, { ...wrong, email: "nobody@example.com" }].map((body) =>
      home.anonymous().post("/sign-in", body),
    );
    const answers = [await known, await unknown].map((answer) => [answer?.status, answer?.body]);
    expect(answers).toEqual([answers[1], [401, { error: "Wrong email or password" }]]);
    // No request goes on from the other cell.
    expect([a.cell.requests, b.cell.requests]).toEqual([0, 3]);
  });

  it("lets the person's cell mail a forgotten password's link, which works at any cell", async () => {
    await signUp(away, "eve@example.com");
    await home.anonymous().post("/forgot", { email: "eve@example.com" }).expect(202);
    expect(await home.takeMails()).toEqual([]);
    const [mail] = await away.takeMails();
    const token = /\/dashboard\/link\/([\w-]+)/.exec(mail?.text ?? "")?.[1];
    const { body } = await home.anonymous().get(`/link?token=${token}`).expect(200);
    expect(body).toMatchObject({ purpose: "reset" });
    const used = await home.anonymous().post("/link", { token, password: "a new horse battery" }).expect(200);
    await away.anonymous().get("/me").set("Cookie", cookieOf(used.headers)).expect(200);
    await home.anonymous().post("/link", { token, password }).expect(410);
  });

  it("asks for the codes that the person's cell keeps, and shows its refusals by field", async () => {
    const accountId = await away.makeAccount();
    await away.pool.query("UPDATE account SET slot = 'ff' WHERE id = $1", [accountId]);
    const grace = await away.signIn(accountId);
    const { as, recoveryCodes } = await turnOn(away, grace, new Date());
    const signIn = (code?: string) =>
      home.anonymous().post("/sign-in", { email: grace.email, password, ...(code && { code }) });
    await signIn().expect(200, { isSignedIn: false, needsCode: true });
    const { body } = await signIn("000000").expect(400);
    expect(body.fields).toEqual({ code: "Is wrong, or was used" });
    const entered = await signIn(recoveryCodes[0]).expect(200, { isSignedIn: true });
    await away.anonymous().get("/me").set("Cookie", cookieOf(entered.headers)).expect(200);
    expect((await as("get", "/me")).body.person.recoveryCodes).toBe(9);
  });

  it("takes a passkey of the person's cell at any cell, by that cell's own part of the challenge", async () => {
    const accountId = await away.makeAccount();
    await away.pool.query("UPDATE account SET slot = 'ff' WHERE id = $1", [accountId]);
    const person = await away.signIn(accountId);
    const { body: adding } = await person.post("/me/passkeys/challenge", {}).expect(200);
    const passkey = createAuthenticator();
    const credential = passkey.create({ challenge: adding.challenge });
    await person.post("/me/passkeys", { name: "phone", credential }).expect(201);
    const { body } = await home.anonymous().post("/passkey/challenge", {}).expect(200);
    const assertion = passkey.get({ challenge: body.challenge });
    const entered = await home.anonymous().post("/passkey", assertion).expect(200, { isSignedIn: true });
    await away.anonymous().get("/me").set("Cookie", cookieOf(entered.headers)).expect(200);
    await away.anonymous().post("/passkey", assertion).expect(400);
    const own = passkey.get({ challenge: body.challenge.slice(0, 43) });
    await home.anonymous().post("/passkey", own).expect(400, { error: "The passkey was not accepted" });
  });

  it("says that it cannot know while the other cell is away", async () => {
    b.cell.isAway = true;
    const { body } = await home.anonymous().post("/sign-in", { email: "who@example.com", password }).expect(503);
    expect(body).toEqual({ error: "Service temporarily unavailable" });
    await signUp(home, "max@example.com");
    await home.anonymous().post("/sign-in", { email: "max@example.com", password }).expect(200);
    b.cell.isAway = false;
  });

  it("counts guesses in the person's cell by the client's network, and mails a link beyond them", async () => {
    await signUp(away, "joe@example.com");
    const wrong = { email: "joe@example.com", password: "another horse battery" };
    const client = (body: object) => home.anonymous().post("/sign-in", body).set("X-Forwarded-For", "203.0.113.7");
    for (let guess = 0; guess < 10; guess++) await client(wrong).expect(401);
    await client({ ...wrong, password }).expect(202);
    expect(await home.takeMails()).toEqual([]);
    expect(await away.takeMails()).toMatchObject([{ to: "joe@example.com" }]);
    const direct = await away
      .anonymous()
      .post("/sign-in", { ...wrong, password })
      .expect(202);
    expect(direct.body).toEqual({ isSignedIn: false });
  });
});

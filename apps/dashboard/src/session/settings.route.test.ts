import { describe, expect, it } from "@jest/globals";
import { useDashboard } from "../dashboard.fixture.js";
import { describeClient } from "./me.route.js";

const dashboard = useDashboard();
const password = "correct horse battery";
const cookieOf = (headers: Record<string, unknown>) => String(headers["set-cookie"]).split(";")[0] ?? "";

describe("the own name", () => {
  it("changes, and may not be blank", async () => {
    const person = await dashboard.signIn(await dashboard.makeAccount(), "member");
    await person.patch("/me", { name: "  Ada Lovelace " }).expect(200);
    expect((await person.get("/me")).body.person.name).toBe("Ada Lovelace");
    await person.patch("/me", { name: "   " }).expect(400);
    await person.patch("/me", { name: "x".repeat(101) }).expect(400);
  });
});

describe("the own password", () => {
  it("is set without another one where there is none, changes with it, and ends all sessions but a new one", async () => {
    const accountId = await dashboard.makeAccount();
    const person = await dashboard.signIn(accountId);
    const first = await person.post("/me/password", { password }).expect(200);
    await person.get("/me").expect(401);
    const now = { cookie: cookieOf(first.headers) };
    const send = (body: object) => dashboard.anonymous().post("/me/password", body).set("Cookie", now.cookie);
    const fresh = "a fresh password";
    expect((await send({ password: fresh }).expect(400)).body.fields).toEqual({ current: "Required" });
    const wrong = await send({ current: "wrong horse battery", password: fresh }).expect(400);
    expect(wrong.body.fields).toEqual({ current: "Is not your password" });
    expect((await send({ current: password, password: "short" }).expect(400)).body.fields).toHaveProperty("password");
    const other = await dashboard.anonymous().post("/sign-in", { email: person.email, password }).expect(200);
    const changed = await send({ current: password, password: fresh }).expect(200);
    for (const cookie of [now.cookie, cookieOf(other.headers)]) {
      await dashboard.anonymous().get("/me").set("Cookie", cookie).expect(401);
    }
    await dashboard.anonymous().get("/me").set("Cookie", cookieOf(changed.headers)).expect(200);
    await dashboard.anonymous().post("/sign-in", { email: person.email, password: fresh }).expect(200);
  });

  it("is guessed ten times in a quarter of an hour from a left browser, and no more", async () => {
    const person = await dashboard.signIn(await dashboard.makeAccount());
    const { headers } = await person.post("/me/password", { password }).expect(200);
    const guess = () =>
      dashboard
        .anonymous()
        .post("/me/password", { current: "wrong horse battery", password: "a fresh password" })
        .set("Cookie", cookieOf(headers));
    for (let n = 0; n < 10; n++) await guess().expect(400);
    await guess().expect(429);
  });
});

describe("the own sessions", () => {
  it("are listed in words, and end one by one or all others", async () => {
    const accountId = await dashboard.makeAccount();
    const person = await dashboard.signIn(accountId);
    await person.post("/me/password", { password }).expect(200);
    const signIn = async (userAgent: string) => {
      const body = { email: person.email, password };
      const { headers } = await dashboard.anonymous().post("/sign-in", body).set("User-Agent", userAgent).expect(200);
      return cookieOf(headers);
    };
    const here = await signIn("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0");
    const there = await signIn("curl/8.5");
    const list = async () =>
      (await dashboard.anonymous().get("/me/sessions").set("Cookie", here).expect(200)).body.sessions;
    expect(await list()).toMatchObject([
      { client: "curl", isCurrent: false },
      { client: "Firefox on Linux", isCurrent: true },
      { isCurrent: false },
    ]);
    const [curl] = await list();
    const send = (path: string) => dashboard.anonymous().delete(path).set("Cookie", here);
    const stranger = await dashboard.signIn(await dashboard.makeAccount());
    await stranger.delete(`/me/sessions/${curl.id}`).expect(404);
    await send(`/me/sessions/${curl.id}`).expect(200);
    await dashboard.anonymous().get("/me").set("Cookie", there).expect(401);
    await send("/me/sessions").expect(200);
    expect(await list()).toMatchObject([{ client: "Firefox on Linux", isCurrent: true }]);
  });
});

describe("a User-Agent in words", () => {
  it.each([
    ["Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36 Edg/140.0", "Edge on Windows"],
    [
      "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/26 Safari/605.1.15",
      "Safari on macOS",
    ],
    [
      "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 Chrome/140.0.0.0 Mobile Safari/537.36",
      "Chrome on Android",
    ],
    ["", "Another program"],
  ])("%s", (userAgent, words) => {
    expect(describeClient(userAgent)).toBe(words);
  });
});

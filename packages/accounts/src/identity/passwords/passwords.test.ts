import { describe, expect, it } from "@jest/globals";
import { createRefusals } from "@waymark/service/http";
import { Registry } from "prom-client";
import { createPasswords, passwordProblem } from "./passwords.js";

const refusals = createRefusals(new Registry());
const cheap = { refusals, cost: { N: 1_024, r: 8, p: 1 } };

describe("a stored password", () => {
  it("carries its cost, differs each time, and is found again after the cost rose", async () => {
    const [first, second] = [
      await createPasswords(cheap).hash("correct horse", "a"),
      await createPasswords({ refusals }).hash("correct horse", "a"),
    ];
    expect(first).toMatch(/^scrypt\$1024\$8\$1\$[\w-]{22}\$[\w-]{43}$/);
    expect(second).toMatch(/^scrypt\$32768\$8\$3\$/);
    const { verify } = createPasswords(cheap);
    expect(await verify(first, "correct horse", "a")).toBe(true);
    expect(await verify(second, "correct horse", "a")).toBe(true);
    expect(await verify(first, "correct horsE", "a")).toBe(false);
  });

  it("is the same for both forms of an accented letter", async () => {
    const { hash, verify } = createPasswords(cheap);
    expect(await verify(await hash("caf\u00e9 caf\u00e9", "a"), "cafe\u0301 cafe\u0301", "a")).toBe(true);
  });
});

describe("one network that floods the hashes", () => {
  it("is refused above two at once and four waiting, and keeps no other network from its turn", async () => {
    const { hash } = createPasswords(cheap);
    const flood = Array.from({ length: 100 }, () => hash("correct horse", "flooding"));
    const others = Array.from({ length: 20 }, (_, n) => hash("correct horse", `other ${n}`));
    const outcomes = await Promise.allSettled(flood);
    expect(await Promise.all(others)).toHaveLength(20);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(6);
    const refused = outcomes.filter(({ status }) => status === "rejected");
    for (const each of refused) expect(each).toMatchObject({ reason: { code: "account_busy", status: 429 } });
    await hash("correct horse", "flooding");
  });

  it("is answered 503, as everybody, where forty of all networks wait", async () => {
    const { hash } = createPasswords(cheap);
    const all = await Promise.allSettled(Array.from({ length: 50 }, (_, n) => hash("correct horse", `network ${n}`)));
    expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(42);
    expect(all.at(-1)).toMatchObject({ reason: { code: "busy", status: 503 } });
  });
});

describe("wrong passwords from twelve networks", () => {
  it("take all places of strangers, and none of a network that had a right password", async () => {
    const { hash, verify } = createPasswords(cheap);
    const stored = await hash("correct horse", "home");
    expect(await verify(stored, "correct horse", "home")).toBe(true);
    const flood = Promise.allSettled(
      Array.from({ length: 72 }, (_, n) => verify(stored, "wrong horse", `network ${n % 12}`)),
    );
    const strange = expect(verify(stored, "correct horse", "elsewhere")).rejects.toMatchObject({ status: 503 });
    expect(await verify(stored, "correct horse", "home")).toBe(true);
    await strange;
    expect((await flood).filter(({ status }) => status === "fulfilled")).toHaveLength(42);
  });
});

describe("a new password", () => {
  it.each(["short", "123456789", "x".repeat(201), "Password123", "qwertyuiop", "ababababab"])(
    "%s is refused",
    (text) => {
      expect(passwordProblem(text)).toEqual(expect.any(String));
    },
  );

  it.each(["correct horse", "x7fq-19ab-", "ünïcödé wörds", `${"xyz".repeat(66)}ab`])("%s is good", (text) => {
    expect(passwordProblem(text)).toBeUndefined();
  });
});

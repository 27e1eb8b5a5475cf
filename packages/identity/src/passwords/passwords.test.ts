import { describe, expect, it } from "@jest/globals";
import { passwordProblem } from "./password-problem.js";
import { createPasswords } from "./passwords.js";

const cheap = { cost: { N: 1_024, r: 8, p: 1 } };

describe("a stored password", () => {
  it("carries its cost, differs each time, and is found again after the cost rose", async () => {
    const [first, second] = [
      await createPasswords(cheap).hash("correct horse"),
      await createPasswords().hash("correct horse"),
    ];
    expect(first).toMatch(/^scrypt\$1024\$8\$1\$[\w-]{22}\$[\w-]{43}$/);
    expect(second).toMatch(/^scrypt\$32768\$8\$3\$/);
    const { verify } = createPasswords(cheap);
    expect(await verify(first, "correct horse")).toBe(true);
    expect(await verify(second, "correct horse")).toBe(true);
    expect(await verify(first, "correct horsE")).toBe(false);
  });

  it("is the same for both forms of an accented letter", async () => {
    const { hash, verify } = createPasswords(cheap);
    expect(await verify(await hash("caf\u00e9 caf\u00e9"), "cafe\u0301 cafe\u0301")).toBe(true);
  });
});

describe("the queue", () => {
  it("computes two at once, lets twenty wait, and answers further ones 503", async () => {
    const { hash } = createPasswords(cheap);
    const all = await Promise.allSettled(Array.from({ length: 25 }, () => hash("correct horse")));
    expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(22);
    expect(all.find(({ status }) => status === "rejected")).toMatchObject({ reason: { code: "busy", status: 503 } });
    await hash("correct horse");
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

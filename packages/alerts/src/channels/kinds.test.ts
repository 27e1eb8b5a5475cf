import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { compose, sendBy, url } from "../sending/message.fixture.js";
import { channelKinds, kinds, maskAddress } from "./kinds.js";

const secret = "https://hooks.example.com/services/T0/B0/abcdefgh1234?sig=topsecret";

describe("the table of kinds", () => {
  it.each(channelKinds)("has %s, whose message of a failure names agent, trace, span, error and link", async (name) => {
    const { body } = await sendBy(kinds[name], compose());
    for (const part of ["support_bot", "0190", "error", "call", `${url}/dashboard/traces/0190`]) {
      expect(body).toContain(part);
    }
  });

  it.each(channelKinds)("has an address rule of %s", (name) => {
    const { readAddress, addressRule } = kinds[name];
    expect(readAddress("nothing")).toBeUndefined();
    expect(addressRule).toMatch(/^Must be /);
  });
});

describe("a kind for chats", () => {
  it("has its name in the table alone: no other source decides by it", () => {
    const chats = channelKinds.filter((kind) => kinds[kind].isPublic !== true);
    const cwd = fileURLToPath(new URL("../../../../", import.meta.url));
    const count = (pattern: string) => {
      const args = ["grep", "-ohE", pattern, "--", "apps/*.ts", "apps/*.tsx", "packages/*.ts", ":!*.test.ts"];
      return execFileSync("git", args, { cwd, encoding: "utf8" }).trim().split("\n").length;
    };
    expect(count(`\\b(${chats.join("|")})/(${chats.join("|")})\\.js`)).toBe(chats.length);
    expect(() => count(`["'](${chats.join("|")})["']`)).toThrow();
  });
});

describe("an address", () => {
  it("is masked but for mails and webhooks", () => {
    const shown = channelKinds.filter((kind) => maskAddress(kind, secret) === secret);
    expect(shown).toEqual(["mail", "webhook"]);
    for (const kind of channelKinds.filter((each) => !shown.includes(each))) {
      expect(maskAddress(kind, secret)).toBe("https://hooks.example.com/…cret");
    }
  });

  it("of a kind that this release does not know is not shown at all", () => {
    for (const kind of ["pager", "toString", "__proto__", ""]) expect(maskAddress(kind, secret)).toBe("…");
  });
});

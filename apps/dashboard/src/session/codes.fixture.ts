import { createHmac } from "node:crypto";
import type { SignedIn, TestDashboard } from "../dashboard.fixture.js";

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** A code of RFC 6238, worked out apart from the library. @param steps of 30 seconds from the moment */
export function codeOf(secret: string, moment: Date, steps = 0): string {
  const bits = [...secret].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, "0")).join("");
  const bytes = (bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(moment.getTime() / 30_000) + steps));
  const mac = createHmac("sha1", Buffer.from(bytes)).update(counter).digest();
  const at = (mac.at(-1) ?? 0) & 15;
  return String((mac.readUInt32BE(at) & 0x7fffffff) % 1_000_000).padStart(6, "0");
}

export const password = "correct horse battery";
export const cookieOf = (headers: Record<string, unknown>) => String(headers["set-cookie"]).split(";")[0] ?? "";

/** Gives a person a password and one-time codes, at the moment; their session goes on by the cookie. */
export async function turnOn(dashboard: TestDashboard, person: SignedIn, now: Date) {
  const set = await person.post("/me/password", { password }).expect(200);
  const cookie = cookieOf(set.headers);
  const as = (method: "get" | "post" | "put", path: string, body?: object) =>
    dashboard.anonymous()[method](path, body).set("Cookie", cookie);
  const { body: offered } = await as("post", "/me/codes", { password }).expect(200);
  const { body } = await as("put", "/me/codes", { code: codeOf(offered.secret, now) }).expect(200);
  return {
    as,
    secret: offered.secret as string,
    url: offered.url as string,
    recoveryCodes: body.recoveryCodes as string[],
  };
}

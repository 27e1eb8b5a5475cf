import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from "node:crypto";
import { AppError } from "@waymark/errors";

/** OWASP's smallest cost of scrypt with 32 MiB: a quarter of a second of one core. */
const defaultCost = { N: 2 ** 15, r: 8, p: 3 };
const saltBytes = 16;
const hashBytes = 32;

export interface PasswordsOptions {
  /** Cheaper in tests. */
  cost?: { N: number; r: number; p: number };
  /** Hashes computed at once, of 32 MiB each. */
  maxRunning?: number;
  /** Beyond this, failing fast beats waiting. */
  maxWaiting?: number;
}

/** Hashes and checks passwords, a few at once. Both throw AppError 503 `busy` while too many wait. */
export interface Passwords {
  hash(password: string): Promise<string>;
  verify(stored: string, password: string): Promise<boolean>;
}

/** Makes a queue of scrypt. A stored password carries its parameters, so the cost can rise later. */
export function createPasswords(options: PasswordsOptions = {}): Passwords {
  const { cost = defaultCost, maxRunning = 2, maxWaiting = 20 } = options;
  const waiting: (() => void)[] = [];
  let running = 0;

  async function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    if (running >= maxRunning) {
      if (waiting.length >= maxWaiting) throw new AppError("busy", { headers: { "Retry-After": "5" } });
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else running++;
    try {
      return await work();
    } finally {
      // The next one takes over this place.
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  }

  return {
    hash: (password) =>
      inTurn(async () => {
        const salt = randomBytes(saltBytes);
        const hash = await derive(password, salt, cost);
        return ["scrypt", cost.N, cost.r, cost.p, salt.toString("base64url"), hash.toString("base64url")].join("$");
      }),
    verify: (stored, password) =>
      inTurn(async () => {
        const [, N, r, p, salt = "", hash = ""] = stored.split("$");
        const expected = Buffer.from(hash, "base64url");
        const derived = await derive(password, Buffer.from(salt, "base64url"), {
          N: Number(N),
          r: Number(r),
          p: Number(p),
        });
        return expected.length === derived.length && timingSafeEqual(expected, derived);
      }),
  };
}

/** Equal texts may come in different code points from different keyboards (RFC 8265). */
function derive(password: string, salt: Buffer, cost: Required<PasswordsOptions>["cost"]): Promise<Buffer> {
  const settings: ScryptOptions = { ...cost, maxmem: 256 * cost.N * cost.r };
  return new Promise((resolve, reject) => {
    scrypt(password.normalize("NFC"), salt, hashBytes, settings, (error, key) =>
      error ? reject(error) : resolve(key),
    );
  });
}

import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from "node:crypto";
import { createWorkShares, type Refusals, type WorkShares } from "@waymark/service/http";
import { LRUCache } from "lru-cache";

/** OWASP's smallest cost of scrypt with 32 MiB: a quarter of a second of one core. */
const defaultCost = { N: 2 ** 15, r: 8, p: 3 };
const saltBytes = 16;
const hashBytes = 32;
const maxKnownNetworks = 10_000;
const knownLifeMs = 30 * 24 * 3_600_000;

export interface PasswordsOptions {
  refusals: Refusals;
  /** Cheaper in tests. */
  cost?: { N: number; r: number; p: number };
}

/**
 * Hashes and checks passwords, a few at once, in turns between networks. A network with a right password has places apart.
 * Both throw AppError: 429 while too many of the network wait, 503 while too many of all do.
 */
export interface Passwords {
  /** @param network of the client; each hash counts as its own */
  hash(password: string, network: string): Promise<string>;
  verify(stored: string, password: string, network: string): Promise<boolean>;
}

/** Makes the hashes' turns. A stored password carries its parameters, so the cost can rise later. */
export function createPasswords({ refusals, cost = defaultCost }: PasswordsOptions): Passwords {
  const waits = { owner: "network", maxWaiting: 40, maxWaitingPerOwner: 4, maxWaitMs: 10_000 };
  // 32 MiB for each running one.
  const strangers = createWorkShares({ ...waits, tasks: "passwords", maxRunning: 2, maxRunningPerOwner: 2 }, refusals);
  const kept = { ...waits, tasks: "known_passwords", maxRunning: 1, maxRunningPerOwner: 1 };
  const known = createWorkShares(kept, refusals);
  // Networks of right passwords: wrong ones from elsewhere never take their places.
  const good = new LRUCache<string, true>({ max: maxKnownNetworks, ttl: knownLifeMs });
  const turns: Pick<WorkShares, "run"> = {
    run: (network, task) => (good.has(network) ? known : strangers).run(network, task),
  };
  return {
    hash: (password, network) =>
      turns.run(network, async () => {
        const salt = randomBytes(saltBytes);
        const hash = await derive(password, salt, cost);
        return ["scrypt", cost.N, cost.r, cost.p, salt.toString("base64url"), hash.toString("base64url")].join("$");
      }),
    verify: (stored, password, network) =>
      turns.run(network, async () => {
        const [, N, r, p, salt = "", hash = ""] = stored.split("$");
        const expected = Buffer.from(hash, "base64url");
        const parameters = { N: Number(N), r: Number(r), p: Number(p) };
        const derived = await derive(password, Buffer.from(salt, "base64url"), parameters);
        const isRight = expected.length === derived.length && timingSafeEqual(expected, derived);
        if (isRight) good.set(network, true);
        return isRight;
      }),
  };
}

/** Equal texts may come in different code points from different keyboards (RFC 8265). */
function derive(password: string, salt: Buffer, cost: typeof defaultCost): Promise<Buffer> {
  const settings: ScryptOptions = { ...cost, maxmem: 256 * cost.N * cost.r };
  return new Promise((resolve, reject) => {
    scrypt(password.normalize("NFC"), salt, hashBytes, settings, (error, key) =>
      error ? reject(error) : resolve(key),
    );
  });
}

import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from "node:crypto";
import { createWorkShares, type Refusals, type WorkShares } from "@waymark/service/http";
import { LRUCache } from "lru-cache";
import type pg from "pg";
import { findPersonByEmail, readPassword } from "../people/person.query.js";

/** OWASP's smallest cost of scrypt with 32 MiB: a quarter of a second of one core. */
const defaultCost = { N: 2 ** 15, r: 8, p: 3 };
const saltBytes = 16;
const hashBytes = 32;
const maxKnownNetworks = 10_000;
const knownLifeMs = 30 * 24 * 3_600_000;

export type Passwords = ReturnType<typeof createPasswords>;

/**
 * Hashes and checks passwords, a few at once, in turns between networks. A network with a right password has places apart.
 * Both throw AppError: 429 while too many of the network wait, 503 while too many of all do. A stored password carries its
 * parameters, so the cost can rise later.
 */
export function createPasswords({ refusals, cost = defaultCost }: { refusals: Refusals; cost?: typeof defaultCost }) {
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
    /** @param network of the client; each hash counts as its own */
    hash: (password: string, network: string) =>
      turns.run(network, async () => {
        const salt = randomBytes(saltBytes);
        const hash = await derive(password, salt, cost);
        return ["scrypt", cost.N, cost.r, cost.p, salt.toString("base64url"), hash.toString("base64url")].join("$");
      }),
    verify: (stored: string, password: string, network: string) =>
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

const minPasswordLength = 10;
const maxPasswordLength = 200;

/** The reason why a new password is refused, as a sentence for its field; undefined if it is good. */
export function passwordProblem(password: string): string | undefined {
  if (password.length < minPasswordLength) return `Must have at least ${minPasswordLength} characters`;
  if (password.length > maxPasswordLength) return `Must have at most ${maxPasswordLength} characters`;
  if (commonPasswords.has(password.toLowerCase())) return "Is one of the commonest passwords; choose another one";
  if (new Set(password).size < 3) return "Must have at least 3 different characters";
  return undefined;
}

/**
 * Makes the check of an address and a password. An unknown address, a person without a password and a wrong password cost the
 * same scrypt and have the same answer. It returns the person with a proven address and this password.
 */
export function createPasswordCheck({ pool, passwords }: { pool: pg.Pool; passwords: Passwords }) {
  return async (email: string, password: string, network: string) => {
    const person = await findPersonByEmail(pool, email.toLowerCase());
    const stored = person && (await readPassword(pool, person.id));
    if (stored === undefined) {
      await passwords.hash(password, network);
      return undefined;
    }
    const isRight = await passwords.verify(stored, password, network);
    return isRight && person?.isVerified ? { personId: person.id } : undefined;
  };
}

/**
 * Those of the 10,000 commonest passwords that have 10 characters or more, in lower case: shorter ones are refused anyway. From
 * the list of @zxcvbn-ts/language-common 4.1.3, MIT licence, Copyright (c) 2012-2016 Dan Wheeler and Dropbox, Inc., (c) 2021 zxcvbn-ts.
 */
const commonPasswords: ReadonlySet<string> = new Set(
  `
qwertyuiop 1234567890 q1w2e3r4t5 1q2w3e4r5t 4815162342 123456789a 12345qwert 1234554321 usuckballz1
password123 123456789q basketball 1029384756 123qweasdzxc soso123aljg manchester 1qaz2wsx3edc 12345678910
q1w2e3r4t5y6 1123581321 qwerty12345 1q2w3e4r5t6y fuck_inside mailcreated5240 nuttertools 1122334455
qazwsxedcrfv 123456qwerty 1234567890q terminator qwerty123456 california enterprise 123456789z rjirfrgbde
christopher polniypizdec0211 fktrcfylhf sojdlg123aljg a123456789 translator deepthroat undertaker qwerty1234
motherlode multiplelo rjycnfynby syncmaster aleksandra salamander sersolution montgom240 leavemealone
motherfucker realmadrid tinkerbell 123456654321 dragonball playstation ghostrider 1234567890a 1357924680
7ugd5hip2j gfhjkmgfhjkm 9293709b13 microphone 1234567891 washington vsjasnel12 qazwsxedc123 yjdsqgfhjkm
strawberry anastasiya mypassword zxcvbnm123 harrypotter qwert12345 password12 abrakadabra alessandro
123456789s good123654 fuckinside konstantin 7894561230 underground tokiohotel highlander ghjcnjgfhjkm
evangelion zxcasdqwe123 sonyericsson suckmydick pufunga7782 liverpool1 university hellokitty ghhh47hj7649
roadrunner ironmaiden mississippi intercourse 12345qwerty htubcnhfwbz 123456789m revolution absolutely
q123456789 vqsablpzla friendster skateboard masterbate 123456789d vfntvfnbrf penetration 0192837465 cocksucker
123456789qwe alexander1 nthvbyfnjh azertyuiop password01 1qazxsw23edc 1234567899 ilovepussy 1234509876
password99 abracadabra madagaskar sweetheart ronaldinho masterbating dragonballz rfhfvtkmrf ghjcnbnenrf
information supersonic qwerasdfzxcv qweasdzxc123 cheerleaers metallica1 123456789r flvbybcnhfnjh experienced
greedisgood
`.match(/\S+/g),
);

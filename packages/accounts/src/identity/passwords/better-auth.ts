import { AsyncLocalStorage } from "node:async_hooks";
import { randomBytes } from "node:crypto";
import { createAdapterFactory } from "better-auth/adapters";
import { isAPIError } from "better-auth/api";
import { betterAuth } from "better-auth/minimal";
import type pg from "pg";
import { maxPasswordLength, minPasswordLength } from "./password-problem.js";
import type { Passwords } from "./passwords.js";

/** @param network of the client, for the turns of hashes */
export type CheckPassword = (
  email: string,
  password: string,
  network: string,
) => Promise<{ personId: string } | undefined>;

/** Probes `person_email_key` and `person_pkey`, or a range of `credential_person_id_provider_key`. */
const tables = {
  person: 'SELECT id, email, name, is_verified, created_at, updated_at FROM person WHERE "%" = $1',
  credential:
    'SELECT id, person_id, provider, subject, password, created_at, updated_at FROM credential WHERE "%" = $1',
} as const;
const columns = new Set(["id", "email", "person_id"]);

/** Lets better-auth read people and their credentials; everything else is written by Waymark's own statements. */
function readOnlyAdapter(pool: pg.Pool) {
  return createAdapterFactory({
    config: { adapterId: "waymark", supportsDates: true, supportsBooleans: true },
    adapter: () => {
      const refuse = async () => {
        throw new Error("better-auth only reads here");
      };
      async function find<Row>(model: string, where: readonly { field: string; value: unknown }[]): Promise<Row[]> {
        const [condition, ...others] = where;
        const sql = tables[model as keyof typeof tables];
        if (!sql || !condition || others.length > 0 || !columns.has(condition.field)) return refuse() as never;
        const { rows } = await pool.query(sql.replace("%", condition.field), [condition.value]);
        return rows as Row[];
      }
      return {
        findOne: async <Row>({ model, where }: { model: string; where: { field: string; value: unknown }[] }) =>
          (await find<Row>(model, where))[0] ?? null,
        findMany: <Row>({
          model,
          where = [],
        }: {
          model: string;
          where?: { field: string; value: unknown }[] | undefined;
        }) => find<Row>(model, where),
        create: refuse,
        update: refuse,
        updateMany: refuse,
        delete: refuse,
        deleteMany: refuse,
        count: refuse,
      };
    },
  });
}

/** Keeps nothing, so that a right password alone starts no session. */
const noStorage = {
  get: async () => null,
  getAndDelete: async () => null,
  set: async () => undefined,
  delete: async () => undefined,
  increment: async () => 1,
};

/** Makes better-auth's check, called in this process. Its sessions go nowhere: the README has why. */
export function createBetterAuthCheck({ pool, passwords }: { pool: pg.Pool; passwords: Passwords }): CheckPassword {
  // better-auth hands nothing of a request to its hashes.
  const networks = new AsyncLocalStorage<string>();
  const networkOf = () => networks.getStore() ?? "";
  const dates = { createdAt: "created_at", updatedAt: "updated_at" };
  const auth = betterAuth({
    // It signs only cookies that nobody gets.
    secret: randomBytes(32).toString("base64url"),
    baseURL: "http://localhost",
    database: readOnlyAdapter(pool),
    secondaryStorage: noStorage,
    user: { modelName: "person", fields: { emailVerified: "is_verified", ...dates } },
    account: {
      modelName: "credential",
      fields: { userId: "person_id", providerId: "provider", accountId: "subject", ...dates },
    },
    emailAndPassword: {
      enabled: true,
      disableSignUp: true,
      requireEmailVerification: true,
      minPasswordLength,
      maxPasswordLength,
      password: {
        hash: (password) => passwords.hash(password, networkOf()),
        verify: ({ hash, password }) => passwords.verify(hash, password, networkOf()),
      },
    },
    // Its limiter counts all clients without a proxy together, and believes X-Forwarded-For; packages/service/src/limits counts.
    rateLimit: { enabled: false },
    telemetry: { enabled: false },
    logger: { disabled: true },
  });
  return async (email, password, network) => {
    try {
      const { user } = await networks.run(network, () => auth.api.signInEmail({ body: { email, password } }));
      return { personId: user.id };
    } catch (error) {
      if (isAPIError(error) && error.statusCode < 500) return undefined;
      throw error;
    }
  };
}

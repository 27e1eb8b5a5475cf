import { issueKey, readLiveKeys, revokeKey } from "@waymark/accounts";
import { recordAudit } from "@waymark/accounts/identity";
import type { KeyService } from "@waymark/auth";
import { withTransaction } from "@waymark/database";
import { AppError } from "@waymark/errors";
import type pg from "pg";
import { z } from "zod";
import { answerAccountErrors } from "../account-errors.js";
import { viewerRoute } from "../session/viewer.js";

/** The answer of `GET /keys`, latest first. */
export interface KeyList {
  keys: ListedKey[];
}

export interface ListedKey {
  id: string;
  service: KeyService;
  name: string;
  /** The key's prefix and last letters. */
  hint: string;
  /** Null for a key of the command line, and for one of a removed person. */
  createdBy: { id: string; name: string } | null;
  createdAt: string;
  lastUsedAt: string | null;
  /** Present for a shared key: the only site that it reads, and its end. */
  share?: { siteId: string; domain: string; expiresAt: string | null };
}

const createKeyBody = z.strictObject({
  name: z.string().trim().min(1, "Give the key a name").max(200, "Must have at most 200 characters"),
  service: z.enum(["trace", "analytics"] satisfies KeyService[]),
});

export type CreateKeyBody = z.output<typeof createKeyBody>;

/** The answer of `POST /keys`: the only one with the key itself. */
export interface CreatedKey {
  id: string;
  service: KeyService;
  name: string;
  key: string;
}

export function keyRoutes({ pool }: { pool: pg.Pool }) {
  return [
    viewerRoute("get", "/keys", {
      async handle({ viewer }): Promise<KeyList> {
        const keys = await readLiveKeys(pool, viewer.accountId);
        return {
          keys: keys.map(({ id, service, name, hint, createdBy, createdAt, lastUsedAt, share }) => ({
            id,
            service,
            name,
            hint,
            createdBy,
            createdAt: createdAt.toISOString(),
            lastUsedAt: lastUsedAt?.toISOString() ?? null,
            ...(share && { share: { ...share, expiresAt: share.expiresAt?.toISOString() ?? null } }),
          })),
        };
      },
    }),
    viewerRoute("post", "/keys", {
      body: createKeyBody,
      status: 201,
      async handle({ viewer: { accountId, personId }, body }): Promise<CreatedKey> {
        const work = withTransaction(pool, async (transaction) => {
          const key = await issueKey(transaction, { accountId, createdBy: personId, ...body });
          await recordAudit(transaction, { accountId, personId, action: "key_created", subject: key.name });
          return key;
        });
        return answerAccountErrors(work);
      },
    }),
    /** Members revoke the keys they made, owners every key. */
    viewerRoute("delete", "/keys/:id", {
      async handle({ viewer: { accountId, personId, role }, params }) {
        const key = (await readLiveKeys(pool, accountId)).find(({ id }) => id === params["id"]);
        if (!key) throw new AppError("not_found");
        if (role !== "owner" && key.createdBy?.id !== personId) throw new AppError("owner_only");
        const work = withTransaction(pool, async (transaction) => {
          const { name, hint } = await revokeKey(transaction, { keyId: key.id, accountId });
          const subject = `${name} (${hint})`;
          await recordAudit(transaction, { accountId, personId, action: "key_revoked", subject });
        });
        await answerAccountErrors(work);
      },
    }),
  ];
}

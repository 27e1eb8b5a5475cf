import { issueKey, readLiveKeys, revokeKey } from "@waymark/accounts";
import { recordAudit } from "@waymark/accounts/identity";
import { type KeyService, keyScopes } from "@waymark/auth";
import { withTransaction } from "@waymark/database";
import { AppError } from "@waymark/errors";
import { z } from "zod";
import type { AppDeps } from "../app-deps.js";
import { type AnswerOf, viewerRoute } from "../session/viewer.js";

export type KeyList = AnswerOf<typeof keyRoutes, "get /keys">;
export type ListedKey = KeyList["keys"][number];
export type CreatedKey = AnswerOf<typeof keyRoutes, "post /keys">;

const createKeyBody = z.strictObject({
  name: z.string().trim().min(1, "Give the key a name").max(200, "Must have at most 200 characters"),
  service: z.enum(["trace", "analytics"] satisfies KeyService[]),
  scope: z.enum(keyScopes).default("all"),
});

export type CreateKeyBody = z.output<typeof createKeyBody>;

export function keyRoutes({ pool }: AppDeps) {
  return [
    viewerRoute("get", "/keys", {
      handle: async ({ viewer }) => ({ keys: await readLiveKeys(pool, viewer.accountId) }),
    }),
    /** Only this answer has the key itself. */
    viewerRoute("post", "/keys", {
      body: createKeyBody,
      status: 201,
      handle: ({ viewer: { accountId, personId }, body }) =>
        withTransaction(pool, async (transaction) => {
          const key = await issueKey(transaction, { accountId, createdBy: personId, ...body });
          await recordAudit(transaction, { accountId, personId, action: "key_created", subject: key.name });
          return key;
        }),
    }),
    /** Members revoke the keys they made, owners every key. */
    viewerRoute("delete", "/keys/:id", {
      async handle({ viewer: { accountId, personId, role }, params }) {
        const key = (await readLiveKeys(pool, accountId)).find(({ id }) => id === params["id"]);
        if (!key) throw new AppError("not_found");
        if (role !== "owner" && key.createdBy?.id !== personId) throw new AppError("owner_only");
        await withTransaction(pool, async (transaction) => {
          const { name, hint } = await revokeKey(transaction, { keyId: key.id, accountId });
          const subject = `${name} (${hint})`;
          await recordAudit(transaction, { accountId, personId, action: "key_revoked", subject });
        });
      },
    }),
  ];
}

import { readLiveKeys, revokeKey } from "@waymark/accounts";
import { recordAudit } from "@waymark/accounts/identity";
import { withTransaction } from "@waymark/database";
import { AppError } from "@waymark/errors";
import { pageRoute } from "@waymark/service/http";
import type pg from "pg";
import { answerAccountErrors } from "../account-errors.js";
import { viewerOf } from "../session/viewer.js";

/** `DELETE /keys/:id`: members revoke the keys they made, owners every key. */
export function revokeKeyRoute({ pool }: { pool: pg.Pool }) {
  return pageRoute({
    method: "delete",
    path: "/keys/:id",
    async handle({ response, params }) {
      const { accountId, personId, role } = viewerOf(response);
      const key = (await readLiveKeys(pool, accountId)).find(({ id }) => id === params["id"]);
      if (!key) throw new AppError("not_found");
      if (role !== "owner" && key.createdBy?.id !== personId) throw new AppError("owner_only");
      const work = withTransaction(pool, async (transaction) => {
        const { name, hint } = await revokeKey(transaction, { keyId: key.id, accountId });
        const subject = `${name} (${hint})`;
        await recordAudit(transaction, { accountId, personId, action: "key_revoked", subject });
      });
      await answerAccountErrors(work);
      return { status: 200, body: {} };
    },
  });
}

import { issueKey } from "@waymark/accounts";
import { recordAudit } from "@waymark/accounts/identity";
import { withTransaction } from "@waymark/database";
import { pageRoute } from "@waymark/service/http";
import type pg from "pg";
import { answerAccountErrors } from "../account-errors.js";
import { viewerOf } from "../session/viewer.js";
import { type CreatedKey, createKeyBody } from "./keys.schema.js";

export function createKeyRoute({ pool }: { pool: pg.Pool }) {
  return pageRoute({
    method: "post",
    path: "/keys",
    body: createKeyBody,
    async handle({ response, body }) {
      const { accountId, personId } = viewerOf(response);
      const work = withTransaction(pool, async (transaction) => {
        const key = await issueKey(transaction, { accountId, createdBy: personId, ...body });
        await recordAudit(transaction, { accountId, personId, action: "key_created", subject: key.name });
        return key;
      });
      const created: CreatedKey = await answerAccountErrors(work);
      return { status: 201, body: created };
    },
  });
}

import { deleteSite } from "@waymark/accounts";
import { recordAudit } from "@waymark/accounts/identity";
import { withTransaction } from "@waymark/database";
import { pageRoute } from "@waymark/service/http";
import type pg from "pg";
import { answerAccountErrors } from "../account-errors.js";
import { ownerOf } from "../session/viewer.js";

/** `DELETE /sites/:id`: the site is gone at once; the worker removes its events and figures. */
export function deleteSiteRoute({ pool }: { pool: pg.Pool }) {
  return pageRoute({
    method: "delete",
    path: "/sites/:id",
    async handle({ response, params }) {
      const { accountId, personId } = ownerOf(response);
      const work = withTransaction(pool, async (transaction) => {
        const { domain } = await deleteSite(transaction, { siteId: params["id"] ?? "", accountId });
        await recordAudit(transaction, { accountId, personId, action: "site_deleted", subject: domain });
      });
      await answerAccountErrors(work);
      return { status: 200, body: {} };
    },
  });
}

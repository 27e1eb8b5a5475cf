import { claimSite } from "@waymark/accounts";
import { recordAudit } from "@waymark/accounts/identity";
import { withTransaction } from "@waymark/database";
import { AppError } from "@waymark/errors";
import { pageRoute } from "@waymark/service/http";
import type { Limiter } from "@waymark/service/limits";
import type pg from "pg";
import { ownerOf } from "../session/viewer.js";
import { findProof, type ProofNetwork } from "./find-proof.js";
import { isDomainFree } from "./is-domain-free.query.js";
import { proofOf, requireOwnSite } from "./present-site.js";
import type { ProofAnswer } from "./sites.schema.js";

/** Checks of an account. */
export const proofLimit = { name: "site-proof", points: 20, windowSeconds: 600 };

/** Checks running at once, over all accounts; each takes five seconds at most. */
const maxRunning = 20;

export interface ProofDeps {
  pool: pg.Pool;
  proofs: { limiter: Pick<Limiter, "spend">; network: ProofNetwork };
}

/** `POST /sites/:id/proof`: an owner's, since it takes the domain from another account. */
export function proveSiteRoute({ pool, proofs }: ProofDeps) {
  let running = 0;
  return pageRoute({
    method: "post",
    path: "/sites/:id/proof",
    async handle({ response, params }) {
      const { accountId, personId } = ownerOf(response);
      const site = await requireOwnSite(pool, accountId, params["id"]);
      if (site.isSettled) return { status: 200, body: { isProven: true } satisfies ProofAnswer };
      const allowance = await proofs.limiter.spend(accountId);
      if (!allowance.isAllowed) {
        const headers = { "Retry-After": String(allowance.resetSeconds) };
        throw new AppError("rate_limited", { details: { retry_after: allowance.resetSeconds }, headers });
      }
      if (running >= maxRunning) throw new AppError("busy", { headers: { "Retry-After": "5" } });
      running++;
      let answer: ProofAnswer;
      let isFree: boolean;
      try {
        isFree = await isDomainFree(pool, site.domain);
        answer = isFree ? { isProven: true } : await findProof(proofOf(site), { network: proofs.network });
      } finally {
        running--;
      }
      if (answer.isProven) await claim(pool, { accountId, personId, siteId: site.id, isFree });
      return { status: 200, body: answer };
    },
  });
}

async function claim(
  pool: pg.Pool,
  { accountId, personId, siteId, isFree }: Record<"accountId" | "personId" | "siteId", string> & { isFree: boolean },
) {
  await withTransaction(pool, async (transaction) => {
    const { site, losers } = await claimSite(
      transaction,
      { siteId, accountId },
      { isShared: false, isProven: !isFree },
    );
    const subject = site.domain;
    await recordAudit(transaction, { accountId, personId, action: "site_proven", subject });
    for (const loser of losers) {
      await recordAudit(transaction, { accountId: loser, personId: null, action: "site_lost", subject });
    }
  });
}

import {
  bareDomain,
  claimSite,
  createSite,
  deleteSite,
  readSites,
  renameSite,
  type SiteState,
} from "@waymark/accounts";
import { recordAudit } from "@waymark/accounts/identity";
import { isUuid, withTransaction } from "@waymark/database";
import { AppError } from "@waymark/errors";
import type { Limiter } from "@waymark/service/limits";
import type pg from "pg";
import { z } from "zod";
import { answerAccountErrors } from "../account-errors.js";
import { tooMany } from "../session/guesses.js";
import { ownerRoute, viewerRoute } from "../session/viewer.js";
import { findProof, type ProofAnswer, type ProofNetwork, type SiteProof } from "./find-proof.js";
import { isDomainFree } from "./is-domain-free.query.js";

/** The answer of `GET /sites`, oldest first. */
export interface SiteList {
  sites: ListedSite[];
}

export interface ListedSite {
  id: string;
  domain: string;
  name: string;
  createdAt: string;
  /** The first and last UTC day with visits or custom events; null while none arrived. */
  firstDay: string | null;
  lastDay: string | null;
  /** The site gets no events: another account claims the domain, too, and this one has not proven it. */
  isWaiting: boolean;
  /** What proves the domain; null once that is done, or the operator vouches for it. */
  proof: SiteProof | null;
}

const name = z.string().trim().min(1, "Give the site a name").max(200, "Must have at most 200 characters");

const createSiteBody = z.strictObject({
  domain: z.string().trim().min(1, "Give a domain like example.com").max(500),
  name,
});

export type CreateSiteBody = z.output<typeof createSiteBody>;

/** Checks of an account. */
export const proofLimit = { name: "site-proof", points: 20, windowSeconds: 600 };

/** Checks running at once, over all accounts; each takes five seconds at most. */
const maxRunning = 20;

export interface SiteDeps {
  pool: pg.Pool;
  proofs: { limiter: Pick<Limiter, "spend">; network: ProofNetwork };
}

export function siteRoutes(deps: SiteDeps) {
  const { pool } = deps;
  return [
    viewerRoute("get", "/sites", {
      async handle({ viewer }): Promise<SiteList> {
        return { sites: (await readSites(pool, viewer.accountId)).map(presentSite) };
      },
    }),
    viewerRoute("post", "/sites", {
      body: createSiteBody,
      status: 201,
      async handle({ viewer: { accountId }, body }): Promise<ListedSite> {
        const { site } = await answerAccountErrors(createSite(pool, { accountId, ...body, whenTaken: "wait" }));
        return presentSite(await requireOwnSite(pool, accountId, site.id));
      },
    }),
    viewerRoute("patch", "/sites/:id", {
      body: z.strictObject({ name }),
      async handle({ viewer: { accountId }, params, body }): Promise<ListedSite> {
        const siteId = params["id"] ?? "";
        await answerAccountErrors(renameSite(pool, { accountId, siteId, name: body.name }));
        return presentSite(await requireOwnSite(pool, accountId, siteId));
      },
    }),
    /** The site is gone at once; the worker removes its events and figures. */
    ownerRoute("delete", "/sites/:id", {
      async handle({ viewer: { accountId, personId }, params }) {
        const work = withTransaction(pool, async (transaction) => {
          const { domain } = await deleteSite(transaction, { siteId: params["id"] ?? "", accountId });
          await recordAudit(transaction, { accountId, personId, action: "site_deleted", subject: domain });
        });
        await answerAccountErrors(work);
      },
    }),
    proveSiteRoute(deps),
  ];
}

/** An owner's, since it takes the domain from another account. */
function proveSiteRoute({ pool, proofs }: SiteDeps) {
  let running = 0;
  return ownerRoute("post", "/sites/:id/proof", {
    async handle({ viewer: { accountId, personId }, params }): Promise<ProofAnswer> {
      const site = await requireOwnSite(pool, accountId, params["id"]);
      if (site.isSettled) return { isProven: true };
      const allowance = await proofs.limiter.spend(accountId);
      if (!allowance.isAllowed) throw tooMany(allowance.resetSeconds);
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
      return answer;
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

function proofOf({ domain, proofToken }: Pick<SiteState, "domain" | "proofToken">): SiteProof {
  const bare = bareDomain(domain);
  return {
    text: `waymark-site=${proofToken}`,
    fileUrl: `https://${bare}/.well-known/waymark-site.txt`,
    recordName: `_waymark.${bare}`,
  };
}

function presentSite(site: SiteState): ListedSite {
  const { id, domain, name, createdAt, firstDay, lastDay, isProven, isSettled } = site;
  const proof = isSettled ? null : proofOf(site);
  return { id, domain, name, createdAt: createdAt.toISOString(), firstDay, lastDay, isWaiting: !isProven, proof };
}

/** @throws AppError 404 for an unknown id and for another account's site */
async function requireOwnSite(pool: pg.Pool, accountId: string, siteId: string | undefined): Promise<SiteState> {
  const [site] = siteId && isUuid(siteId) ? await readSites(pool, accountId, siteId) : [];
  if (!site) throw new AppError("site_not_found");
  return site;
}

import {
  bareDomain,
  claimSite,
  countCosts,
  createSite,
  deleteSite,
  readSites,
  renameSite,
  type SiteState,
} from "@waymark/accounts";
import { recordAudit } from "@waymark/accounts/identity";
import { isUuid, withTransaction } from "@waymark/database";
import { AppError, tooMany } from "@waymark/errors";
import type pg from "pg";
import { z } from "zod";
import type { AppDeps } from "../app-deps.js";
import { type AnswerOf, ownerRoute, viewerRoute } from "../session/viewer.js";
import { findProof, type ProofAnswer, type SiteProof } from "./find-proof.js";
import { isDomainFree } from "./is-domain-free.query.js";

export type SiteList = AnswerOf<typeof siteRoutes, "get /sites">;
export type ListedSite = SiteList["sites"][number];

const name = z.string().trim().min(1, "Give the site a name").max(200, "Must have at most 200 characters");

const createSiteBody = z.strictObject({
  domain: z.string().trim().min(1, "Give a domain like example.com").max(500),
  name,
});

export type CreateSiteBody = z.output<typeof createSiteBody>;

export const proofLimit = { name: "site-proof", points: 20, windowSeconds: 600 };

/** Checks running at once, over all accounts; each takes five seconds at most. */
const maxRunning = 20;

export function siteRoutes(deps: AppDeps) {
  const { pool } = deps;
  return [
    viewerRoute("get", "/sites", {
      handle: async ({ viewer }) => ({ sites: (await readSites(pool, viewer.accountId)).map(presentSite) }),
    }),
    viewerRoute("post", "/sites", {
      body: createSiteBody,
      status: 201,
      async handle({ viewer: { accountId }, body }) {
        const { site } = await createSite(pool, { accountId, ...body, whenTaken: "wait" });
        return presentSite(await requireOwnSite(pool, accountId, site.id));
      },
    }),
    viewerRoute("patch", "/sites/:id", {
      body: z.strictObject({ name }),
      async handle({ viewer: { accountId }, params, body }) {
        const siteId = params["id"] ?? "";
        await renameSite(pool, { accountId, siteId, name: body.name });
        return presentSite(await requireOwnSite(pool, accountId, siteId));
      },
    }),
    /** The site is gone at once; the worker removes its events and figures. */
    ownerRoute("delete", "/sites/:id", {
      async handle({ viewer: { accountId, personId }, params }) {
        await withTransaction(pool, async (transaction) => {
          const { domain } = await deleteSite(transaction, { siteId: params["id"] ?? "", accountId });
          await recordAudit(transaction, { accountId, personId, action: "site_deleted", subject: domain });
        });
      },
    }),
    ownerRoute("put", "/sites/:id/costs", {
      body: z.strictObject({ countsCosts: z.boolean() }),
      async handle({ viewer: { accountId, personId }, params, body: { countsCosts } }) {
        const siteId = params["id"] ?? "";
        await withTransaction(pool, async (transaction) => {
          const { domain } = await countCosts(transaction, { siteId, accountId }, countsCosts);
          const action = countsCosts ? "site_costs_on" : "site_costs_off";
          await recordAudit(transaction, { accountId, personId, action, subject: domain });
        });
        return presentSite(await requireOwnSite(pool, accountId, siteId));
      },
    }),
    proveSiteRoute(deps),
  ];
}

/** An owner's, since it takes the domain from another account. */
function proveSiteRoute({ pool, proofs }: AppDeps) {
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

/** A site that waits gets no events; its proof is null once the domain is proven, or the operator vouches for it. */
function presentSite({ isProven, isSettled, proofToken, ...site }: SiteState) {
  return { ...site, isWaiting: !isProven, proof: isSettled ? null : proofOf({ ...site, proofToken }) };
}

/** @throws AppError 404 for an unknown id and for another account's site */
async function requireOwnSite(pool: pg.Pool, accountId: string, siteId: string | undefined): Promise<SiteState> {
  const [site] = siteId && isUuid(siteId) ? await readSites(pool, accountId, siteId) : [];
  if (!site) throw new AppError("site_not_found");
  return site;
}

import { createHmac, timingSafeEqual } from "node:crypto";
import { createLinkCookie } from "@waymark/accounts/identity";
import { requirePresent } from "@waymark/auth";
import { AppError } from "@waymark/errors";
import { createRefusals, createShares, createTokenBuckets } from "@waymark/service/http";
import { findTraceName } from "@waymark/traces";
import type { Request, RequestHandler } from "express";
import type { AppDeps } from "../app-deps.js";
import { frameableBy } from "../security/origin.js";
import { type Opened, type SharedLink, tokenOf } from "./opened-link.js";

const robots = ["X-Robots-Tag", "noindex, nofollow"] as const;

/** Requests a second, with bursts of 20 seconds: of a network to any links, and to one link from anywhere. */
const limits = { network: 20, link: 100 };
const burstSeconds = 20;
const maxKeys = 10_000;

/** Visitors of shared pages leave the account's own people room. */
const inHandLimits = {
  name: "shared_requests_in_hand",
  total: 256,
  perAccount: 24,
  reason: (most: number) => `At most ${most} requests to shared links may be in hand`,
};

/** Finds the link of a path's `:token`, within the limits of the client's network and of the link. */
function createLinkFinder({ links, guesses, registry, siblings }: AppDeps) {
  const refusals = createRefusals(registry);
  const bucketsOf = (name: keyof typeof limits) => {
    const perSecond = limits[name];
    const clock = () => performance.now();
    const buckets = createTokenBuckets({ name: `shared_${name}`, perSecond, burstSeconds, maxKeys, clock, siblings });
    return (key: string) => {
      const early = buckets.take(key, 1);
      if (early) throw refusals.rate(perSecond, early.retryAfterSeconds);
    };
  };
  const [admitNetwork, admitLink] = [bucketsOf("network"), bucketsOf("link")];
  return async (request: Request): Promise<SharedLink | undefined> => {
    admitNetwork(guesses.networkOf(request));
    const link = await links.find(tokenOf(request));
    if (!link) return undefined;
    requirePresent(link, request);
    admitLink(link.keyId);
    return link;
  };
}

/** What a right password leaves in the browser. It takes the address and the stored hash to make it. */
function proofOf(token: string, { password = "" }: SharedLink): string {
  return createHmac("sha256", token).update(password).digest("base64url");
}

export function sharedLinks(deps: AppDeps) {
  const find = createLinkFinder(deps);
  const inHand = createShares({ ...inHandLimits, siblings: deps.siblings }, createRefusals(deps.registry));
  const cookieOf = (token: string) => createLinkCookie(deps.config.url, `/dashboard/api/shared/${token}`);
  const isProven = (request: Request, link: SharedLink) => {
    if (link.password === undefined) return true;
    const token = tokenOf(request);
    const given = Buffer.from(cookieOf(token).read(request.headers.cookie) ?? "");
    const wanted = Buffer.from(proofOf(token, link));
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  };
  const isThere = async ({ accountId, traceId }: SharedLink) =>
    traceId === undefined || (await findTraceName(deps.pool, accountId, traceId)) !== undefined;
  return {
    /** A site takes its links with it; a trace leaves them until they end. */
    isThere,
    /** Lets requests with a good link to the data. Any other is the same 404: unknown, revoked and ended. */
    openLink: (async (request, response, next) => {
      response.setHeader(...robots);
      const link = await find(request);
      if (!link) throw new AppError("not_found");
      response.locals["caller"] = { accountId: link.accountId, keyId: link.keyId };
      if (response.closed) return;
      const refusal = inHand.take(link.accountId, 1);
      if (refusal) throw refusal;
      response.once("close", () => inHand.give(link.accountId, 1));
      response.locals["opened"] = { link, isProven: isProven(request, link) } satisfies Opened;
      next();
    }) as RequestHandler,
    /** The page's own headers; its document is that of all pages. */
    sharedPage: (async (request, response, next) => {
      response.setHeader(...robots);
      const link = await find(request);
      if (!link || !(await isThere(link))) response.status(404);
      else if (link.frameOrigins) response.setHeader("Content-Security-Policy", frameableBy(link.frameOrigins));
      next();
    }) as RequestHandler,
    proofCookie: (token: string, link: SharedLink) => cookieOf(token).write(proofOf(token, link)),
  };
}

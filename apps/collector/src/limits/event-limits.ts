import type { Siblings } from "@waymark/service";
import { type BodyBudget, createShares, createTokenBuckets, createTurns, type Refusals } from "@waymark/service/http";
import { addressKey } from "@waymark/service/limits";
import type { Request, RequestHandler } from "express";

/** An event counts once for every begun 4 KiB of its body; nearly all count once. */
const bytesPerToken = 4_096;

/** Counted at once, at some 200 bytes each. A client with more addresses meets the limit of the site. */
const maxAddresses = 50_000;
const maxSites = 10_000;

/** Unused events add up for so long. */
const burstSeconds = 10;

const mebibyte = 1_048_576;

/** Bytes of bodies being read or answered; a body has at most 64 KiB. */
const bodyBytes = { total: 32 * mebibyte, perAddress: 4 * mebibyte };

/** Limits of clients, by address and by their events' sites. */
export interface EventLimits {
  /** Counts an event of the address; runs before the body is read. */
  readonly admitAddress: RequestHandler;
  readonly bodyBudget: BodyBudget;
  /** Counts a long body as several events. */
  countBytes(request: Request, bytes: number): void;
  /** Counts each further domain of an event as an event. */
  countDomains(request: Request, domains: number): void;
  /** @throws AppError 429 if a site has had its events of this second */
  admitSites(request: Request, siteIds: readonly string[]): void;
  /** Counts a site's requests of machines, apart from its events. @throws AppError 429 */
  admitRequests(siteId: string, requests: number): void;
}

export interface EventLimitsOptions {
  /** Events a second; 0 for no limit. */
  perAddress: number;
  perSite: number;
  addressOf(request: Request): string;
  refusals: Refusals;
  siblings?: Siblings | undefined;
  /** Milliseconds from any point on. */
  clock?(): number;
}

export function createEventLimits(options: EventLimitsOptions): EventLimits {
  const { perAddress, perSite, addressOf, refusals, siblings, clock = () => performance.now() } = options;
  const bucket = { burstSeconds, clock, siblings };
  const addresses = createTokenBuckets({ ...bucket, name: "address", perSecond: perAddress, maxKeys: maxAddresses });
  const sites = createTokenBuckets({ ...bucket, name: "site", perSecond: perSite, maxKeys: maxSites });
  const machines = createTokenBuckets({ ...bucket, name: "site-requests", perSecond: perSite, maxKeys: maxSites });
  /** Of long bodies. */
  const tokensOf = new WeakMap<Request, number>();
  const keyOf = (request: Request) => addressKey(addressOf(request));
  const shares = createShares(
    {
      name: "body_bytes",
      total: bodyBytes.total,
      perAccount: bodyBytes.perAddress,
      reason: (most) => `Bodies of at most ${most / mebibyte} MiB may be in hand`,
    },
    refusals,
  );
  return {
    admitAddress(request, _response, next) {
      const refused = addresses.take(keyOf(request), 1);
      if (!refused) return next();
      const reason = `An address may send ${perAddress} events a second; bodies count once for each 4 KiB`;
      throw refusals.rate(perAddress, refused.retryAfterSeconds, { name: "address_events", reason });
    },
    bodyBudget: { shares, ownerOf: (response) => keyOf(response.req), turn: createTurns() },
    countBytes(request, bytes) {
      const tokens = Math.max(1, Math.ceil(bytes / bytesPerToken));
      if (tokens === 1) return;
      tokensOf.set(request, tokens);
      addresses.charge(keyOf(request), tokens - 1);
    },
    countDomains(request, domains) {
      if (domains > 1) addresses.charge(keyOf(request), (domains - 1) * (tokensOf.get(request) ?? 1));
    },
    admitSites(request, siteIds) {
      const tokens = tokensOf.get(request) ?? 1;
      for (const siteId of siteIds) {
        const refused = sites.take(siteId, tokens);
        if (!refused) continue;
        const reason = `A site takes ${perSite} events a second; bodies count once for each 4 KiB`;
        throw refusals.rate(perSite, refused.retryAfterSeconds, { name: "site_events", reason });
      }
    },
    admitRequests(siteId, requests) {
      const refused = machines.take(siteId, requests);
      if (!refused) return;
      const reason = `A site takes ${perSite} requests of machines a second`;
      throw refusals.rate(perSite, refused.retryAfterSeconds, { name: "site_requests", reason });
    },
  };
}

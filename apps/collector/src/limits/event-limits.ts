import { type BodyBudget, createShares, createTokenBuckets, createTurns, type Refusals } from "@waymark/http";
import type { Request, RequestHandler } from "express";
import { addressKey } from "./address-key.js";

/** An event counts once for every 4 KiB of its body that it has or begins: nearly all fit into the first. */
const bytesPerToken = 4_096;

/** Addresses and sites remembered at most, at some 200 bytes each; a client with more addresses meets the limit of the site. */
const maxAddresses = 50_000;
const maxSites = 10_000;

/** Seconds of unused events that an address or a site saves up. */
const burstSeconds = 10;

const mebibyte = 1_048_576;

/** Bytes of bodies that are read or answered; a body has at most 64 KiB. */
const bodyBytes = { total: 32 * mebibyte, perAddress: 4 * mebibyte };

/** Limits of the clients, which have no key: by address, and by the sites that their events are for. */
export interface EventLimits {
  /** Lets an address send so many events a second; stands before bodies are read. */
  readonly admitAddress: RequestHandler;
  /** What the bodies of an address, and of all, may hold. */
  readonly bodyBudget: BodyBudget;
  /** Counts a body: longer ones count as several events. */
  countBytes(request: Request, bytes: number): void;
  /** Counts the further domains that an event names: each is an event of its own. */
  countDomains(request: Request, domains: number): void;
  /** @throws AppError 429 where one of the sites has had its events */
  admitSites(request: Request, siteIds: readonly string[]): void;
}

export interface EventLimitsOptions {
  /** Events a second; 0 for no limit. */
  perAddress: number;
  perSite: number;
  addressOf(request: Request): string;
  refusals: Refusals;
  /** Milliseconds from any point on. */
  clock?(): number;
}

/** Makes the limits of this process, which counts for itself. */
export function createEventLimits(options: EventLimitsOptions): EventLimits {
  const { perAddress, perSite, addressOf, refusals, clock = () => performance.now() } = options;
  const addresses = createTokenBuckets({ perSecond: perAddress, burstSeconds, maxKeys: maxAddresses, clock });
  const sites = createTokenBuckets({ perSecond: perSite, burstSeconds, maxKeys: maxSites, clock });
  const tokensOf = new WeakMap<Request, number>();
  const keyOf = (request: Request) => addressKey(addressOf(request));
  const shares = createShares(
    {
      name: "body_bytes",
      ...{ total: bodyBytes.total, perAccount: bodyBytes.perAddress },
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
      tokensOf.set(request, tokens);
      if (tokens > 1) addresses.charge(keyOf(request), tokens - 1);
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
  };
}

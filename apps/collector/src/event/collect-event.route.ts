import { type Collector, type DropReason, SiteDirectoryFullError, WriterFullError } from "@waymark/analytics";
import type { AppError } from "@waymark/errors";
import { type Answer, errorSchema, type Refusals, type Route, route, validationErrorSchema } from "@waymark/http";
import { Counter, type Registry } from "prom-client";
import { z } from "zod";
import type { EventLimits } from "../limits/event-limits.js";
import { beaconBody } from "./beacon.schema.js";
import type { ClientReader } from "./read-client.js";
import type { SpamCheck } from "./spam-referrers.js";

export interface CollectEventDeps {
  collector: Pick<Collector, "collect">;
  readClient: ClientReader;
  isSpam: SpamCheck;
  limits: Pick<EventLimits, "countDomains" | "admitSites">;
  refusals: Refusals;
  registry: Registry;
}

const dropReasons = ["unknown-domain", "bot", "referrer-spam", "engagement", "site-refused"] as const;

/** Why an event was taken in and not recorded. */
type Reason = DropReason | (typeof dropReasons)[number];

/** What Plausible answers; its clients look at the status alone. */
const accepted: Answer = { status: 202, contentType: "text/plain", body: "ok" };

const description = `
202 means that the event is committed, or that it was left out for a reason that \`X-Waymark-Dropped\` names: \`unknown-domain\`, \`bot\` (by its
\`User-Agent\`), \`referrer-spam\`, \`engagement\` (Plausible's own measure of time and scrolling, which has no place in our statistics), or
\`site-refused\` (of several sites some could not take the event, and the others have it). Where a limit refuses the event, no site has it.

The content type does not count: the body is read as JSON. Every key has a short form. A page view's properties are not kept.
`;

/** Takes in one page view or custom event. */
export function collectEventRoute(deps: CollectEventDeps): Route {
  const { collector, readClient, isSpam, limits, refusals, registry } = deps;
  const drops = new Counter({
    name: "waymark_events_dropped_total",
    help: "Events that were taken in and not recorded, by reason",
    labelNames: ["reason"],
    registers: [registry],
  });
  for (const reason of dropReasons) drops.inc({ reason }, 0);
  const drop = (reason: Reason): Answer => {
    drops.inc({ reason });
    return { ...accepted, headers: { "X-Waymark-Dropped": reason } };
  };

  return route({
    method: "post",
    path: "/api/event",
    operationId: "collectEvent",
    summary: "Record a page view or a custom event",
    description,
    // Clients of Plausible and proxies add what they like.
    lenientQuery: [],
    body: beaconBody,
    headers: {
      "User-Agent": {
        description: "The browser's own description. Without a browser's, as curl's, the event is a bot's and left out",
        example: "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
      },
    },
    bodyExample: { name: "signup", url: "https://example.com/join", domain: "example.com", props: { plan: "pro" } },
    answers: {
      202: {
        description: "The event is committed, or was left out for the reason that the header names",
        schema: z.literal("ok"),
        example: "ok",
        contentType: "text/plain",
        headers: ["X-Waymark-Dropped"],
      },
      400: {
        description:
          "Fields are missing or malformed; `fields` has a message for each, `body` stands for the whole body",
        schema: validationErrorSchema(),
        example: { error: "Validation failed", fields: { url: "Must be an http or https URL" } },
      },
      413: {
        description: "The body is over 64 KiB",
        schema: errorSchema({ limit_bytes: z.number() }),
        example: { error: "Body too large", limit_bytes: 65_536 },
      },
      429: {
        description: "The address or the site has had its events of this second; or too much of it is in hand",
        schema: errorSchema({
          limit: z.number().optional(),
          retry_after: z.number().optional(),
          reason: z.string().optional(),
        }),
        example: {
          error: "Rate limit exceeded",
          limit: 50,
          retry_after: 1,
          reason: "An address may send 50 events a second; bodies count once for each 4 KiB",
        },
        headers: ["Retry-After"],
      },
      503: {
        description: "The database cannot be reached, or too many events wait to be written; `reason` then says so",
        schema: errorSchema({ reason: z.string().optional() }),
        example: { error: "Service temporarily unavailable" },
        headers: ["Retry-After"],
      },
    },
    async handle({ body: { name, url, domain, referrer, props, h }, request }) {
      if (name === "engagement") return drop("engagement");
      if (isSpam(referrer)) return drop("referrer-spam");
      const from = referrer !== null && isWithin(url, referrer) ? null : referrer;
      const event = { name, url, isHashPath: h, domains: domain, referrer: from, props };
      limits.countDomains(request, domain.length);
      const admit = (siteIds: readonly string[]) => limits.admitSites(request, siteIds);
      const { dropped } = await collector.collect({ ...event, ...readClient(request) }, admit).catch((error) => {
        throw toRefusal(refusals, error) ?? error;
      });
      return dropped === null ? accepted : drop(dropped);
    },
  });
}

/** The refusal of an event because too much waits; undefined for other errors. */
function toRefusal(refusals: Refusals, error: unknown): AppError | undefined {
  if (error instanceof SiteDirectoryFullError) return refusals.service("domain_lookups", error.message);
  if (!(error instanceof WriterFullError)) return undefined;
  if (error.limit === "site") return refusals.account("site_waiting_events", error.message);
  return refusals.service(error.limit === "total" ? "waiting_events" : "site_lock", error.message);
}

/** A page of a site may be on another host than its domain says; who follows a link there has not come from elsewhere. */
function isWithin({ host }: URL, referrer: string): boolean {
  return URL.canParse(referrer) && new URL(referrer).host === host;
}

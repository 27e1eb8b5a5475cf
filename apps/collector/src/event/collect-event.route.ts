import type { AppError } from "@waymark/errors";
import {
  type Answer,
  type DocumentedAnswer,
  errorSchema,
  type Refusals,
  type Route,
  route,
  validationErrorSchema,
} from "@waymark/service/http";
import { type Recorder, SiteDirectoryFullError, WriterFullError } from "@waymark/web-stats/analytics";
import { Counter, type Registry } from "prom-client";
import { z } from "zod";
import type { EventLimits } from "../limits/event-limits.js";
import { beaconBody, readPageview } from "./beacon.schema.js";
import type { ClientReader, SpamCheck } from "./read-client.js";

export const eventAnswers: Readonly<Record<number, DocumentedAnswer>> = {
  202: {
    description: "The event is committed, or dropped for the reason in the header",
    schema: z.literal("ok"),
    example: "ok",
    contentType: "text/plain",
    headers: ["X-Waymark-Dropped"],
  },
  400: {
    description: "Fields are missing or malformed; `fields` has a message for each, with `body` for the whole body",
    schema: validationErrorSchema(),
    example: { error: "Validation failed", fields: { url: "Must be an http or https URL" } },
  },
  413: {
    description: "The body is over 64 KiB",
    schema: errorSchema({ limit_bytes: z.number() }),
    example: { error: "Body too large", limit_bytes: 65_536 },
  },
  429: {
    description: "The address or the site has had its events of this second, or too many of its bytes are in hand",
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
    description: "The database is unreachable, or too many events wait, as `reason` then says",
    schema: errorSchema({ reason: z.string().optional() }),
    example: { error: "Service temporarily unavailable" },
    headers: ["Retry-After"],
  },
};

export interface CollectEventDeps {
  recorder: Pick<Recorder, "record">;
  readClient: ClientReader;
  isSpam: SpamCheck;
  limits: Pick<EventLimits, "countDomains" | "admitSites">;
  refusals: Refusals;
  registry: Registry;
  countAccepted(kind: "event", count: number): void;
}

const dropReasons = ["unknown-domain", "bot", "referrer-spam", "revenue", "site-refused"] as const;

type DropReason = (typeof dropReasons)[number];

/** Plausible's answer; its clients read the status alone. */
const accepted: Answer = { status: 202, contentType: "text/plain", body: "ok" };

const description = `
202 means committed, or dropped for the reason in \`X-Waymark-Dropped\`: \`unknown-domain\`, \`bot\` (by its \`User-Agent\`), \`referrer-spam\`,
\`revenue\` (of a custom event: no decimal within the bounds, or no currency), or \`site-refused\` (some of several sites could not take the
event; the others have it). If a limit refuses the event, no site has it.

Engagement extends the visit that it belongs to, and counts as nothing else.

The collector reads the body as JSON, whatever its content type. Every key has a short form. A page view's properties are not kept.
`;

export function collectEventRoute(deps: CollectEventDeps): Route {
  const { recorder, readClient, isSpam, limits, refusals, countAccepted } = deps;
  const drop = createDropAnswers(deps.registry);
  return route({
    method: "post",
    path: "/api/event",
    operationId: "collectEvent",
    summary: "Record a page view, a custom event or engagement",
    description,
    // Plausible's clients and proxies add parameters.
    lenientQuery: [],
    body: beaconBody,
    readUsual: readPageview,
    headers: {
      "User-Agent": {
        description: "The browser's own. Another one, such as curl's, counts as a bot's, and the event is dropped",
        example: "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
      },
    },
    bodyExample: { name: "signup", url: "https://example.com/join", domain: "example.com", props: { plan: "pro" } },
    answers: eventAnswers,
    async handle({ body: { name, url, domain, referrer, props, h, interactive, revenue, e, sd }, request, response }) {
      if (isSpam(referrer)) return drop("referrer-spam");
      const isWrong = "problem" in revenue;
      if (isWrong && name !== "pageview" && name !== "engagement") return drop("revenue");
      const from = referrer !== null && isWithin(url, referrer) ? null : referrer;
      const event = { name, url, isHashPath: h, domains: domain, referrer: from, props };
      const rare = {
        isInteractive: interactive,
        revenue: isWrong ? null : revenue.revenue,
        engagement: { engagedMs: e, scrollDepth: sd },
      };
      limits.countDomains(request, domain.length);
      const admit: Parameters<Recorder["record"]>[1] = (sites) => {
        const [site] = sites;
        if (site) response.locals["caller"] = { accountId: site.accountId };
        limits.admitSites(
          request,
          sites.map(({ id }) => id),
        );
      };
      const { dropped } = await recorder.record({ ...event, ...rare, ...readClient(request) }, admit).catch((error) => {
        throw toRefusal(refusals, error) ?? error;
      });
      if (dropped !== null) return drop(dropped);
      countAccepted("event", 1);
      return accepted;
    },
  });
}

/** The refusal by a full writer or site directory; undefined for other errors. */
export function toRefusal(refusals: Refusals, error: unknown): AppError | undefined {
  if (error instanceof SiteDirectoryFullError) return refusals.service("domain_lookups", error.message);
  if (!(error instanceof WriterFullError)) return undefined;
  if (error.limit === "site") return refusals.account("site_waiting_events", error.message);
  return refusals.service(error.limit === "total" ? "waiting_events" : "site_lock", error.message);
}

/** A site may have pages on another host than its domain; a link between them is no referrer. */
function isWithin({ host }: URL, referrer: string): boolean {
  return URL.canParse(referrer) && new URL(referrer).host === host;
}

/** Makes the function that answers a dropped event and counts it by its reason. */
function createDropAnswers(registry: Registry): (reason: DropReason) => Answer {
  const drops = new Counter({
    name: "waymark_events_dropped_total",
    help: "Events dropped, by reason",
    labelNames: ["reason"],
    registers: [registry],
  });
  for (const reason of dropReasons) drops.inc({ reason }, 0);
  return (reason) => {
    drops.inc({ reason });
    return { ...accepted, headers: { "X-Waymark-Dropped": reason } };
  };
}

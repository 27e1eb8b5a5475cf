import { Buffer } from "node:buffer";
import { JsonText, textProblem } from "@waymark/service/fields";
import { type BodyBudget, createBodyReader, type JsonBody } from "@waymark/service/http";
import {
  eventBounds,
  type PropertyValue,
  type Revenue,
  readProperties,
  readRevenue,
} from "@waymark/web-stats/analytics";
import type { Request, Response } from "express";
import { z } from "zod";
import { pageUrl, referrer, referrerMaxLength, urlMaxLength } from "./fields.schema.js";

const domainsMaxLength = 1_000;
const maxDomains = 10;

const name = z
  .string()
  .min(1)
  .overwrite((text) => text.toWellFormed())
  .superRefine((text, context) => {
    const isTooLong = Buffer.byteLength(text) > eventBounds.nameBytes;
    const problem = isTooLong ? `Must be at most ${eventBounds.nameBytes} bytes of UTF-8` : textProblem(text);
    if (problem) context.addIssue({ code: "custom", message: problem });
  });

export const domains = z
  .string()
  .min(1)
  .max(domainsMaxLength)
  .overwrite((text) => text.toWellFormed())
  .transform((text, context) => {
    const names = text
      .split(",")
      .map((part) => part.trim())
      .filter(Boolean);
    const isCountRight = names.length > 0 && names.length <= maxDomains;
    const problem = isCountRight ? textProblem(text) : `Must name 1 to ${maxDomains} domains, with commas between`;
    if (problem === undefined) return names;
    context.addIssue({ code: "custom", message: problem });
    return z.NEVER;
  });

const props = z
  .unknown()
  .optional()
  .transform((value, context): Record<string, PropertyValue> | null => {
    const result = readProperties(repairText(typeof value === "string" ? parseProps(value) : value));
    if (!("problem" in result)) return result.props;
    context.addIssue({ code: "custom", message: result.problem, path: result.path });
    return z.NEVER;
  });

/** A wrong one drops the event with a reason, and no field of it is an error. */
const revenue = z
  .unknown()
  .optional()
  .transform((value): { revenue: Revenue | null } | { problem: string } =>
    value instanceof JsonText ? readRevenue(value.text) : { revenue: null },
  );

/** Browsers measure a little more than the whole page now and then, and nothing of a page without height. */
const measure = (max: number) =>
  z
    .number()
    .nullish()
    .transform((value) => (value == null || value < 0 ? null : Math.min(Math.round(value), max)));

/** A page view, custom event or engagement in the form of Plausible's clients, with long keys. */
export const beaconBody = z.object({
  name: name.describe("`pageview`, `engagement`, or a custom event's name, up to 200 bytes; short: `n`"),
  url: pageUrl.describe("The page's address, http or https; its UTM tags and click ids are read; short: `u`"),
  domain: domains.describe("The site's domain, or several with commas between; short: `d`"),
  referrer: referrer.describe("Where the visit came from, `document.referrer`; short: `r`"),
  props: props.describe(
    "A custom event's properties, an object or one as JSON text: up to 30 texts, numbers (integers below 2^53, longer ones as text), true or false, 8,192 bytes of JSON in all; short: `p`",
  ),
  h: z
    .unknown()
    .optional()
    .transform((value) => value === 1 || value === true)
    .describe("1 where pages are told apart by the part of the address after `#`"),
  interactive: z
    .unknown()
    .optional()
    .transform((value) => value !== false)
    .describe("False for a custom event that does not end a bounce; short: `i`"),
  revenue: revenue.describe(
    "Of a custom event: `{amount, currency}`, the amount a number or its text of at most 18 digits before and 6 after the point, the currency three capital letters (ISO 4217); short: `$`",
  ),
  e: measure(eventBounds.engagedMs).describe(
    "Of engagement: milliseconds in sight since the page view or the engagement before it",
  ),
  sd: measure(eventBounds.scrollDepth).describe(
    "Of engagement: the lowest point in sight so far, in percent of the page",
  ),
});

/** `plausible-tracker` sends properties as JSON text. Any other text stays as it is and is refused. */
function parseProps(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Half of an emoji becomes U+FFFD, as in text that browsers send unescaped; Postgres could not store it. */
function repairText(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key.toWellFormed(),
      typeof each === "string" ? each.toWellFormed() : each,
    ]),
  );
}

/** Addresses and domains in their plainest form, which every part of the schema takes as it is. */
const plainUrl = /^https?:\/\/[!-~]+$/;
const plainDomain = /^[\w.-]+$/;

/** Reads a plain page view, as nearly all events are: the same result as the schema's; undefined for any other body. */
export function readPageview(given: JsonBody): z.output<typeof beaconBody> | undefined {
  const { name, url: address, domain, referrer: from, h, e, sd } = given;
  if (name !== "pageview" || given["props"] != null || given["revenue"] != null || e != null || sd != null)
    return undefined;
  if (typeof domain !== "string" || domain.length > domainsMaxLength || !plainDomain.test(domain)) return undefined;
  if (from != null && (typeof from !== "string" || from.length > referrerMaxLength)) return undefined;
  if (typeof address !== "string" || address.length > urlMaxLength || !plainUrl.test(address)) return undefined;
  const parsed = parseUrl(address);
  if (!parsed) return undefined;
  return {
    name,
    url: parsed,
    domain: [domain],
    referrer: from || null,
    props: null,
    h: h === 1 || h === true,
    interactive: given["interactive"] !== false,
    revenue: { revenue: null },
    e: null,
    sd: null,
  };
}

function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

/** Browsers send no more with `sendBeacon`, or `fetch` with `keepalive` (Fetch standard). */
const bodyLimitBytes = 65_536;

/** Kept as text: an amount must not become a floating-point number. */
const opaque = { opaqueKeys: ["revenue", "$"] };

/**
 * Makes the function that reads an event's body as JSON: browsers send `text/plain`, to avoid a preflight, and curl sends
 * `application/x-www-form-urlencoded`. Short keys become long ones.
 * @param countBytes gets the size of each body
 */
export function createBeaconReader(budget: BodyBudget, countBytes: (request: Request, bytes: number) => void) {
  const readBody = createBodyReader(bodyLimitBytes, { isAnyTypeJson: true, budget });
  return async (request: Request, response: Response): Promise<JsonBody> => {
    const body = await readBody(request, response, opaque, (bytes) => countBytes(request, bytes.length));
    return {
      name: body["name"] ?? body["n"],
      url: body["url"] ?? body["u"],
      domain: body["domain"] ?? body["d"],
      referrer: body["referrer"] ?? body["r"],
      props: body["props"] ?? body["p"],
      h: body["h"],
      interactive: body["interactive"] ?? body["i"],
      revenue: body["revenue"] ?? body["$"],
      e: body["e"],
      sd: body["sd"],
    };
  };
}

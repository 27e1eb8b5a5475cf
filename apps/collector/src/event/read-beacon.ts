import { type BodyBudget, createBodyReader, type JsonBody } from "@waymark/service/http";
import type { Request, Response } from "express";

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

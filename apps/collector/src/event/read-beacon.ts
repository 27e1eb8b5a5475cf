import { createBodyReader, type JsonBody } from "@waymark/http";
import type { Request, Response } from "express";

/** Browsers send no more than this with `sendBeacon`, or with `fetch` and `keepalive` (Fetch standard). */
const bodyLimitBytes = 65_536;

/**
 * Reads the body of an event, whatever its content type: browsers send `text/plain`, which needs no preflight, and curl
 * `application/x-www-form-urlencoded`. Short keys become the long ones.
 */
export function createBeaconReader() {
  const readBody = createBodyReader(bodyLimitBytes, { isAnyTypeJson: true });
  return async (request: Request, response: Response): Promise<JsonBody> => {
    const body = await readBody(request, response, {});
    return {
      name: body["name"] ?? body["n"],
      url: body["url"] ?? body["u"],
      domain: body["domain"] ?? body["d"],
      referrer: body["referrer"] ?? body["r"],
      props: body["props"] ?? body["p"],
      h: body["h"],
    };
  };
}

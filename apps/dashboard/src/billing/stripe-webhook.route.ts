import { AppError, validationError } from "@waymark/errors";
import { type EncodedBody, pageRoute } from "@waymark/service/http";
import type pg from "pg";
import type { Logger } from "pino";
import { z } from "zod";
import { applyEvent } from "./apply-event.js";
import { isStripeId, type Payments } from "./payments.js";

interface Deps {
  pool: pg.Pool;
  payments: Payments | undefined;
  log: Logger;
  now(): Date;
}

/** `POST /webhooks/stripe`: no session and no check of the origin; its signature proves the sender. */
export function stripeWebhookRoute({ pool, payments, log, now }: Deps) {
  return pageRoute({
    method: "post",
    basePath: "",
    path: "/webhooks/stripe",
    body: { "application/json": { schema: z.unknown() } },
    async handle({ body, request }) {
      if (!payments) throw new AppError("not_found");
      const { bytes } = body as EncodedBody<"application/json">;
      const event = payments.readEvent(bytes, request.get("stripe-signature") ?? "", now());
      if (!event) throw new AppError("bad_signature");
      if (!isStripeId(event.id)) throw validationError({ id: "Must be 1 to 255 printable characters of ASCII" });
      await applyEvent({ pool, payments, log }, event);
      return { status: 200, body: {} };
    },
  });
}

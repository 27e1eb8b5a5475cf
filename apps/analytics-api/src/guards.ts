import { principalOf } from "@waymark/auth";
import { AppError } from "@waymark/errors";
import { planOf, statisticsRequestsPerMinute, upgradePath } from "@waymark/plan";
import type { Limiter } from "@waymark/service/limits";
import type { Request, RequestHandler, Response } from "express";

/** The limit per key and minute of the contract. */
export const statisticsLimit = { name: "statistics", points: statisticsRequestsPerMinute, windowSeconds: 60 };

/** 60 a minute (statistics contract, "Limits"), behind `authenticate`. One that is refused later counts, too. */
export function rateLimit(limiter: Pick<Limiter, "spend">): RequestHandler {
  return async (_request, response, next) => {
    const { isAllowed, remaining, resetSeconds } = await limiter.spend(principalOf(response).keyId);
    response.set({
      "RateLimit-Limit": String(statisticsRequestsPerMinute),
      "RateLimit-Remaining": String(remaining),
      "RateLimit-Reset": String(resetSeconds),
    });
    if (isAllowed) return next();
    throw new AppError("rate_limited", {
      details: { limit: statisticsRequestsPerMinute, retry_after: resetSeconds },
      headers: { "Retry-After": String(resetSeconds) },
    });
  };
}

/** Refuses accounts without the statistics API in their plan (statistics contract, "Authentication" 4). */
export const requireStatisticsPlan: RequestHandler = (_request, response, next) => {
  const { plan } = principalOf(response);
  if (!planOf(plan).statisticsApi) throw new AppError("plan_required", { details: { upgrade_url: upgradePath } });
  next();
};

/** Calls guards of the API one after the other, as for a request of its own. */
export function passGuards(guards: readonly RequestHandler[]) {
  return async ({ request, response }: { request: Request; response: Response }): Promise<void> => {
    for (const guard of guards) await guard(request, response, () => undefined);
  };
}

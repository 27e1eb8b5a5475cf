import { principalOf } from "@waymark/auth";
import { AppError } from "@waymark/errors";
import { planOf, upgradePath } from "@waymark/plan";
import type { RequestHandler } from "express";

/** Refuses accounts without the statistics API in their plan (statistics contract, "Authentication" 4). */
export const requireStatisticsPlan: RequestHandler = (_request, response, next) => {
  const { plan } = principalOf(response);
  if (!planOf(plan).statisticsApi) throw new AppError("plan_required", { details: { upgrade_url: upgradePath } });
  next();
};

import { type PersonInAccount, type Role, readViewer } from "@waymark/accounts/identity";
import { addressOf } from "@waymark/auth";
import { AppError } from "@waymark/errors";
import { pageRoute } from "@waymark/service/http";
import type pg from "pg";
import type { Config } from "../config.js";
import { viewerOf } from "./viewer.js";

/** The answer of `GET /me`: what every page needs. */
export interface Me extends PersonInAccount {
  role: Role;
  isOperator: boolean;
  traceApiUrl: string;
  analyticsApiUrl: string;
  collectorUrl: string;
}

type Addresses = Pick<Config, "traceApiUrl" | "analyticsApiUrl" | "collectorUrl">;

export function getMeRoute({ pool, config }: { pool: pg.Pool; config: Addresses }) {
  return pageRoute({
    method: "get",
    path: "/me",
    async handle({ response }) {
      const { role, isOperator, ...viewer } = viewerOf(response);
      const found = await readViewer(pool, viewer);
      if (!found) throw new AppError("not_signed_in");
      const { traceApiUrl, analyticsApiUrl } = config;
      const collectorUrl = addressOf(config.collectorUrl, found.account.slot);
      const me: Me = { ...found, role, isOperator, traceApiUrl, analyticsApiUrl, collectorUrl };
      return { status: 200, body: me };
    },
  });
}

import { AppError } from "@waymark/errors";
import { route } from "@waymark/http";
import type { PlanId } from "@waymark/plan";
import type pg from "pg";
import { z } from "zod";
import type { Config } from "../config.js";
import { type Role, viewerOf } from "./viewer.js";

/** The answer of `GET /me`: what every page needs. */
export interface Me {
  account: { id: string; email: string; plan: PlanId };
  role: Role;
  isOperator: boolean;
  traceApiUrl: string;
  collectorUrl: string;
}

/** `GET /me` */
export function getMeRoute({ pool, config }: { pool: pg.Pool; config: Pick<Config, "traceApiUrl" | "collectorUrl"> }) {
  return route({
    method: "get",
    path: "/me",
    operationId: "getMe",
    summary: "The person, the account and the addresses shown in examples",
    answers: { 200: { description: "The viewer", schema: z.custom<Me>() } },
    async handle({ response }) {
      const { accountId, role, isOperator } = viewerOf(response);
      const sql = "SELECT id, email, plan FROM account WHERE id = $1";
      const { rows } = await pool.query<Me["account"]>(sql, [accountId]);
      const account = rows[0];
      if (!account) throw new AppError("not_signed_in");
      const { traceApiUrl, collectorUrl } = config;
      const me: Me = { account, role, isOperator, traceApiUrl, collectorUrl };
      return { status: 200, body: me };
    },
  });
}

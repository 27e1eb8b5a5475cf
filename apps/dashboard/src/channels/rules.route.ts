import { createRule, deleteRule, listRules } from "@waymark/alerts";
import { pageRoute } from "@waymark/service/http";
import type pg from "pg";
import { ownerOf, viewerOf } from "../session/viewer.js";
import { createRuleBody, type RuleList } from "./channels.schema.js";

interface Deps {
  pool: pg.Pool;
}

/** `GET /alert-rules`: about agents' failure rates, oldest first. */
export function listRulesRoute({ pool }: Deps) {
  return pageRoute({
    method: "get",
    path: "/alert-rules",
    async handle({ response }) {
      return { status: 200, body: { rules: await listRules(pool, viewerOf(response).accountId) } satisfies RuleList };
    },
  });
}

/** `POST /alert-rules`. */
export function createRuleRoute({ pool }: Deps) {
  return pageRoute({
    method: "post",
    path: "/alert-rules",
    body: createRuleBody,
    async handle({ body, response }) {
      const { id } = await createRule(pool, ownerOf(response).accountId, body);
      return { status: 201, body: { id } };
    },
  });
}

/** `DELETE /alert-rules/:rule_id`. */
export function deleteRuleRoute({ pool }: Deps) {
  return pageRoute({
    method: "delete",
    path: "/alert-rules/:rule_id",
    async handle({ params, response }) {
      await deleteRule(pool, { ruleId: params["rule_id"] ?? "", accountId: ownerOf(response).accountId });
      return { status: 200, body: {} };
    },
  });
}

import { createRule, deleteRule, listRules } from "@waymark/alerts";
import { route } from "@waymark/service/http";
import type pg from "pg";
import { z } from "zod";
import { done } from "../session/done.js";
import { ownerOf, viewerOf } from "../session/viewer.js";
import { createRuleBody, type RuleList } from "./channels.schema.js";

interface Deps {
  pool: pg.Pool;
}

/** `GET /alert-rules`: about agents' failure rates, oldest first. */
export function listRulesRoute({ pool }: Deps) {
  return route({
    method: "get",
    path: "/alert-rules",
    operationId: "listRules",
    summary: "List rules about failure rates",
    answers: { 200: { description: "The rules", schema: z.custom<RuleList>() } },
    async handle({ response }) {
      return { status: 200, body: { rules: await listRules(pool, viewerOf(response).accountId) } };
    },
  });
}

/** `POST /alert-rules`. */
export function createRuleRoute({ pool }: Deps) {
  return route({
    method: "post",
    path: "/alert-rules",
    operationId: "createRule",
    summary: "Add a rule about an agent's failure rate",
    body: createRuleBody,
    answers: { 201: { description: "The rule", schema: z.object({ id: z.string() }) } },
    async handle({ body, response }) {
      const { id } = await createRule(pool, ownerOf(response).accountId, body);
      return { status: 201, body: { id } };
    },
  });
}

/** `DELETE /alert-rules/:rule_id`. */
export function deleteRuleRoute({ pool }: Deps) {
  return route({
    method: "delete",
    path: "/alert-rules/:rule_id",
    operationId: "deleteRule",
    summary: "Delete a rule",
    answers: done,
    async handle({ params, response }) {
      await deleteRule(pool, { ruleId: params["rule_id"] ?? "", accountId: ownerOf(response).accountId });
      return { status: 200, body: {} };
    },
  });
}

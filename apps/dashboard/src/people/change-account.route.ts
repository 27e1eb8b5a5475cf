import { renameAccount } from "@waymark/accounts/identity";
import { route } from "@waymark/service/http";
import { done } from "../session/done.js";
import { ownerOf } from "../session/viewer.js";
import { changeAccountBody } from "./people.schema.js";
import type { PeopleDeps } from "./people-deps.js";

export function changeAccountRoute({ pool }: PeopleDeps) {
  return route({
    method: "patch",
    path: "/account",
    operationId: "changeAccount",
    summary: "Change the account's name",
    body: changeAccountBody,
    answers: done,
    async handle({ body, response }) {
      await renameAccount(pool, ownerOf(response).accountId, body.name);
      return { status: 200, body: {} };
    },
  });
}

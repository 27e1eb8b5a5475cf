import { renameAccount } from "@waymark/accounts/identity";
import { pageRoute } from "@waymark/service/http";
import { ownerOf } from "../session/viewer.js";
import { changeAccountBody } from "./people.schema.js";
import type { PeopleDeps } from "./people-deps.js";

export function changeAccountRoute({ pool }: PeopleDeps) {
  return pageRoute({
    method: "patch",
    path: "/account",
    body: changeAccountBody,
    async handle({ body, response }) {
      await renameAccount(pool, ownerOf(response).accountId, body.name);
      return { status: 200, body: {} };
    },
  });
}

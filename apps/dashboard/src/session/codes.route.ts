import {
  confirmCodes,
  dropCodes,
  offerCodes,
  readPassword,
  readViewer,
  recordForPerson,
  wrongCode,
} from "@waymark/accounts/identity";
import { withTransaction } from "@waymark/database";
import { validationError } from "@waymark/errors";
import { z } from "zod";
import type { AppDeps } from "../app-deps.js";
import { codeCheck, requireCode } from "./enter.js";
import { requireOwnPassword } from "./own-password.js";
import { codeField, passwordField } from "./session.schema.js";
import { type AnswerOf, viewerRoute } from "./viewer.js";

export type OfferedCodes = AnswerOf<typeof codeRoutes, "post /me/codes">;
export type RecoveryCodes = AnswerOf<typeof codeRoutes, "put /me/codes">;

const subject = "one-time codes";

/** A person's own one-time codes: offered after the password, on with the first code, off with password and code. */
export function codeRoutes(deps: AppDeps) {
  const { pool, now } = deps;
  return [
    viewerRoute("post", "/me/codes", {
      scope: "viewer",
      body: z.strictObject({ password: passwordField() }),
      async handle({ viewer: { personId, accountId }, body: { password }, request }) {
        if ((await readPassword(pool, personId)) === undefined) {
          throw validationError({ password: "Set a password first: codes come after it" });
        }
        await requireOwnPassword(deps, request, { personId, given: password, field: "password" });
        const email = (await readViewer(pool, { personId, accountId }))?.person.email ?? "";
        const offered = await offerCodes(pool, { personId, email });
        if (!offered) throw validationError({ password: "One-time codes are on already" });
        return offered;
      },
    }),
    viewerRoute("put", "/me/codes", {
      scope: "viewer",
      body: z.strictObject({ code: codeField() }),
      handle: ({ viewer: { personId }, body: { code } }) =>
        withTransaction(pool, async (client) => {
          const recoveryCodes = await confirmCodes(client, { personId, code, now: now() });
          if (!recoveryCodes) throw wrongCode();
          await recordForPerson(client, { personId, action: "factor_added", subject });
          return { recoveryCodes };
        }),
    }),
    viewerRoute("post", "/me/codes/off", {
      scope: "viewer",
      body: z.strictObject({ password: passwordField(), code: codeField() }),
      async handle({ viewer: { personId }, body: { password, code }, request }) {
        await requireOwnPassword(deps, request, { personId, given: password, field: "password" });
        await requireCode(codeCheck(deps, request), personId, code);
        await withTransaction(pool, async (client) => {
          await dropCodes(client, personId);
          await recordForPerson(client, { personId, action: "factor_removed", subject });
        });
      },
    }),
  ] as const;
}

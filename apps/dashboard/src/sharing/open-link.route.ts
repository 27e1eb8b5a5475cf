import { AppError, tooMany } from "@waymark/errors";
import { textField } from "@waymark/service/fields";
import { pageRoute } from "@waymark/service/http";
import { z } from "zod";
import type { AppDeps } from "../app-deps.js";
import { type AnswerOf, routeFor } from "../session/viewer.js";
import { openedOf, tokenOf } from "./opened-link.js";
import type { sharedLinks } from "./shared-link.js";

export type SharedInfo = AnswerOf<typeof openLinkRoutes, "get /:token">;

type Deps = AppDeps & Pick<ReturnType<typeof sharedLinks>, "proofCookie" | "isThere">;

/** Below `/dashboard/api/shared`, also before the link's password is given. */
export function openLinkRoutes(deps: Deps) {
  const info = routeFor(openedOf)("get", "/:token", {
    async handle({ viewer: { link, isProven } }) {
      if (!(await deps.isThere(link))) throw new AppError("not_found");
      return { shows: link.traceId === undefined ? "site" : "trace", needsPassword: !isProven } as const;
    },
  });
  return [info, passwordRoute(deps)] as const;
}

function passwordRoute({ guesses, passwords, proofCookie }: Deps) {
  return pageRoute({
    method: "post",
    path: "/:token/password",
    body: z.strictObject({ password: textField({ max: 200 }) }),
    async handle({ body, request, response }) {
      const { link } = openedOf(response);
      if (link.password === undefined) return { status: 200, body: {} };
      const { isAllowed, network, retryAfterSeconds, refund } = await guesses.admit(request, "shared", link.keyId);
      if (!isAllowed) throw tooMany(retryAfterSeconds);
      if (!(await passwords.verify(link.password, body.password, network))) {
        throw new AppError("wrong_password", { message: "Wrong password" });
      }
      await refund();
      return { status: 200, headers: { "Set-Cookie": proofCookie(tokenOf(request), link) }, body: {} };
    },
  });
}

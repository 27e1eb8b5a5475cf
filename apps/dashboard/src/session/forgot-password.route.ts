import { findPersonByEmail } from "@waymark/accounts/identity";
import { pageRoute } from "@waymark/service/http";
import type { Request } from "express";
import { mailLink } from "./mail-link.js";
import { forgotBody } from "./session.schema.js";
import { mailed, type SignUpDeps } from "./sign-up-deps.js";

/** `POST /forgot`: mails a link to a known address; each cell to those that it knows. */
export function forgotRoute(deps: SignUpDeps) {
  const { pool, guesses, otherCells, mails } = deps;
  const mail = async (email: string, request: Request) => {
    const person = await findPersonByEmail(pool, email);
    if (person) await mailLink(deps, { purpose: "reset", email, personId: person.id });
    await otherCells.ask({ request, method: "POST", path: "/forgot", body: { email } });
  };
  return pageRoute({
    method: "post",
    path: "/forgot",
    body: forgotBody,
    async handle({ body: { email }, request }) {
      const { isAllowed } = await guesses.admit(request, "forgot", email);
      if (isAllowed) mails.later(() => mail(email, request));
      return mailed;
    },
  });
}

import { route } from "@waymark/http";
import { createLink, findPersonByEmail, hasEnoughLinks, linkUrl } from "@waymark/identity";
import { forgotBody } from "./session.schema.js";
import { mailed, mailedAnswers, type SignUpDeps } from "./sign-up-deps.js";

/** `POST /forgot`: mails a link to a known address. */
export function forgotRoute({ pool, config, guesses, mails, now }: SignUpDeps) {
  const mail = async (email: string) => {
    const person = await findPersonByEmail(pool, email);
    if (!person) return;
    const link = { purpose: "reset", email, personId: person.id, now: now() } as const;
    if (await hasEnoughLinks(pool, link)) return;
    const { token, expiresAt } = await createLink(pool, link);
    await mails.send(email, { purpose: "reset", link: linkUrl(config.url.href, token), expiresAt });
  };
  return route({
    method: "post",
    path: "/forgot",
    operationId: "forgotPassword",
    summary: "Ask for a new password",
    body: forgotBody,
    answers: mailedAnswers,
    async handle({ body: { email }, request }) {
      const { isAllowed } = await guesses.admit(request, "forgot", email);
      if (isAllowed) mails.later(() => mail(email));
      return mailed;
    },
  });
}

import { route } from "@waymark/http";
import { createSessionCookie, createSignUpCookie, endSessionOfToken, useLink } from "@waymark/identity";
import { z } from "zod";
import type { LinkDeps } from "./link-deps.js";
import { type UseLinkAnswer, useLinkBody } from "./session.schema.js";

/** `POST /link`: uses a link up and signs in. */
export function useLinkRoute(deps: LinkDeps) {
  const { pool, config, guesses } = deps;
  const cookie = createSessionCookie(config.url);
  const signUpCookie = createSignUpCookie(config.url);
  return route({
    method: "post",
    path: "/link",
    operationId: "useLink",
    summary: "Use a link",
    body: useLinkBody,
    answers: { 200: { description: "Signed in", schema: z.custom<UseLinkAnswer>() } },
    async handle({ body, request }) {
      const { network, refund } = await guesses.admit(request, "link");
      const browserProof = signUpCookie.read(request.headers.cookie);
      const userAgent = request.get("user-agent");
      const arrival = await useLink({ ...deps, slots: config.slots }, { ...body, browserProof, network, userAgent });
      await refund();
      const before = cookie.read(request.headers.cookie);
      if (before !== undefined) await endSessionOfToken(pool, before);
      const headers = { "Set-Cookie": cookie.write(arrival.sessionToken) };
      return { status: 200, headers, body: { isSignedIn: true, purpose: arrival.purpose } satisfies UseLinkAnswer };
    },
  });
}

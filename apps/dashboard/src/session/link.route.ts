import { route } from "@waymark/http";
import { createSessionCookie, endSessionOfToken, type Passwords, readLink, useLink } from "@waymark/identity";
import type pg from "pg";
import { z } from "zod";
import type { Config } from "../config.js";
import type { Guesses } from "./guesses.js";
import { type LinkInfo, linkQuery, type UseLinkAnswer, useLinkBody } from "./session.schema.js";

export interface LinkDeps {
  pool: pg.Pool;
  config: Pick<Config, "url">;
  passwords: Passwords;
  guesses: Guesses;
  now(): Date;
}

/** `GET /link`: for the link's page. Previews of mails may ask for it, so it uses nothing up. */
export function getLinkRoute(deps: LinkDeps) {
  return route({
    method: "get",
    path: "/link",
    operationId: "getLink",
    summary: "What a link does and asks for",
    query: linkQuery,
    answers: { 200: { description: "The link", schema: z.custom<LinkInfo>() } },
    async handle({ query: { token } }) {
      const body: LinkInfo = await readLink(deps, token);
      return { status: 200, body };
    },
  });
}

/** `POST /link`: uses a link up and signs in. */
export function useLinkRoute(deps: LinkDeps) {
  const { pool, config, guesses } = deps;
  const cookie = createSessionCookie(config.url);
  return route({
    method: "post",
    path: "/link",
    operationId: "useLink",
    summary: "Use a link",
    body: useLinkBody,
    answers: { 200: { description: "Signed in", schema: z.custom<UseLinkAnswer>() } },
    async handle({ body, request }) {
      const { refund } = await guesses.admit(request, "link");
      const arrival = await useLink(deps, { ...body, userAgent: request.get("user-agent") });
      await refund();
      const before = cookie.read(request.headers.cookie);
      if (before !== undefined) await endSessionOfToken(pool, before);
      const headers = { "Set-Cookie": cookie.write(arrival.sessionToken) };
      return { status: 200, headers, body: { isSignedIn: true, purpose: arrival.purpose } satisfies UseLinkAnswer };
    },
  });
}

import { createSessionCookie, createSignUpCookie, endSessionOfToken, useLink } from "@waymark/accounts/identity";
import { confirmChannel } from "@waymark/alerts";
import { AppError } from "@waymark/errors";
import { pageRoute } from "@waymark/service/http";
import { ignoreUnknown, type LinkDeps } from "./link-deps.js";
import { type UseLinkAnswer, useLinkBody } from "./session.schema.js";

/** `POST /link`: uses a link up and signs in. */
export function useLinkRoute(deps: LinkDeps) {
  const { pool, config, guesses, otherCells, sessions } = deps;
  const cookie = createSessionCookie(config.url);
  const signUpCookie = createSignUpCookie(config.url);
  return pageRoute({
    method: "post",
    path: "/link",
    body: useLinkBody,
    async handle({ body, request }) {
      const { network, refund } = await guesses.admit(request, "link");
      const browserProof = signUpCookie.read(request.headers.cookie);
      const userAgent = request.get("user-agent");
      const viewer = await sessions.find(request.headers.cookie);
      const given = { ...body, browserProof, network, userAgent, viewer };
      const arrival = await useLink({ ...deps, slots: config.slots, confirmChannel }, given).catch(ignoreUnknown);
      if (arrival instanceof AppError) {
        const answer = await otherCells.ask({ request, method: "POST", path: "/link", body });
        if (!answer) throw arrival;
        await refund();
        return answer;
      }
      await refund();
      const { purpose, sessionToken } = arrival;
      const answer = { status: 200, body: { isSignedIn: purpose !== "channel", purpose } satisfies UseLinkAnswer };
      if (sessionToken === undefined) {
        if (viewer) sessions.forget(viewer.accountId);
        return answer;
      }
      const before = cookie.read(request.headers.cookie);
      if (before !== undefined) await endSessionOfToken(pool, before);
      return { ...answer, headers: { "Set-Cookie": cookie.write(sessionToken) } };
    },
  });
}

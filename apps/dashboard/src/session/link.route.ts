import {
  createSessionCookie,
  createSignUpCookie,
  endSessionOfToken,
  readLink,
  useLink,
} from "@waymark/accounts/identity";
import { confirmChannel } from "@waymark/alerts";
import { AppError } from "@waymark/errors";
import { pageRoute } from "@waymark/service/http";
import type { AppDeps } from "../app-deps.js";
import { codeCheck } from "./enter.js";
import { type LinkInfo, linkQuery, type UseLinkAnswer, useLinkBody } from "./session.schema.js";

export function linkRoutes(deps: AppDeps) {
  return [getLinkRoute(deps), useLinkRoute(deps)];
}

/** `GET /link`: for the link's page. Previews of mails may ask for it, so it uses nothing up. */
function getLinkRoute(deps: AppDeps) {
  const signUpCookie = createSignUpCookie(deps.config.url);
  return pageRoute({
    method: "get",
    path: "/link",
    query: linkQuery,
    async handle({ query: { token }, request }) {
      // Each unknown token asks all cells.
      const { refund } = await deps.guesses.admit(request, "link");
      const browserProof = signUpCookie.read(request.headers.cookie);
      const viewer = await deps.sessions.find(request.headers.cookie);
      const link = await readLink(deps, { token, browserProof, viewer }).catch(ignoreUnknown);
      if (!(link instanceof AppError)) {
        await refund();
        return { status: 200, body: link satisfies LinkInfo };
      }
      const path = `/link?${new URLSearchParams({ token })}`;
      const answer = await deps.otherCells.ask({ request, method: "GET", path });
      if (!answer) throw link;
      await refund();
      return answer;
    },
  });
}

function useLinkRoute(deps: AppDeps) {
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
      const linkDeps = { ...deps, slots: config.slots, confirmChannel, takeCode: codeCheck(deps, request) };
      const arrival = await useLink(linkDeps, given).catch(ignoreUnknown);
      if (arrival instanceof AppError) {
        const answer = await otherCells.ask({ request, method: "POST", path: "/link", body });
        if (!answer) throw arrival;
        if (answer.status === 200) await refund();
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

function ignoreUnknown(error: unknown): AppError {
  if (error instanceof AppError && error.code === "link_expired") return error;
  throw error;
}

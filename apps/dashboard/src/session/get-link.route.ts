import { createSignUpCookie, readLink } from "@waymark/accounts/identity";
import { AppError } from "@waymark/errors";
import { pageRoute } from "@waymark/service/http";
import { ignoreUnknown, type LinkDeps } from "./link-deps.js";
import { type LinkInfo, linkQuery } from "./session.schema.js";

/** `GET /link`: for the link's page. Previews of mails may ask for it, so it uses nothing up. */
export function getLinkRoute(deps: LinkDeps) {
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

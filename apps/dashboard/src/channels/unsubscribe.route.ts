import { stopReport } from "@waymark/alerts";
import { pageRoute } from "@waymark/service/http";
import type { AppDeps } from "../app-deps.js";

const ask = `<form method="post"><p>Waymark mails you reports.</p><button>Stop the reports</button></form>`;
const stopped = "<p>No more reports come to this address. The page Channels starts them again.</p>";

function pageOf(content: string) {
  const head = `<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Reports by mail</title>`;
  const body = `<!doctype html><html lang="en"><head>${head}</head><body><h1>Reports by mail</h1>${content}</body></html>`;
  return { status: 200, contentType: "text/html; charset=utf-8", body };
}

/**
 * The address in `List-Unsubscribe` (RFC 8058): its token is the proof, so a mail program asks without a session and from
 * anywhere. GET only asks back, since programs look links up. An unknown token gets the same answer.
 */
export function unsubscribeRoutes({ pool, otherCells }: AppDeps) {
  const path = "/unsubscribe/:token";
  return [
    pageRoute({ method: "get", path, handle: async () => pageOf(ask) }),
    pageRoute({
      method: "post",
      path,
      async handle({ params: { token = "" }, request }) {
        await stopReport(pool, token);
        await otherCells.ask({ request, method: "POST", path: `/unsubscribe/${encodeURIComponent(token)}` });
        return request.get("accept")?.includes("text/html") ? pageOf(stopped) : { status: 200, body: {} };
      },
    }),
  ];
}

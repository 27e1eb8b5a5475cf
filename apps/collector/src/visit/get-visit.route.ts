import { type Refusals, type Route, route } from "@waymark/service/http";
import type { Recorder } from "@waymark/web-stats/analytics";
import { z } from "zod";
import { domains } from "../event/beacon.schema.js";
import { eventAnswers, toRefusal } from "../event/collect-event.route.js";
import type { ClientReader } from "../event/read-client.js";

interface GetVisitDeps {
  recorder: Pick<Recorder, "visit">;
  readClient: ClientReader;
  refusals: Refusals;
}

const description = `
A page hands the token to the site's agent, whose traces carry it as \`visit\`; the site's owner then sees what agents cost by channel. It
stands for the sender's visits of this UTC day at the site, and means nothing afterwards. It is null unless the owner has switched this on. Counts
as an event of the address.
`;

/** `GET /api/event`: what the tracker's `waymark.visit()` asks. It sets and stores nothing. */
export function getVisitRoute({ recorder, readClient, refusals }: GetVisitDeps): Route {
  return route({
    method: "get",
    path: "/api/event",
    operationId: "getVisit",
    summary: "Get the token of the sender's visits of today",
    description,
    query: z.object({ domain: domains.describe("The site's domain, or several with commas between") }),
    lenientQuery: [],
    answers: {
      200: {
        description: "The token, or null",
        schema: z.object({ visit: z.string().nullable() }),
        example: { visit: "9f86d081884c7d659a2feaa0c55ad015" },
      },
      ...Object.fromEntries([400, 429, 503].flatMap((status) => [[status, eventAnswers[status]]])),
    },
    async handle({ query: { domain }, request }) {
      const visit = await recorder.visit({ domains: domain, ...readClient(request) }).catch((error) => {
        throw toRefusal(refusals, error) ?? error;
      });
      return { status: 200, body: { visit } };
    },
  });
}

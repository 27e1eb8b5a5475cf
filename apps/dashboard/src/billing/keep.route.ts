import { recordAudit } from "@waymark/accounts/identity";
import { withTransaction } from "@waymark/database";
import { AppError } from "@waymark/errors";
import { utcMonth } from "@waymark/plan";
import { instrumentations, keepModes, listDropped, readNoise, setKeep } from "@waymark/traces";
import { z } from "zod";
import { createAnswerCache } from "../answer-cache.js";
import type { AppDeps } from "../app-deps.js";
import { type AnswerOf, ownerRoute, viewerRoute } from "../session/viewer.js";
import { readBilling } from "./billing.query.js";

export type Kept = AnswerOf<typeof keepRoutes, "get /keep">;

export function keepRoutes(deps: AppDeps) {
  return [readKeptRoute(deps), changeKeepRoute(deps)];
}

function readKeptRoute({ pool, now }: AppDeps) {
  const read = createAnswerCache(now, async (accountId: string, month: string) => {
    const [noise, dropped] = await Promise.all([
      readNoise(pool, { accountId, month }),
      listDropped(pool, { accountId, month }),
    ]);
    return { noise, dropped };
  });
  return viewerRoute("get", "/keep", {
    handle: ({ viewer: { accountId } }) => read(accountId, utcMonth(now()).firstDay),
  });
}

function changeKeepRoute({ pool }: AppDeps) {
  const leaveOut = z.array(z.enum(instrumentations)).max(instrumentations.length);
  return ownerRoute("put", "/keep", {
    body: z.object({ keep: z.enum(keepModes).optional(), leave_out: leaveOut.optional() }),
    async handle({ viewer: { accountId, personId }, body }) {
      return withTransaction(pool, async (client) => {
        const before = await readBilling(client, accountId);
        const kept = await setKeep(client, accountId, body);
        if (!before || !kept) throw new AppError("not_signed_in");
        if (before.keep !== kept.keep || String(before.leaveOut) !== String(kept.leave_out)) {
          const left = kept.leave_out.length > 0 ? `, without ${kept.leave_out.join(", ")}` : "";
          const subject = kept.keep === "all" ? "all traces" : `traces of agents${left}`;
          await recordAudit(client, { accountId, personId, action: "keep_changed", subject });
        }
        return kept;
      });
    },
  });
}

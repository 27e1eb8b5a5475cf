import { type CreateGroupCommit, createGroupCommit } from "@waymark/database";
import { createRefusals } from "@waymark/service/http";
import type { Registry } from "prom-client";

/** Makes queues of statements in turns between accounts, with refusals in the metrics. */
export function shareStatements(registry: Registry): CreateGroupCommit {
  const refusals = createRefusals(registry);
  return (options) => {
    const queue = createGroupCommit({
      ...options,
      ownerOf: ({ accountId }) => accountId,
      refuse: ({ limit, scope, max }) => {
        const reason = `At most ${max} may wait for ${options.name}`;
        return refusals[scope === "owner" ? "account" : "service"](`waiting_${limit}`, reason);
      },
    });
    return (row) => queue.add(row);
  };
}

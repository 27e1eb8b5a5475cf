import { type CreateGroupCommit, createGroupCommit, type Refusal } from "@waymark/database";
import type { AppError } from "@waymark/errors";
import { createRefusals } from "@waymark/service/http";
import { Gauge, Histogram, type Registry } from "prom-client";

const describe = {
  rows: (rows: number) => `${rows.toLocaleString("en")} requests`,
  count: (count: number) => `${count.toLocaleString("en")} spans`,
  bytes: (bytes: number) => `${bytes / 1_048_576} MiB`,
} as const;

/** With metrics. They reject with AppError 429 at an account's share of the queue, and 503 when it is full. */
export function createGroupCommitFactory(registry: Registry): CreateGroupCommit {
  const rowsPerStatement = new Histogram({
    name: "waymark_rows_per_statement",
    help: "Rows that one batched statement wrote or read",
    labelNames: ["statement"],
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_000],
    registers: [registry],
  });
  const queues = new Map<string, { readonly waitingRows: number }>();
  new Gauge({
    name: "waymark_rows_waiting",
    help: "Rows that wait for statements in flight, by statement",
    labelNames: ["statement"],
    registers: [registry],
    collect() {
      for (const [statement, { waitingRows }] of queues) this.set({ statement }, waitingRows);
    },
  });
  const refusals = createRefusals(registry);

  return (options) => {
    const { name } = options;
    const refuse = ({ limit, scope, max }: Refusal): AppError => {
      const whose = scope === "owner" ? "of one account" : "of all accounts together";
      const reason = `At most ${describe[limit](max)} ${whose} may wait for ${name}`;
      return refusals[scope === "owner" ? "account" : "service"](`waiting_${limit}`, reason);
    };
    const observe = (rows: number) => rowsPerStatement.observe({ statement: name }, rows);
    const queue = createGroupCommit({ ...options, ownerOf: ({ accountId }) => accountId, refuse, observe });
    queues.set(name, queue);
    return (row) => queue.add(row);
  };
}

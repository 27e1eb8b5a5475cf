import cluster from "node:cluster";
import type { ProcessLike } from "../run-process.js";
import type { Place, Question, ToMember, ToPrimary } from "./messages.js";
import { createSiblings, type Siblings } from "./siblings.js";

/** One of several processes of a service. */
export interface Member {
  readonly siblings: Siblings;
  /** This process's part of an amount for all, at least 1. */
  partOf(amount: number): number;
  /** Tells the primary that this process takes requests, and answers for the operations server. */
  serve(answers: Readonly<Record<Question, () => Promise<unknown>>>, port: number): void;
}

/** Joins the primary that forked this process. */
export function joinPrimary(node: ProcessLike, { number, of }: Place): Member {
  const send = (message: ToPrimary) => void node.send?.(message);
  const { siblings, receive } = createSiblings((told) => send({ kind: "tell", told }));
  // Otherwise Node ends this process at once when the primary is gone; `runProcess` stops in order.
  if (cluster.worker) cluster.worker.exitedAfterDisconnect = true;
  node.on("message", (message) => receive(message as ToMember));
  return {
    siblings,
    partOf: (amount) => Math.max(1, Math.floor(amount / of) + (number <= amount % of ? 1 : 0)),
    serve(answers, port) {
      node.on("message", (received) => {
        const message = received as ToMember;
        if (message.kind !== "ask") return;
        const { id, question } = message;
        void answers[question]().then((answer) => send({ kind: "answer", id, answer }));
      });
      send({ kind: "listening", port });
    },
  };
}

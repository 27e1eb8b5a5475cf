import cluster from "node:cluster";
import type { ProcessLike } from "../run-process.js";
import type { Place, Question, Told, ToMember, ToPrimary } from "./messages.js";

/** Told this much later, so that a busy process sends few messages. */
const tellAfterMs = 5;

/** The other processes of the service, told by the primary within milliseconds. */
export interface Siblings {
  /** Hears what the others spend, under a name. The result tells them what this process spends. */
  spend(topic: string, hear: (key: string, amount: number) => void): (key: string, amount: number) => void;
  /** Adds up what the others hold, under a name. What a process held is free once it ended. */
  hold(topic: string): Pick<Holdings, "total" | "of" | "tell">;
}

/** Tells and hears; `receive` takes the primary's messages. */
export function createSiblings(send: (told: readonly Told[]) => void) {
  const spending = new Map<string, (key: string, amount: number) => void>();
  const holdings = new Map<string, Holdings>();
  const pending = new Map<string, Map<string, number>>();
  let isTelling = false;

  function flush(): void {
    isTelling = false;
    const told = [...pending].flatMap(([topic, amounts]) =>
      [...amounts].map(([key, amount]): Told => [topic, key, amount]),
    );
    pending.clear();
    if (told.length > 0) send(told);
  }
  function pendingOf(topic: string): Map<string, number> {
    if (!isTelling) setTimeout(flush, tellAfterMs).unref();
    isTelling = true;
    const known = pending.get(topic);
    if (known) return known;
    const fresh = new Map<string, number>();
    pending.set(topic, fresh);
    return fresh;
  }

  const siblings: Siblings = {
    spend(topic, hear) {
      spending.set(topic, hear);
      return (key, amount) => {
        const amounts = pendingOf(topic);
        amounts.set(key, (amounts.get(key) ?? 0) + amount);
      };
    },
    hold(topic) {
      const held = new Holdings((key, amount) => pendingOf(topic).set(key, amount));
      holdings.set(topic, held);
      return held;
    },
  };
  return {
    siblings,
    receive(message: ToMember): void {
      if (message.kind === "tell") {
        for (const [topic, key, amount] of message.told) {
          spending.get(topic)?.(key, amount);
          holdings.get(topic)?.hear(message.from, key, amount);
        }
      }
      if (message.kind === "gone") for (const each of holdings.values()) each.forget(message.from);
      if (message.kind === "joined") for (const each of holdings.values()) each.tellAgain();
    },
  };
}

class Holdings {
  total = 0;
  private readonly own = new Map<string, number>();
  private readonly sums = new Map<string, number>();
  private readonly byProcess = new Map<number, Map<string, number>>();

  constructor(private readonly send: (key: string, held: number) => void) {}

  of(key: string): number {
    return this.sums.get(key) ?? 0;
  }

  tell(key: string, held: number): void {
    put(this.own, key, held);
    this.send(key, held);
  }

  tellAgain(): void {
    for (const [key, held] of this.own) this.send(key, held);
  }

  hear(from: number, key: string, held: number): void {
    const known = this.byProcess.get(from) ?? new Map<string, number>();
    this.byProcess.set(from, known);
    const change = held - (known.get(key) ?? 0);
    put(known, key, held);
    put(this.sums, key, this.of(key) + change);
    this.total += change;
  }

  forget(from: number): void {
    for (const key of [...(this.byProcess.get(from)?.keys() ?? [])]) this.hear(from, key, 0);
    this.byProcess.delete(from);
  }
}

/** Keeps no zeros: memory grows only with holders. */
function put(amounts: Map<string, number>, key: string, amount: number): void {
  if (amount === 0) amounts.delete(key);
  else amounts.set(key, amount);
}

export type Member = ReturnType<typeof joinPrimary>;

export function joinPrimary(node: ProcessLike, { number, of }: Place) {
  const send = (message: ToPrimary) => void node.send?.(message);
  const { siblings, receive } = createSiblings((told) => send({ kind: "tell", told }));
  // Otherwise Node ends this process at once when the primary is gone; `runProcess` stops in order.
  if (cluster.worker) cluster.worker.exitedAfterDisconnect = true;
  node.on("message", (message: unknown) => receive(message as ToMember));
  return {
    siblings,
    /** This process's part of an amount for all, at least 1. */
    partOf: (amount: number) => Math.max(1, Math.floor(amount / of) + (number <= amount % of ? 1 : 0)),
    /** Tells the primary that this process takes requests, and answers for the operations server. */
    serve(answers: Readonly<Record<Question, () => Promise<unknown>>>, port: number) {
      node.on("message", (received: unknown) => {
        const message = received as ToMember;
        if (message.kind !== "ask") return;
        const { id, question } = message;
        void answers[question]().then((answer) => send({ kind: "answer", id, answer }));
      });
      send({ kind: "listening", port });
    },
  };
}

import { setTimeout as wait } from "node:timers/promises";
import { nameOf, type Operation } from "../fuzz/operations.js";
import type { System } from "../system/start-system.js";
import type { Actor } from "./actor.js";
import { perform } from "./perform.js";

/** The answers that an account gets before others act: counts, lists and figures. */
interface Witness {
  /** By operation; answers that change by themselves are left out. */
  readonly stable: ReadonlyMap<string, string>;
  findChanges(): Promise<string[]>;
}

const rounds = 4;
/** The dashboard keeps some answers for 30 seconds, those of the account's first requests, too. */
const keptMs = 31_000;

/** Reads all that the account may read, until it stands still: its mails and figures are under way at first. */
export async function readWitness(system: System, witness: Actor, operations: readonly Operation[]): Promise<Witness> {
  const readable = operations.filter(({ method, path }) => method === "GET" && !/stream|ready|realtime/.test(path));
  const day = () => new Date().toISOString().slice(0, 10);
  // Ids learned later would change the requests.
  const frozen: Actor = { ...witness, known: new Map([...witness.known].map(([noun, ids]) => [noun, [...ids]])) };
  const read = async () => {
    const answers = new Map<string, string>();
    for (const operation of readable) {
      const { received } = await perform(system, { operation, actor: frozen, right: "owner", victim: frozen, seed: 0 });
      if (received.status < 300) answers.set(nameOf(operation), steady(received.text));
    }
    return answers;
  };
  await wait(keptMs);
  let [last, today] = [await read(), day()];
  let stable = new Map<string, string>();
  for (let round = 0; round < rounds; round++) {
    await wait(3_000);
    const now = await read();
    stable = new Map([...now].filter(([name, text]) => last.get(name) === text));
    if (stable.size === now.size && now.size === last.size) break;
    [last, today] = [now, day()];
  }
  return {
    stable,
    async findChanges() {
      const now = await read();
      if (day() !== today) return [];
      return [...stable]
        .filter(([name, text]) => now.has(name) && now.get(name) !== text)
        .map(([name, text]) => `${name} changed for ${witness.mark}: ${firstDifference(text, now.get(name) ?? "")}`);
    },
  };
}

/** Without the times of the account's own use of its keys and sessions, and the moments that a comparison or series has come to. */
function steady(text: string): string {
  return text
    .replace(/"(lastUsedAt|seenAt|last_used_at)":("[^"]*"|null)/g, '"$1":0')
    .replace(/("to":"[^"]*","until"):"[^"]*"/g, "$1:0")
    .replace(/"to":"[^"]*"(?=,"interval")/g, '"to":0');
}

function firstDifference(one: string, other: string): string {
  const at = [...one].findIndex((letter, index) => letter !== other[index]);
  const from = Math.max(0, at - 60);
  return `${one.slice(from, at + 100)} became ${other.slice(from, at + 100)}`;
}

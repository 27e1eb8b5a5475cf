import { readFileSync } from "node:fs";
import { LRUCache } from "lru-cache";
import { type Machine, type MachineList, machineList, type Purpose } from "./machine-list.schema.js";
import { createBotCheck, maxCachedAgents } from "./user-agent.js";

/** The name of bots that the list does not name. */
export const unnamedMachine = "other";

let loaded: MachineList | undefined;

/** The list that comes with Waymark, read at the first call. */
export function loadMachines(): MachineList {
  loaded ??= machineList.parse(
    JSON.parse(readFileSync(new URL("../../../assets/machines/machines.json", import.meta.url), "utf8")),
  );
  return loaded;
}

/** No operator's user agent is longer; the matcher ignores the rest. */
const maxLength = 1_024;

function createMatcher({ machines }: MachineList): (userAgent: string) => Machine | undefined {
  const words = machines.flatMap((machine) =>
    machine.userAgent === undefined ? [] : { machine, word: machine.userAgent.toLowerCase() },
  );
  return (userAgent) => {
    const text = userAgent.slice(0, maxLength).toLowerCase();
    return words.find(({ word }) => hasWord(text, word))?.machine;
  };
}

/** Digits may follow, as in `Slackbot2`. */
function hasWord(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    if (!/[a-z\d]/.test(text.charAt(at - 1)) && !/[a-z]/.test(text.charAt(at + word.length))) return true;
  }
  return false;
}

export interface NamedMachine {
  readonly name: string;
  readonly purpose: Purpose;
  readonly machine: Machine | undefined;
}

const namedAs = (machine: Machine): NamedMachine => ({ name: machine.name, purpose: machine.purpose, machine });

export const unnamed: NamedMachine = { name: unnamedMachine, purpose: "other", machine: undefined };

/**
 * Makes the function that names the machine of a user agent: null for a person's. Whether it is one follows from the check for
 * bots alone, so the list never turns a person into a machine.
 */
export function createMachineNamer(
  list: MachineList = loadMachines(),
): (userAgent: string | null) => NamedMachine | null {
  const isBot = createBotCheck();
  const match = createMatcher(list);
  const names = new LRUCache<string, { found: NamedMachine | null }>({
    max: maxCachedAgents,
    memoMethod: (userAgent) => {
      if (!isBot(userAgent)) return { found: null };
      const machine = match(userAgent);
      return { found: machine ? namedAs(machine) : unnamed };
    },
  });
  return (userAgent) => (userAgent === null ? null : names.memo(userAgent).found);
}

/** Makes the function that names the machine of a signature's origin: the one of the user agent if it signs so, else the first one. */
export function createSignerNamer({ machines }: MachineList) {
  const signers = new Map<string, NamedMachine>();
  for (const machine of machines) {
    const origin = machine.signatureAgent;
    if (origin !== undefined && !signers.has(origin)) signers.set(origin, namedAs(machine));
  }
  return (origin: string, byUserAgent: NamedMachine | null): NamedMachine | undefined =>
    byUserAgent?.machine?.signatureAgent === origin ? byUserAgent : signers.get(origin);
}

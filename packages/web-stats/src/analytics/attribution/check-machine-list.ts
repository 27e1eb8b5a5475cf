import { isbot } from "isbot";
import { type Machine, type MachineList, machineList } from "./machine-list.schema.js";
import { createMachineNamer, unnamedMachine } from "./machines.js";
import { loadReferrers } from "./referrer-directory.js";

/** Of a list's file, so that a process reads a stored one in some milliseconds. */
export const maxListBytes = 1_048_576;

const maxProblems = 10;

/**
 * Reads and checks a list: its form and bounds, names and words that occur once, and that each entry names its own example. Words
 * are no patterns: looking for one takes a pass over a user agent, of 1,024 characters at most.
 * @returns the list, or sentences that name entry and field
 */
export function readMachineList(text: string): { list: MachineList } | { problems: string[] } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { problems: ["It is no JSON."] };
  }
  const read = machineList.safeParse(value);
  const nameOf = (index: unknown) => {
    const { machines } = value as { machines?: readonly { name?: unknown }[] };
    const name = typeof index === "number" && Array.isArray(machines) ? machines[index]?.name : undefined;
    return typeof name === "string" ? ` (${name.slice(0, 60)})` : "";
  };
  const problems = read.success
    ? findProblems(read.data).map(
        ({ index, field, problem }) => `machines.${index}${nameOf(index)} ${field}: ${problem}`,
      )
    : read.error.issues.map(({ path: [first, index, ...field], message }) =>
        index === undefined
          ? `${String(first ?? "the file")}: ${message}`
          : `${String(first)}.${String(index)}${nameOf(index)} ${field.join(".") || "entry"}: ${message}`,
      );
  if (problems.length > maxProblems)
    problems.splice(maxProblems, Infinity, `… and ${problems.length - maxProblems} more`);
  return read.success && problems.length === 0 ? { list: read.data } : { problems };
}

function findProblems(list: MachineList): { index: number; field: keyof Machine; problem: string }[] {
  const nameOf = createMachineNamer(list);
  const referrers = loadReferrers();
  const taken = { name: new Set([unnamedMachine]), userAgent: new Set<string>() };
  return list.machines.flatMap((machine, index) => {
    const { name, userAgent, signatureAgent, engine, example } = machine;
    const word = userAgent?.toLowerCase();
    const problems: { field: keyof Machine; problem: string }[] = [];
    if (taken.name.has(name))
      problems.push({ field: "name", problem: "Must be another one: an entry above or Waymark has it" });
    if (word === undefined && signatureAgent === undefined)
      problems.push({ field: "userAgent", problem: "Required without a signatureAgent" });
    if (word !== undefined && taken.userAgent.has(word))
      problems.push({ field: "userAgent", problem: "Must be another word: an entry above has it" });
    if (engine !== undefined && referrers.byName(engine)?.kind !== "ai") {
      problems.push({ field: "engine", problem: "Must be an AI assistant that referrers name, such as ChatGPT" });
    }
    if (word !== undefined) {
      const problem = exampleProblem(example, machine, nameOf);
      if (problem !== undefined) problems.push({ field: "example", problem });
      taken.userAgent.add(word);
    }
    taken.name.add(name);
    return problems.map((problem) => ({ index, ...problem }));
  });
}

function exampleProblem(example: string | undefined, machine: Machine, nameOf: ReturnType<typeof createMachineNamer>) {
  if (example === undefined) return "Required beside a userAgent";
  if (!isbot(example)) return "Must be a user agent that the check for bots knows";
  const named = nameOf(example);
  return named?.machine === machine ? undefined : `Must fit this entry first; it is of ${named?.name}`;
}

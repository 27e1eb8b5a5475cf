import { parseArgs } from "node:util";

/** An option of a program. Without `takes` it is a flag, and with a default it is never missing. */
interface Option {
  what: string;
  /** What it takes, as the help calls it: one of some words, a `NUMBER` above 0, or any text. */
  takes?: string | readonly string[];
  default?: number;
  isMany?: true;
}

type Given<Each extends Option> = Each["takes"] extends "NUMBER"
  ? number
  : Each["takes"] extends readonly (infer Word)[]
    ? Word
    : string;

type Value<Each extends Option> = Each extends { default: number }
  ? number
  : Each extends { isMany: true }
    ? Given<Each>[]
    : Each extends { takes: string | readonly string[] }
      ? Given<Each> | undefined
      : boolean;

type Values<Options> = { [Name in keyof Options]: Options[Name] extends Option ? Value<Options[Name]> : never };

/**
 * Reads a program's arguments. Prints its help and ends it where asked (with 0), and for a wrong argument (with 2).
 * @param purpose what it does, after its usage
 */
export function readOptions<const Options extends Readonly<Record<string, Option>>>(
  program: string,
  purpose: string,
  options: Options,
): Values<Options> {
  const help = helpOf(program, purpose, options);
  try {
    const values = parseOptions(process.argv.slice(2), options);
    if (values) return values;
    process.stdout.write(help);
    return process.exit(0);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n\n${help}`);
    return process.exit(2);
  }
}

/** @returns undefined where the help is asked for @throws Error for an argument that the options do not take */
export function parseOptions<const Options extends Readonly<Record<string, Option>>>(
  args: readonly string[],
  options: Options,
): Values<Options> | undefined {
  const types = Object.entries(options).map(([name, { takes, isMany = false }]) => {
    return [name, { type: takes ? "string" : "boolean", multiple: isMany } as const] as const;
  });
  const { values }: { values: Record<string, unknown> } = parseArgs({
    args: args.filter((arg) => arg !== "--"),
    options: { ...Object.fromEntries(types), help: { type: "boolean" } },
  });
  if (values.help) return undefined;
  const read = Object.entries(options).map(([name, each]) => [name, readValue(name, each, values[name])]);
  return Object.fromEntries(read) as Values<Options>;
}

function readValue(name: string, { takes, isMany, ...option }: Option, given: unknown): unknown {
  if (takes === undefined) return given === true;
  if (given === undefined) return option.default ?? (isMany ? [] : undefined);
  if (takes === "NUMBER") {
    if (Number(given) > 0) return Number(given);
    throw new Error(`--${name} takes a number above 0.`);
  }
  if (typeof takes === "string" || takes.some((word) => word === given)) return given;
  throw new Error(`--${name} takes one of: ${takes.join(", ")}.`);
}

function helpOf(program: string, purpose: string, options: Readonly<Record<string, Option>>): string {
  const all = Object.entries(options).map(([name, { takes = "", isMany, what, ...option }]) => {
    const usage = `--${name} ${typeof takes === "string" ? (option.default ?? takes) : takes.join("|")}`.trimEnd();
    return { usage: isMany ? `[${usage}]...` : `[${usage}]`, name, what };
  });
  const width = Math.max(...all.map(({ name }) => name.length));
  const lines = all.map(({ name, what }) => `  --${name.padEnd(width)}  ${what}\n`);
  return `usage: ${program} ${all.map(({ usage }) => usage).join(" ")}\n\n${purpose}\n\n${lines.join("")}`;
}

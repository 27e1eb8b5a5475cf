import { Argument, type Command, Option } from "commander";
import type { CommandCall, CommandContext, Outcome } from "./command-context.js";
import { UsageError } from "./command-error.js";
import type { OwnedDatabase } from "./on-owner.js";

/** `drop-bots` as `dropBots`. */
type Camel<Name extends string> = Name extends `${infer First}-${infer Rest}`
  ? `${First}${Capitalize<Camel<Rest>>}`
  : Name;
type NameOf<Flags> = Flags extends `--${infer Name} <${string}`
  ? Camel<Name>
  : Flags extends `--${infer Name}`
    ? Camel<Name>
    : never;
/** The value of an option without a parser: its text, or its presence. */
type TextOf<Flags> = Flags extends `${string}<${string}` ? string : true;

interface Settings<T> {
  /** Reads the text; of a repeated option it also gets the value before. */
  parse?(text: string, before?: T): T;
  choices?: readonly T[];
  default?: NoInfer<T>;
  shownDefault?: string;
  isHidden?: boolean;
  conflicts?: string;
}

/** What a command may know of the whole command line. */
export interface Shared {
  program: Command;
  version: string;
}

/** A command of the first level as the table has it: its name and what it is about. */
export type TopCommand = CommandBuilder<[], object>;
export type Group = ReturnType<TopCommand["group"]>;

/** Declares a command by commander; its arguments and options reach the command's work typed by their flags. */
export class CommandBuilder<Args extends readonly (string | undefined)[], Options extends object> {
  private readonly checks: ((options: Options, now: Date) => string | false | undefined)[] = [];

  constructor(
    private readonly declared: Command,
    private readonly call: CommandCall,
  ) {}

  /** Adds a command below this one, which also gets this one's options. */
  command(name: string, about: string, help?: string): CommandBuilder<[], Options> {
    const command = new CommandBuilder<[], Options>(this.declared.command(name).description(about), this.call);
    return help === undefined ? command : command.help(help);
  }

  /** For a command that only has commands below it. @returns the function that adds these */
  group(): (...command: Parameters<TopCommand["command"]>) => CommandBuilder<[], Options> {
    return (...command) => this.command(...command);
  }

  get name(): string {
    return this.declared.name();
  }

  help(text: string): this {
    this.declared.addHelpText("after", text);
    return this;
  }

  alias(name: string): this {
    this.declared.alias(name);
    return this;
  }

  argument<Name extends string>(
    name: Name,
    about: string,
    choices?: readonly string[],
  ): CommandBuilder<[...Args, Name extends `<${string}` ? string : string | undefined], Options> {
    const argument = new Argument(name, about);
    this.declared.addArgument(choices ? argument.choices(choices) : argument);
    return this as never;
  }

  required<Flags extends string, T = string>(
    flags: Flags,
    about: string,
    settings: Settings<T> = {},
  ): CommandBuilder<Args, Options & Record<NameOf<Flags>, T>> {
    this.declared.addOption(toOption(flags, about, settings).makeOptionMandatory());
    return this as never;
  }

  option<Flags extends string, T = TextOf<Flags>>(
    flags: Flags,
    about: string,
    settings: Settings<T> & { default: NoInfer<T> },
  ): CommandBuilder<Args, Options & Record<NameOf<Flags>, T>>;
  option<Flags extends string, T = TextOf<Flags>>(
    flags: Flags,
    about: string,
    settings?: Settings<T>,
  ): CommandBuilder<Args, Options & Partial<Record<NameOf<Flags>, T>>>;
  option<T>(flags: string, about: string, settings: Settings<T> = {}) {
    this.declared.addOption(toOption(flags, about, settings));
    return this;
  }

  /** Refuses options that do not fit together, with the sentence that `check` returns. */
  check(check: (options: Options, now: Date) => string | false | undefined): this {
    this.checks.push(check);
    return this;
  }

  run(work: (context: CommandContext & { isJson: boolean }, ...given: [...Args, Options]) => Promise<Outcome>): void {
    this.declared.action(async (...given: unknown[]) => {
      const { json, ...options } = this.declared.optsWithGlobals<Options & { json?: true }>();
      const { context } = this.call;
      for (const check of this.checks) {
        const problem = check(options as never, context.now());
        if (problem) throw new UsageError(problem);
      }
      const isJson = json === true;
      const args = [...given.slice(0, -2), options] as unknown as [...Args, Options];
      Object.assign(this.call, { outcome: await work({ ...context, isJson }, ...args), isJson });
    });
  }

  /** Work on the database of `--account` and `--site`, and its result as text. */
  query<Value>(
    work: (database: OwnedDatabase<Options>, ...given: [...Args, Options]) => Promise<Value>,
    show: (value: Value, ...given: [...Args, Options]) => string,
  ): void {
    this.run(async (context, ...given) => {
      const { onOwner } = await import("./on-owner.js");
      const value = await onOwner(context, given.at(-1) as Options, (database) => work(database, ...given));
      return { value, text: show(value, ...given) };
    });
  }
}

function toOption<T>(flags: string, about: string, settings: Settings<T>): Option {
  const option = new Option(flags, about);
  if (settings.choices) option.choices(settings.choices as never);
  if (settings.parse) option.argParser(settings.parse);
  if (settings.default !== undefined) option.default(settings.default, settings.shownDefault);
  if (settings.conflicts) option.conflicts(settings.conflicts);
  return option.hideHelp(settings.isHidden === true);
}

import type { Command } from "commander";
import type { Shared, TopCommand } from "../context/command-builder.js";

/** What may follow each command: its commands and options. The key is the command's path, empty for the program. */
type Words = ReadonlyMap<string, readonly string[]>;

const shells = ["bash", "zsh", "fish"] as const;

const help = `
Examples:
  $ waymark completion bash > ~/.local/share/bash-completion/completions/waymark
  $ waymark completion zsh > "\${fpath[1]}/_waymark"
  $ waymark completion fish > ~/.config/fish/completions/waymark.fish`;

export function declareCommand(command: TopCommand, { program }: Shared): void {
  command
    .help(help)
    .argument("<shell>", shells.join(", "), shells)
    .run(async (_, shell) => {
      const text = scripts[shell as (typeof shells)[number]](wordsOf(program));
      return { value: { shell, script: text }, text };
    });
}

function wordsOf(command: Command, path = "", inherited: readonly string[] = ["--help"]): Map<string, string[]> {
  const options = command.options.filter(({ hidden }) => !hidden).map(({ long }) => long ?? "");
  const known = [...new Set([...inherited, ...options])];
  const words = new Map([[path, [...command.commands.map((each) => each.name()), ...known]]]);
  for (const each of command.commands)
    for (const [key, value] of wordsOf(each, `${path} ${each.name()}`.trim(), known)) words.set(key, value);
  return words;
}

/** The words of the line that are commands, as a path: options and arguments do not change it. */
const cases = (words: Words, line: (path: string, list: readonly string[]) => string) =>
  [...words]
    .map(([path, list]) => line(path, list))
    .filter(Boolean)
    .join("\n");

const scripts: Readonly<Record<(typeof shells)[number], (words: Words) => string>> = {
  bash: (words) => `# bash completion of waymark
_waymark() {
  local path="" word words
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "\${path:+$path }$word" in
${cases(words, (path) => (path === "" ? "" : `      "${path}") path="${path}" ;;`))}
    esac
  done
  case "$path" in
${cases(words, (path, list) => `    "${path}") words="${list.join(" ")}" ;;`)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _waymark waymark`,
  zsh: (words) => `#compdef waymark
_waymark() {
  local path_ word list
  path_=""
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "\${path_:+$path_ }$word" in
${cases(words, (path) => (path === "" ? "" : `      ("${path}") path_="${path}" ;;`))}
    esac
  done
  case "$path_" in
${cases(words, (path, list) => `    ("${path}") list=(${list.join(" ")}) ;;`)}
  esac
  compadd -- $list || _files
}
if [ "$funcstack[1]" = _waymark ]; then _waymark; else compdef _waymark waymark; fi`,
  fish: (words) => `# fish completion of waymark
function __waymark_path
  set -l path ""
  for word in (commandline -opc)[2..-1]
    switch (string trim "$path $word")
${cases(words, (path) => (path === "" ? "" : `      case "${path}"\n        set path "${path}"`))}
    end
  end
  echo "$path"
end
${cases(words, (path, list) => `complete -c waymark -n 'test (__waymark_path) = "${path}"' -a '${list.join(" ")}'`)}`,
};

import type { Program } from "../context/command-builder.js";
import { addServiceOptions, services } from "../context/service.js";
import { examine, type Finding } from "../doctor/check.js";
import { keyChecks } from "../doctor/key-checks.js";
import { visitService } from "../doctor/trace-service.js";
import { checkWebUrl } from "../local-system.js";
import { fit, printable, styleOf, type TerminalStyle } from "../output/terminal-text.js";

/** For all requests: with the start of the command two seconds. */
const deadlineMs = 1_400;

const help = `
The exit code is 1 when something is wrong. Nothing is stored: to learn the key's scope it sends a run without its members.

Examples:
  $ waymark doctor
  $ waymark doctor --url https://traces.example.com --json`;

export function addDoctorCommand(program: Program): void {
  const about = "say within two seconds why runs do not arrive: address, TLS, clock, key, scope, quota, last run";
  addServiceOptions(program.command("doctor", about, help)).run(async ({ env, stdout, now }, options) => {
    const { key: keyName, url: urlName, defaultUrl } = services.trace;
    const url = options.url ?? (env[urlName] || defaultUrl);
    checkWebUrl(url, `--url or ${urlName}`);
    const key = (options.key ?? env[keyName])?.trim();
    const visit = visitService({ url: url.replace(/\/+$/, ""), ...(key && { key }) }, now, deadlineMs);
    const checks = await examine(keyChecks, visit);
    const isWell = checks.every(({ state }) => state !== "wrong");
    return {
      value: { ok: isWell, url, checks },
      text: draw(checks, styleOf(stdout, env)),
      exitCode: isWell ? 0 : 1,
    };
  });
}

const marks = { good: "✓", wrong: "✗", unknown: "?" } as const;

function draw(checks: readonly Finding[], style: TerminalStyle): string {
  const width = Math.max(...checks.map(({ check }) => check.length));
  return checks
    .flatMap(({ check, state, says, cure }) => {
      const line = `${marks[state]} ${fit(check, width)}  ${printable(says)}`;
      const more = cure === undefined ? [] : [`${" ".repeat(width + 4)}${printable(cure)}`];
      return [state === "wrong" ? style.red(line) : state === "unknown" ? style.dim(line) : line, ...more];
    })
    .join("\n");
}

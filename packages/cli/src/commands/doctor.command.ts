import { emailAddress } from "../arguments/values.js";
import type { TopCommand } from "../context/command-builder.js";
import { UsageError } from "../context/command-error.js";
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

With --operator it looks at an installation instead: database, schema, roles, clock, releases, connections, disk, waiting mails,
Redis, addresses and certificates, backup, settings. It changes nothing; with --mail it sends a mail.

Examples:
  $ waymark doctor
  $ waymark doctor --url https://traces.example.com --json
  $ waymark doctor --operator --settings docker/.env --backups /var/backups/waymark
  $ waymark doctor --operator --mail me@example.com`;

export function declareCommand(command: TopCommand): void {
  addServiceOptions(
    command
      .help(help)
      .option("--operator", "say what is wrong with an installation, by DATABASE_URL or the running local system")
      .option("--settings <file>", "with --operator: a file of settings, such as docker/.env; - for standard input")
      .option("--backups <folder>", "with --operator: where its backups are")
      .option("--mail <address>", "with --operator: send a test mail to it", { parse: emailAddress }),
  ).run(async (context, options) => {
    const { env, stdout, now } = context;
    const { settings, backups, mail: mailTo } = options;
    if (options.operator) {
      const { onInstallation } = await import("../doctor/installation.js");
      const { installationChecks } = await import("../doctor/installation-checks.js");
      const found = await onInstallation(context, { settings, backups, mailTo }, (installation) =>
        examine(installationChecks, installation),
      );
      return report(found, styleOf(stdout, env));
    }
    if ([settings, backups, mailTo].some((each) => each !== undefined))
      throw new UsageError("--settings, --backups and --mail need --operator.");
    const { key: keyName, url: urlName, defaultUrl } = services.trace;
    const url = options.url ?? (env[urlName] || defaultUrl);
    checkWebUrl(url, `--url or ${urlName}`);
    const key = (options.key ?? env[keyName])?.trim();
    const visit = visitService({ url: url.replace(/\/+$/, ""), ...(key && { key }) }, now, deadlineMs);
    const checks = await examine(keyChecks, visit);
    return report(checks, styleOf(stdout, env), { url });
  });
}

function report(checks: readonly Finding[], style: TerminalStyle, about: object = {}) {
  const ok = checks.every(({ state }) => state !== "wrong");
  return { value: { ok, ...about, checks }, text: draw(checks, style), exitCode: ok ? 0 : 1 };
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

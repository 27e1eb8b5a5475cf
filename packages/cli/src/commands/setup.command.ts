import { constants } from "node:fs";
import { access, mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { TopCommand } from "../context/command-builder.js";
import type { CommandContext } from "../context/command-context.js";
import { CommandError } from "../context/command-error.js";
import { createAsker, questions, type SetupOptions, senderQuestion } from "../setup/answers.js";
import { readComposeFiles, readSystemdFiles, type Wishes } from "../setup/plan-files.js";
import { fill, replaceFile } from "../setup/settings-file.js";

const help = `
It needs no database. It makes the passwords, keeps every value that is there already, and asks only for what is missing.

Examples:
  $ waymark setup                                  # for Compose, in the folder docker
  $ waymark setup --systemd --domain example.com   # for the units, in /etc/waymark
  $ waymark setup --domain example.com --certificates-mail me@example.com --mail files --yes`;

export function declareCommand(command: TopCommand): void {
  command
    .help(help)
    .option("--domain <domain>", "the services become traces., stats., collect. and waymark. below it")
    .option("--certificates-mail <address>", "the certificate authority writes to it (Compose)")
    .option("--mail <way>", "a key of Resend, an smtps:// address, or files")
    .option("--sender <sender>", "whom mails come from (Waymark <waymark@DOMAIN>)")
    .option("--systemd", "for units of systemd in place of Compose")
    .option("--into <folder>", "where the files go (docker; with --systemd /etc/waymark)")
    .option("--yes", "ask nothing")
    .option("--print", "only show what would be written, without secrets")
    .run(setUp);
}

async function setUp(context: CommandContext & { isJson: boolean }, options: SetupOptions) {
  const ask = createAsker(context, context.stdin.isTTY === true && !options.yes && !context.isJson);
  try {
    const isSystemd = options.systemd ?? (options.into === undefined && (await ask(questions.way)) === "systemd");
    const folder = options.into ?? (isSystemd ? "/etc/waymark" : await composeFolder());
    if (!options.print) await openFolder(folder, isSystemd);
    const { has, want } = isSystemd ? await readSystemdFiles(folder) : await readComposeFiles(folder);
    const wanted = want(await askAll(ask, options, has));
    const changes = wanted.map(([file, values]) => ({ path: file.path, values, ...fill(file, values) }));
    if (!options.print) {
      for (const { path, text } of changes) await replaceFile(path, text);
      const owner = wanted[0]?.[1]["DATABASE_URL"];
      if (isSystemd && owner) await replaceFile(join(folder, "database.sql"), databaseSql(new URL(owner)));
    }
    const files = changes.map(({ path, names, values }) => ({ path, added: names, values }));
    return outcomeOf(files, isSystemd, options);
  } finally {
    ask.close();
  }
}

async function askAll(
  ask: ReturnType<typeof createAsker>,
  options: SetupOptions,
  has: { domain?: string | undefined; certificatesMail?: string | undefined; isMailKnown: boolean },
): Promise<Wishes> {
  const domain = has.domain ?? (await ask(questions.domain, options.domain));
  const certificatesMail = has.certificatesMail ?? (await ask(questions.certificatesMail, options.certificatesMail));
  const way = has.isMailKnown ? {} : await ask(questions.mail, options.mail);
  if (Object.keys(way).length === 0) return { domain, certificatesMail, mail: {} };
  return { domain, certificatesMail, mail: { ...way, ALERT_FROM: await ask(senderQuestion(domain), options.sender) } };
}

/** For Postgres's superuser: the owner makes the roles of the services itself, and the doctor asks for the disk. */
const databaseSql = ({ username, password, pathname }: URL) =>
  `CREATE ROLE ${username} LOGIN CREATEROLE PASSWORD '${decodeURIComponent(password).replaceAll("'", "''")}';
GRANT pg_read_all_settings TO ${username};
CREATE DATABASE ${pathname.slice(1)} OWNER ${username} ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0;
`;

async function composeFolder(): Promise<string> {
  const isThere = (path: string) =>
    stat(path).then(
      () => true,
      () => false,
    );
  return (await isThere(join("docker", ".env.example"))) ? "docker" : ".";
}

async function openFolder(folder: string, isMade: boolean): Promise<void> {
  try {
    if (isMade) await mkdir(folder, { recursive: true, mode: 0o700 });
    await access(folder, constants.W_OK);
  } catch (error) {
    throw new CommandError(`The folder ${folder} cannot be written: ${(error as NodeJS.ErrnoException).code}.`);
  }
}

interface Written {
  path: string;
  added: string[];
  values: Readonly<Record<string, string>>;
}

const secret = /PASSWORD|_KEY$|_URL$/;
const masked = (name: string, value = "") =>
  secret.test(name) && !/^https?:/.test(value) ? `${name}=…` : `${name}=${value}`;

function outcomeOf(files: readonly Written[], isSystemd: boolean, { print }: SetupOptions) {
  const next = isSystemd ? nextOfSystemd : nextOfCompose;
  const shown = files.map(({ path, added, values }) => {
    if (added.length === 0) return `${path} has all it needs.`;
    if (print) return [`${path}:`, ...added.map((name) => `    ${masked(name, values[name])}`)].join("\n");
    return `Set in ${path}: ${added.join(", ")}.`;
  });
  const text = [...shown, ...(print ? [] : ["", "Next:", ...next.map((line) => `    ${line}`)])].join("\n");
  return { value: { files: files.map(({ path, added }) => ({ path, added })), isWritten: !print, next }, text };
}

const nextOfCompose = [
  "docker compose build && docker compose up --detach --wait",
  "docker compose run --rm cli account create --email YOU --plan pro",
];
const nextOfSystemd = [
  "su postgres -c psql < /etc/waymark/database.sql",
  "systemctl enable --now waymark{,-2}@{trace-api,analytics-api,collector,worker,dashboard} waymark-backup.timer",
];

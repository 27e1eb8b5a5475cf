import { existsSync, readFileSync } from "node:fs";
import { parseObject } from "@waymark/cli";
import { openLogFile } from "./log-file.js";

export interface OutputOptions {
  name: string;
  logFile: string;
  say(line: string): void;
}

type LogLine = Partial<Record<"level" | "msg" | "path" | "to" | "subject" | "reason", string>> & {
  err?: { message?: string };
  heldMs?: number;
  inHand?: readonly string[];
};

const mostLastWords = 20;

/** What an app says: all of it goes to its log file; mails, warnings and errors go to the terminal too. */
export function openAppOutput({ name, logFile, say }: OutputOptions) {
  const log = openLogFile(logFile, (error) => {
    say(`${name}: warn: its log cannot be written, and lines are lost (${error.message})`);
  });
  const lastWords: string[] = [];
  let isMute = false;
  return {
    write(line: string) {
      log.write(line);
      const entry = parseObject<LogLine>(line);
      const seen = entry && describeLine(entry);
      if (seen && !isMute) say(`${name}: ${seen}`);
    },
    writeError(line: string) {
      log.write(line);
      if (lastWords.push(line) > mostLastWords) lastWords.shift();
    },
    mute() {
      isMute = true;
    },
    close: () => log.close(),
    describeEnd(how: string): string {
      const said = lastWords.length > 0 ? `\n${lastWords.join("\n")}` : "";
      return `The ${name} ended (${how}).${said}\nIts log: ${logFile}`;
    },
  };
}

function describeLine({
  level,
  msg,
  path,
  to,
  subject,
  reason,
  err,
  heldMs,
  inHand = [],
}: LogLine): string | undefined {
  if (msg === "mail written") {
    const link = path && existsSync(path) && linkIn(readFileSync(path, "utf8"));
    return [`mail to ${to}: ${subject}`, path, link].filter(Boolean).join("\n  ");
  }
  if (level !== "warn" && level !== "error" && level !== "fatal") return undefined;
  // Apps of one process are held together; those with work in hand name it.
  if (heldMs !== undefined && inHand.length === 0) return undefined;
  const held = heldMs === undefined ? undefined : [`${heldMs} ms`, ...inHand].join(", ");
  const cause = reason ?? err?.message ?? held;
  return `${level}: ${msg}${cause ? ` (${cause})` : ""}`;
}

/** The dashboard's page in a mail, for people without a mail program: quoted-printable breaks it in two. */
export function linkIn(mail: string): string | undefined {
  return /https?:\/\/\S+\/dashboard\/(link|traces)\/[\w-]+/.exec(mail.replaceAll(/=\r?\n/g, ""))?.[0];
}

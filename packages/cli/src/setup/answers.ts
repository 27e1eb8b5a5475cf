import { createInterface, type Interface } from "node:readline/promises";
import { domainToASCII } from "node:url";
import { mailVariables } from "@waymark/alerts/mail";
import { normaliseEmail } from "@waymark/service/fields";
import type { CommandContext } from "../context/command-context.js";
import { CommandError } from "../context/command-error.js";

export interface SetupOptions {
  domain?: string;
  certificatesMail?: string;
  mail?: string;
  sender?: string;
  systemd?: true;
  yes?: true;
  print?: true;
  into?: string;
}

interface Question<Value> {
  option: string;
  text: string;
  /** Taken for an empty answer, and with --yes. */
  fallback?: string;
  /** @throws Error with the sentence that says what is wrong */
  read(answer: string): Value;
}

/** Asks on a terminal what no option says; asks again after an answer that cannot be. */
export function createAsker({ stdin, stderr }: CommandContext, isAsking: boolean) {
  let lines: Interface | undefined;
  const ask = async <Value>({ option, text, fallback, read }: Question<Value>, given?: string): Promise<Value> => {
    if (given !== undefined) return refuse(option, () => read(given.trim()));
    if (!isAsking) {
      if (fallback !== undefined) return refuse(option, () => read(fallback));
      throw new CommandError(`${option} is needed: there is nobody to ask.`);
    }
    lines ??= createInterface({ input: stdin, output: stderr });
    for (;;) {
      const shown = fallback ? ` [${fallback}]` : "";
      const answer = (await lines.question(`${text}${shown}: `)).trim();
      try {
        return read(answer === "" && fallback !== undefined ? fallback : answer);
      } catch (error) {
        stderr.write(`${(error as Error).message}\n`);
      }
    }
  };
  return Object.assign(ask, { close: () => lines?.close() });
}

function refuse<Value>(option: string, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw new CommandError(`${option}: ${(error as Error).message}`);
  }
}

const domainForm = /^(?=.{4,200}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])$/;

export const questions = {
  way: {
    option: "--systemd",
    text: "Compose or systemd",
    fallback: "Compose",
    read(answer: string) {
      const way = answer.toLowerCase();
      if (way !== "compose" && way !== "systemd") throw new Error("Answer Compose or systemd.");
      return way;
    },
  },
  domain: {
    option: "--domain",
    text: "The domain, such as example.com; its traces., stats., collect. and waymark. lead to this machine",
    read(answer: string) {
      const domain = domainToASCII(answer.toLowerCase());
      if (!domainForm.test(domain)) throw new Error(`'${answer}' is no domain such as example.com.`);
      return domain;
    },
  },
  certificatesMail: {
    option: "--certificates-mail",
    text: "Your address of mail, for the certificate authority",
    read(answer: string) {
      const address = normaliseEmail(answer);
      if (address === undefined) throw new Error(`'${answer}' is no address of mail.`);
      return address;
    },
  },
  mail: {
    option: "--mail",
    text: "Mails: a key of Resend (re_…), a server (smtps://USER:PASSWORD@HOST:465), or files",
    fallback: "files",
    read(answer: string): Record<string, string> {
      if (answer === "files") return {};
      if (/^re_\w+$/.test(answer)) return { RESEND_API_KEY: answer };
      const { success } = mailVariables({}).SMTP_URL.safeParse(answer);
      if (!success) throw new Error("Mails leave by a key re_…, by smtps://USER:PASSWORD@HOST:465, or are files.");
      // The characters with a meaning for Compose, systemd and shells.
      return { SMTP_URL: answer.replace(/[$'"`\\#\s]/g, (it) => `%${it.charCodeAt(0).toString(16).toUpperCase()}`) };
    },
  },
} satisfies Record<string, Question<unknown>>;

export function senderQuestion(domain: string): Question<string> {
  return {
    option: "--sender",
    text: "The sender of mails",
    fallback: `Waymark <waymark@${domain}>`,
    read(answer) {
      const isAddress = mailVariables({ SMTP_URL: "given" }).ALERT_FROM.safeParse(answer).success;
      if (!isAddress || /[$'"`\\#]/.test(answer))
        throw new Error(`'${answer}' is no sender such as Waymark <a@b.com>.`);
      return answer;
    },
  };
}

import { cut } from "../mail/index.js";
import type { Message } from "../sending/compose-message.js";
import { judgePost } from "../sending/judge-answer.js";
import type { Kind, Sending } from "./kind.js";

const maxUrlLength = 2_000;

interface PostKind extends Omit<Kind, "placeholder" | "addressRule" | "readAddress" | "send"> {
  /** JSON. */
  body(sending: Sending): string;
  headers?(sending: Sending, body: string): Readonly<Record<string, string>>;
}

/** A kind whose messages are posted to a URL. */
export function postKind({ body: bodyOf, headers: headersOf, ...kind }: PostKind): Kind {
  return {
    ...kind,
    placeholder: "https://",
    addressRule: `Must be an http or https URL without a name or password, of at most ${maxUrlLength} characters`,
    readAddress: readUrl,
    async send(sending, { post }) {
      const body = bodyOf(sending);
      const headers = { "content-type": "application/json", ...headersOf?.(sending, body) };
      return judgePost(await post({ url: sending.to, headers, body }), sending.owed);
    },
  };
}

function readUrl(text: string): string | undefined {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined;
  if (!url || !["http:", "https:"].includes(url.protocol) || url.username !== "" || url.password !== "")
    return undefined;
  url.hash = "";
  return url.href.length <= maxUrlLength ? url.href : undefined;
}

export const maxChatError = 500;

/** A client's text as code: chats do not format it, or tell people in it. */
const asCode = (text: string) => `\`${text.replaceAll("`", "ˋ")}\``;

/** A message in Markdown, as whole lines up to a limit. The number of failed traces stays plain: programs look for its line. */
export function chatText({ heading, facts, error, lists, link }: Message, limit: number): string {
  const isNumber = (value: string) => /^\d+$/.test(value);
  return fit(
    [
      heading,
      ...facts.map(([label, value]) => `${label}: ${isNumber(value) ? value : asCode(value)}`),
      ...(error === undefined ? [] : [`\`\`\`\n${cut(error, maxChatError).replaceAll("`", "ˋ")}\n\`\`\``]),
      `${link.text}: <${link.url}>`,
      ...lists.flatMap(({ items }) => items.map(({ text, url }) => `• ${asCode(text)}${url ? ` <${url}>` : ""}`)),
    ],
    limit,
  );
}

/** As many whole lines as fit; a line cut inside its code would format what follows. */
function fit(lines: readonly string[], limit: number): string {
  let text = "";
  for (const line of lines) {
    if (text.length + line.length + 2 > limit) return `${text}\n…`;
    text = text === "" ? line : `${text}\n${line}`;
  }
  return text;
}

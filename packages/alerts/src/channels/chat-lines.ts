import { cut } from "../mail/index.js";
import type { Message } from "../sending/compose-message.js";

/** The longest error in a chat. */
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

import { cut } from "../../mail/index.js";
import type { Message } from "../../sending/compose-message.js";
import { chatText, maxChatError, postKind } from "../post-kind.js";

const maxLength = 3_000;

export const slack = postKind({
  label: "Slack",
  hint: "An incoming webhook's address.",
  body: ({ message }) => asSlack(message),
});

function asSlack(message: Message): string {
  const escaped: Message = {
    ...message,
    heading: escapeSlack(message.heading),
    facts: message.facts.map(([label, value]) => [label, escapeSlack(value)]),
    error: message.error === undefined ? undefined : escapeSlack(cut(message.error, maxChatError)),
    lists: message.lists.map(({ items }) => ({
      items: items.map((item) => ({ ...item, text: escapeSlack(item.text) })),
    })),
  };
  return JSON.stringify({ text: chatText(escaped, maxLength), unfurl_links: false, unfurl_media: false });
}

/** Slack decodes these three entities, and nothing else begins a mention or a link. */
function escapeSlack(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

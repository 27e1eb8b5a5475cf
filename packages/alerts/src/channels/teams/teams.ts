import { cut } from "../../mail/index.js";
import type { Message } from "../../sending/compose-message.js";
import { maxChatError, postKind } from "../post-kind.js";

/** Teams says 28 KB; senders saw larger messages than 21 KB refused. */
const maxBytes = 20_000;

export const teams = postKind({
  label: "Microsoft Teams",
  hint: "The address of the workflow “When a Teams webhook request is received”.",
  body: ({ message }) => asTeams(message),
});

function asTeams(message: Message): string {
  const items = message.lists.flatMap((list) => list.items);
  for (let count = items.length; ; count--) {
    const body = JSON.stringify({
      type: "message",
      attachments: [attachment(message, items.slice(0, count), count < items.length)],
    });
    if (count === 0 || Buffer.byteLength(body) <= maxBytes) return body;
  }
}

/** Runs of text, because Teams formats no Markdown in them. */
function attachment(
  { heading, facts, error, link }: Message,
  items: Message["lists"][number]["items"],
  isCut: boolean,
) {
  const line = (text: string, look: object = {}) => {
    return { type: "RichTextBlock", inlines: [{ type: "TextRun", text, ...look }] };
  };
  const content = {
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    type: "AdaptiveCard",
    version: "1.4",
    msteams: { width: "Full" },
    body: [
      line(heading, { weight: "Bolder" }),
      ...facts.map(([label, value]) => line(`${label}: ${value}`)),
      ...(error === undefined ? [] : [line(cut(error, maxChatError), { fontType: "Monospace" })]),
      ...items.map(({ text, url }) => line(`• ${text}`, url ? { selectAction: { type: "Action.OpenUrl", url } } : {})),
      ...(isCut ? [line("…")] : []),
    ],
    actions: [{ type: "Action.OpenUrl", title: link.text, url: link.url }],
  };
  return { contentType: "application/vnd.microsoft.card.adaptive", contentUrl: null, content };
}

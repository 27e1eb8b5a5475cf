import { chatText, postKind } from "../post-kind.js";

/** Discord takes no more. */
const maxLength = 2_000;

export const discord = postKind({
  label: "Discord",
  hint: "A webhook's address.",
  // It tells nobody by name.
  body: ({ message }) => JSON.stringify({ content: chatText(message, maxLength), allowed_mentions: { parse: [] } }),
});

import { cut, escapeHtml, styles } from "@waymark/alerts/mail";
import { footer } from "../mail-footer.js";
import type { Message } from "./compose-message.js";

/** The message as a mail. Facts without padding, so a digest has the line `Failed traces: N`. */
export function asMail(message: Message): { subject: string; text: string; html: string } {
  const { subject, heading, facts, error, groups, link } = message;
  const lines = [heading, "", ...facts.map(([label, value]) => `${label}: ${value}`)];
  if (error !== undefined) lines.push("", ...error.split("\n").map((line) => `    ${line}`));
  if (groups.length > 0) lines.push("", ...groups.flatMap(({ text, url }) => [`    ${text}`, `        ${url}`]));
  lines.push("", `${link.text}: ${link.url}`, "", footer, "");
  const rows = facts.map(
    ([label, value]) =>
      `<tr><td style="${styles.cell};color:#666">${label}</td><td style="${styles.cell}">${escapeHtml(value)}</td></tr>`,
  );
  const items = groups.map(({ text, url }) => `<li><a href="${escapeHtml(url)}">${escapeHtml(text)}</a></li>`);
  const html = [
    `<div style="${styles.body}">`,
    `<p>${escapeHtml(heading)}</p>`,
    `<table style="border-collapse:collapse">${rows.join("")}</table>`,
    error === undefined ? "" : `<pre style="white-space:pre-wrap;word-break:break-word">${escapeHtml(error)}</pre>`,
    items.length > 0 ? `<ul>${items.join("")}</ul>` : "",
    `<p><a href="${escapeHtml(link.url)}">${link.text}</a></p>`,
    `<p style="${styles.small}">${footer}</p>`,
    "</div>",
  ];
  return { subject, text: lines.join("\n"), html: html.join("\n") };
}

/** Longest texts: Discord takes 2,000 characters, Slack some more. */
const chatBounds = { error: 500, slack: 3_000, discord: 2_000 } as const;

/** Slack decodes these three entities, and nothing else begins a mention or a link. */
const escapeSlack = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** A client's text as code: neither Slack nor Discord formats it, or tells people in it. */
const asCode = (text: string) => `\`${text.replaceAll("`", "ˋ")}\``;

/** The number of failed traces stays plain: people and programs look for its line. */
function chatLines({ heading, facts, error, groups, link }: Message, linkOf: (url: string) => string): string[] {
  const isNumber = (value: string) => /^\d+$/.test(value);
  const lines = [
    heading,
    ...facts.map(([label, value]) => `${label}: ${isNumber(value) ? value : asCode(value)}`),
    ...(error === undefined ? [] : [`\`\`\`\n${cut(error, chatBounds.error).replaceAll("`", "ˋ")}\n\`\`\``]),
  ];
  return [
    ...lines,
    `${link.text}: ${linkOf(link.url)}`,
    ...groups.map(({ text, url }) => `• ${asCode(text)} ${linkOf(url)}`),
  ];
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

/** The body of a post to a Slack webhook. */
export function asSlack(message: Message): string {
  const escaped: Message = {
    ...message,
    heading: escapeSlack(message.heading),
    facts: message.facts.map(([label, value]) => [label, escapeSlack(value)]),
    error: message.error === undefined ? undefined : escapeSlack(cut(message.error, chatBounds.error)),
    groups: message.groups.map(({ text, url }) => ({ text: escapeSlack(text), url })),
  };
  const text = fit(
    chatLines(escaped, (url) => `<${url}>`),
    chatBounds.slack,
  );
  return JSON.stringify({ text, unfurl_links: false, unfurl_media: false });
}

/** The body of a post to a Discord webhook, which tells nobody by name. */
export function asDiscord(message: Message): string {
  const content = fit(
    chatLines(message, (url) => `<${url}>`),
    chatBounds.discord,
  );
  return JSON.stringify({ content, allowed_mentions: { parse: [] } });
}

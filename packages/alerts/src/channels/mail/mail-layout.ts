import { escapeHtml, styles } from "../../mail/index.js";
import type { Message } from "../../sending/compose-message.js";

export const footer = "You receive this mail because your account is on the Pro plan.";

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

import { normaliseEmail } from "@waymark/service/fields";
import { escapeHtml, type Mail, styles } from "../../mail/index.js";
import type { Message } from "../../sending/compose-message.js";
import { judgeMail } from "../../sending/judge-answer.js";
import type { Kind } from "../kind.js";

export const mail: Kind = {
  label: "Mail",
  hint: "An address outside the account confirms by a link first.",
  placeholder: "oncall@example.com",
  addressRule: "Must be an email address",
  readAddress: normaliseEmail,
  isPublic: true,
  needsConsent: true,
  async send({ id, to, owed, message }, { mailer }) {
    return judgeMail(await mailer.send({ ...asMail(message), to, idempotencyKey: id }), owed);
  },
};

const footer = "You receive this mail because your account is on the Pro plan.";

/** The message as a mail. Facts without padding, so a digest has the line `Failed traces: N`. */
export function asMail(message: Message): Omit<Mail, "to" | "idempotencyKey"> {
  const { subject, unsubscribe: url } = message;
  const headers = { "List-Unsubscribe": `<${url}>`, "List-Unsubscribe-Post": "List-Unsubscribe=One-Click" };
  return { subject, text: asText(message), html: asHtml(message), ...(url !== undefined && { headers }) };
}

function asText({ heading, facts, error, lists, link, command, unsubscribe }: Message): string {
  const lines = [heading];
  if (facts.length > 0) lines.push("", ...facts.map(([label, value]) => `${label}: ${value}`));
  if (error !== undefined) lines.push("", ...error.split("\n").map((line) => `    ${line}`));
  for (const { title, items } of lists) {
    lines.push("", ...(title === undefined ? [] : [title]));
    for (const { text, url } of items) lines.push(`    ${text}`, ...(url === undefined ? [] : [`        ${url}`]));
  }
  lines.push("", `${link.text}: ${link.url}`);
  if (command !== undefined) lines.push(`Or on the command line: ${command}`);
  return [...lines, "", footer, ...(unsubscribe === undefined ? [] : [`No more reports: ${unsubscribe}`]), ""].join(
    "\n",
  );
}

function asHtml({ heading, facts, error, lists, link, command, unsubscribe }: Message): string {
  const { body, cell, small } = styles;
  const rows = facts.map(
    ([label, value]) =>
      `<tr><td style="${cell};color:#666">${label}</td><td style="${cell}">${escapeHtml(value)}</td></tr>`,
  );
  const pre = "background:#f5f5f5;padding:12px;white-space:pre-wrap;word-break:break-word";
  const linked = (text: string, url: string) => `<a href="${escapeHtml(url)}">${escapeHtml(text)}</a>`;
  const listed = ({ title, items }: Message["lists"][number]) => {
    const lines = items.map(({ text, url }) => `<li>${url === undefined ? escapeHtml(text) : linked(text, url)}</li>`);
    return `${title === undefined ? "" : `<p>${escapeHtml(title)}</p>`}<ul>${lines.join("")}</ul>`;
  };
  const otherwise = command === undefined ? "" : `, or on the command line: <code>${escapeHtml(command)}</code>`;
  return [
    `<div style="${body}">`,
    `<p>${escapeHtml(heading)}</p>`,
    `<table style="border-collapse:collapse">${rows.join("")}</table>`,
    error === undefined ? "" : `<pre style="${pre}">${escapeHtml(error)}</pre>`,
    ...lists.map(listed),
    `<p>${linked(link.text, link.url)}${otherwise}</p>`,
    `<p style="${small}">${footer}${unsubscribe === undefined ? "" : ` ${linked("No more reports", unsubscribe)}`}</p>`,
    "</div>",
  ].join("\n");
}

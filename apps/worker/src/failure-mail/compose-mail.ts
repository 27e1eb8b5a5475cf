import type { OwedAlert } from "./find-owed-alert.query.js";

/** What a failure mail is made of. */
export interface MailContent {
  alert: Pick<OwedAlert, "status"> & { trace: NonNullable<OwedAlert["trace"]> };
  /** Where the dashboard is, without a slash at the end. */
  dashboardUrl: string;
}

/** Longest texts in a mail, in characters. */
const bounds = { subject: 120, line: 300, error: 2_000 };

const headings = { error: "ended in error", timeout: "timed out" } as const;

/**
 * The mail that tells of a failed run: agent, trace, status, duration, the first failing span's error and a link
 * (design, "Traces"). Texts that clients sent are cut to their bounds, kept on their line and escaped for HTML.
 */
export function composeMail({ alert, dashboardUrl }: MailContent): { subject: string; text: string; html: string } {
  const { trace, status } = alert;
  const link = `${dashboardUrl}/dashboard/traces/${trace.id}`;
  const facts: [label: string, value: string][] = [
    ["Agent", oneLine(trace.agentId, bounds.line)],
    ["Trace", oneLine(trace.name, bounds.line)],
    ["Status", status],
    ["Duration", trace.durationMs === null ? "not given" : formatDuration(trace.durationMs)],
  ];
  if (trace.failedSpan) facts.push(["Failed span", oneLine(trace.failedSpan.name, bounds.line)]);
  const error = trace.failedSpan?.error ? cut(printable(trace.failedSpan.error), bounds.error) : undefined;
  const subject = cut(
    `${oneLine(trace.agentId, 60)}: “${oneLine(trace.name, bounds.subject)}” ${headings[status]}`,
    bounds.subject,
  );
  return {
    subject,
    text: asText({ heading: headings[status], facts, error, link }),
    html: asHtml({ heading: headings[status], facts, error, link }),
  };
}

interface Parts {
  heading: string;
  facts: readonly [string, string][];
  error: string | undefined;
  link: string;
}

function asText({ heading, facts, error, link }: Parts): string {
  const width = Math.max(...facts.map(([label]) => label.length)) + 2;
  const lines = [`A run ${heading}.`, "", ...facts.map(([label, value]) => `${`${label}:`.padEnd(width)}${value}`)];
  if (error !== undefined) lines.push("", ...error.split("\n").map((line) => `    ${line}`));
  lines.push("", `Trace: ${link}`, "", "You receive this mail because your account is on the Pro plan.", "");
  return lines.join("\n");
}

function asHtml({ heading, facts, error, link }: Parts): string {
  const cell = "padding:2px 16px 2px 0;vertical-align:top";
  const rows = facts.map(
    ([label, value]) =>
      `<tr><td style="${cell};color:#666">${label}</td><td style="${cell}">${escapeHtml(value)}</td></tr>`,
  );
  const block =
    error === undefined
      ? ""
      : `<pre style="background:#f5f5f5;padding:12px;white-space:pre-wrap;word-break:break-word">${escapeHtml(error)}</pre>`;
  return [
    `<div style="font-family:system-ui,sans-serif;font-size:15px;line-height:1.5;color:#111">`,
    `<p>A run <strong>${heading}</strong>.</p>`,
    `<table style="border-collapse:collapse">${rows.join("")}</table>`,
    block,
    `<p><a href="${escapeHtml(link)}">Open the trace</a></p>`,
    `<p style="color:#666;font-size:13px">You receive this mail because your account is on the Pro plan.</p>`,
    "</div>",
  ].join("\n");
}

/** A text without what moves the cursor or reverses the writing direction: it could forge lines of the mail. */
function printable(text: string): string {
  return text.replaceAll(/\r\n?/g, "\n").replaceAll(/[^\P{C}\n\t]/gu, "�");
}

function oneLine(text: string, limit: number): string {
  return cut(printable(text).replaceAll(/\s+/g, " ").trim(), limit);
}

/** At most so many characters, counted as people see them, with a mark where something is missing. */
function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const characters = [...text];
  return characters.length <= limit ? text : `${characters.slice(0, limit - 1).join("")}…`;
}

function escapeHtml(text: string): string {
  const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character);
}

/** A duration in its two largest units, such as `1 min 23 s`. */
export function formatDuration(durationMs: number): string {
  if (durationMs < 0) return "not known: it ended before it started";
  if (durationMs < 1_000) return `${Math.round(durationMs)} ms`;
  if (durationMs < 60_000) return `${Number((durationMs / 1_000).toFixed(1))} s`;
  const seconds = Math.round(durationMs / 1_000);
  const [days, hours, minutes] = [Math.floor(seconds / 86_400), Math.floor(seconds / 3_600), Math.floor(seconds / 60)];
  if (days > 0) return `${days} d ${hours % 24} h`;
  if (hours > 0) return `${hours} h ${minutes % 60} min`;
  return `${minutes} min ${seconds % 60} s`;
}

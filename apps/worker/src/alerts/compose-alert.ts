import type { PendingAlert } from "@waymark/alerts";
import {
  bounds,
  countOf,
  cut,
  escapeHtml,
  formatDuration,
  formatMoment,
  oneLine,
  printable,
  styles,
} from "@waymark/alerts/mail";
import { footer } from "@waymark/alerts/sending";

interface AlertMailContent {
  alert: Pick<PendingAlert, "status" | "failures"> & { trace: NonNullable<PendingAlert["trace"]> };
  /** The dashboard's URL, without a slash at the end. */
  dashboardUrl: string;
}

const headings = { error: "ended in error", timeout: "timed out" } as const;

/**
 * The mail of a failed trace: agent, trace and its id, status, start, duration, the innermost failing span with its error, a
 * link, and the command to show the trace without the dashboard. Cuts and escapes clients' texts and keeps each on its line.
 */
export function composeAlert({ alert, dashboardUrl }: AlertMailContent): {
  subject: string;
  text: string;
  html: string;
} {
  const { trace, status, failures } = alert;
  const facts: [label: string, value: string][] = [
    ["Agent", oneLine(trace.agentId, bounds.line)],
    ["Trace", oneLine(trace.name, bounds.line)],
    ["Trace id", trace.id],
    ["Status", status],
    ["Began", trace.startedAt === null ? "not known" : formatMoment(trace.startedAt)],
    ["Duration", trace.durationMs === null ? "not given" : formatDuration(trace.durationMs)],
  ];
  if (failures > 1) facts.push(["Failures", `${countOf(failures, "failure")} of this trace since its last mail`]);
  if (trace.failedSpan) facts.push(["Failed span", oneLine(trace.failedSpan.name, bounds.line)]);
  const error = trace.failedSpan?.error ? cut(printable(trace.failedSpan.error), bounds.error) : undefined;
  const subject = cut(
    `${oneLine(trace.agentId, 60)}: “${oneLine(trace.name, bounds.subject)}” ${headings[status]}`,
    bounds.subject,
  );
  const parts: Parts = {
    heading: headings[status],
    facts,
    error,
    link: `${dashboardUrl}/dashboard/traces/${trace.id}`,
    command: `waymark trace show ${trace.id}`,
  };
  return { subject, text: asText(parts), html: asHtml(parts) };
}

interface Parts {
  heading: string;
  facts: readonly [string, string][];
  error: string | undefined;
  link: string;
  /** Shows the trace on the command line. */
  command: string;
}

function asText({ heading, facts, error, link, command }: Parts): string {
  const width = Math.max(...facts.map(([label]) => label.length)) + 2;
  const lines = [`A trace ${heading}.`, "", ...facts.map(([label, value]) => `${`${label}:`.padEnd(width)}${value}`)];
  if (error !== undefined) lines.push("", ...error.split("\n").map((line) => `    ${line}`));
  lines.push("", `Open the trace: ${link}`, `Or on the command line: ${command}`, "", footer, "");
  return lines.join("\n");
}

function asHtml({ heading, facts, error, link, command }: Parts): string {
  const { body, cell, small } = styles;
  const rows = facts.map(
    ([label, value]) =>
      `<tr><td style="${cell};color:#666">${label}</td><td style="${cell}">${escapeHtml(value)}</td></tr>`,
  );
  const block =
    error === undefined
      ? ""
      : `<pre style="background:#f5f5f5;padding:12px;white-space:pre-wrap;word-break:break-word">${escapeHtml(error)}</pre>`;
  return [
    `<div style="${body}">`,
    `<p>A trace <strong>${heading}</strong>.</p>`,
    `<table style="border-collapse:collapse">${rows.join("")}</table>`,
    block,
    `<p><a href="${escapeHtml(link)}">Open the trace</a>, or on the command line: <code>${command}</code></p>`,
    `<p style="${small}">${footer}</p>`,
    "</div>",
  ].join("\n");
}

import type { MailLimits, SummaryContent } from "@waymark/alerts";
import { bounds, countOf, escapeHtml, formatMoment, oneLine, styles } from "@waymark/alerts/mail";
import { footer } from "@waymark/alerts/sending";

interface SummaryMailContent {
  summary: Omit<SummaryContent, "email" | "attempts">;
  limits: MailLimits;
  /** The dashboard's URL, without a slash at the end. */
  dashboardUrl: string;
}

/**
 * The mail for the failed traces above the limits of mails: how many by agent, the newest by name and id, how many
 * more there are, and how to list them. Cuts and escapes clients' texts and keeps each on its line.
 */
export function composeSummary(content: SummaryMailContent): { subject: string; text: string; html: string } {
  const { traces } = content.summary;
  return {
    subject: countOf(traces, "more failed trace"),
    text: asText(content),
    html: asHtml(content),
  };
}

const listCommand = "waymark trace list --status error,timeout";

function intro({ summary, limits }: SummaryMailContent): string {
  const { traces, failures, first, last } = summary;
  const often = failures > traces ? `, ${countOf(failures, "time")} in all` : "";
  const when = `between ${formatMoment(first)} and ${formatMoment(last)}`;
  const why = `An account gets ${countOf(limits.perAccount, "mail")} an hour, and a trace ${limits.perTrace}; this one reports the rest.`;
  return `${countOf(traces, "more trace")} failed${often}, ${when}. ${why}`;
}

/** A line for each named agent, and one for the others. */
function agentLines({ agents, traces }: SummaryMailContent["summary"]): string[] {
  const lines = agents.map((it) => `${oneLine(it.agentId, bounds.line)}: ${described(it.traces, it.failures)}`);
  const others = traces - agents.reduce((sum, it) => sum + it.traces, 0);
  return others > 0 ? [...lines, `other agents: ${countOf(others, "trace")}`] : lines;
}

function described(traces: number, failures: number): string {
  return failures > traces ? `${countOf(traces, "trace")}, ${countOf(failures, "failure")}` : countOf(traces, "trace");
}

function traceLine({ name, agentId, status, failures }: SummaryMailContent["summary"]["newest"][number]): string {
  const often = failures > 1 ? `, ${countOf(failures, "failure")}` : "";
  return `“${oneLine(name, bounds.line)}” of ${oneLine(agentId, 60)}: ${status}${often}`;
}

function more({ traces, newest }: SummaryMailContent["summary"]): string | undefined {
  const left = traces - newest.length;
  return left > 0 ? `… and ${left.toLocaleString("en-US")} more.` : undefined;
}

function asText(content: SummaryMailContent): string {
  const { summary, dashboardUrl } = content;
  const lines = [
    intro(content),
    "",
    "By agent:",
    ...agentLines(summary).map((line) => `    ${line}`),
    "",
    "The newest:",
  ];
  for (const trace of summary.newest) {
    lines.push(`    ${traceLine(trace)}`, `        ${dashboardUrl}/dashboard/traces/${trace.traceId}`);
  }
  const rest = more(summary);
  if (rest) lines.push(`    ${rest}`);
  lines.push("", `On the command line: ${listCommand}, or waymark trace show ID`, "", footer, "");
  return lines.join("\n");
}

function asHtml(content: SummaryMailContent): string {
  const { summary, dashboardUrl } = content;
  const agents = agentLines(summary).map((line) => `<li>${escapeHtml(line)}</li>`);
  const newest = summary.newest.map((trace) => {
    const link = escapeHtml(`${dashboardUrl}/dashboard/traces/${trace.traceId}`);
    return `<li>${escapeHtml(traceLine(trace))}<br><a href="${link}">${trace.traceId}</a></li>`;
  });
  const rest = more(summary);
  return [
    `<div style="${styles.body}">`,
    `<p>${escapeHtml(intro(content))}</p>`,
    `<p>By agent:</p><ul>${agents.join("")}</ul>`,
    `<p>The newest:</p><ul>${newest.join("")}</ul>`,
    rest ? `<p>${rest}</p>` : "",
    `<p>On the command line: <code>${listCommand}</code>, or <code>waymark trace show ID</code></p>`,
    `<p style="${styles.small}">${footer}</p>`,
    "</div>",
  ].join("\n");
}

import { bounds, countOf, escapeHtml, footer, formatMoment, oneLine, styles } from "../failure-mail/mail-text.js";
import type { MailLimits } from "../turns/claim-alert.query.js";
import type { SummaryContent } from "./summary.query.js";

/** What a summary is made of. */
export interface SummaryMailContent {
  summary: Omit<SummaryContent, "email" | "attempts">;
  limits: MailLimits;
  /** Where the dashboard is, without a slash at the end. */
  dashboardUrl: string;
}

/**
 * The mail that tells of the failed runs whose own mails the limits kept back: how many by agent, the newest by name with
 * their ids, how many more there are, and how to list them. Texts that clients sent are cut, kept on their line and escaped.
 */
export function composeSummary(content: SummaryMailContent): { subject: string; text: string; html: string } {
  const { runs } = content.summary;
  return {
    subject: countOf(runs, "more failed run"),
    text: asText(content),
    html: asHtml(content),
  };
}

const listCommand = "waymark trace list --status error,timeout";

function intro({ summary, limits }: SummaryMailContent): string {
  const { runs, failures, first, last } = summary;
  const often = failures > runs ? `, ${countOf(failures, "time")} in all` : "";
  const when = `between ${formatMoment(first)} and ${formatMoment(last)}`;
  const why = `An account gets ${countOf(limits.perAccount, "mail")} an hour, and a run ${limits.perTrace}; this one tells of the rest.`;
  return `${countOf(runs, "more run")} failed${often}, ${when}. ${why}`;
}

/** A line for each agent, and one for those that are not named. */
function agentLines({ agents, runs }: SummaryMailContent["summary"]): string[] {
  const lines = agents.map((it) => `${oneLine(it.agentId, bounds.line)}: ${described(it.runs, it.failures)}`);
  const others = runs - agents.reduce((sum, it) => sum + it.runs, 0);
  return others > 0 ? [...lines, `other agents: ${countOf(others, "run")}`] : lines;
}

function described(runs: number, failures: number): string {
  return failures > runs ? `${countOf(runs, "run")}, ${countOf(failures, "failure")}` : countOf(runs, "run");
}

function runLine({ name, agentId, status, failures }: SummaryMailContent["summary"]["newest"][number]): string {
  const often = failures > 1 ? `, ${countOf(failures, "failure")}` : "";
  return `“${oneLine(name, bounds.line)}” of ${oneLine(agentId, 60)}: ${status}${often}`;
}

function more({ runs, newest }: SummaryMailContent["summary"]): string | undefined {
  const left = runs - newest.length;
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
  for (const run of summary.newest) {
    lines.push(`    ${runLine(run)}`, `        ${dashboardUrl}/dashboard/traces/${run.traceId}`);
  }
  const rest = more(summary);
  if (rest) lines.push(`    ${rest}`);
  lines.push("", `On the command line: ${listCommand}, or waymark trace show ID`, "", footer, "");
  return lines.join("\n");
}

function asHtml(content: SummaryMailContent): string {
  const { summary, dashboardUrl } = content;
  const agents = agentLines(summary).map((line) => `<li>${escapeHtml(line)}</li>`);
  const newest = summary.newest.map((run) => {
    const link = escapeHtml(`${dashboardUrl}/dashboard/traces/${run.traceId}`);
    return `<li>${escapeHtml(runLine(run))}<br><a href="${link}">${run.traceId}</a></li>`;
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

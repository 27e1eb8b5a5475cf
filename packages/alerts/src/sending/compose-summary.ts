import type { MailLimits } from "../channels/own-mail.query.js";
import type { SummaryContent } from "../channels/summary.query.js";
import { bounds, countOf, formatMoment, oneLine } from "../mail/index.js";
import { type Message, traceUrl } from "./compose-message.js";

interface SummaryText {
  limits: MailLimits;
  dashboardUrl: string;
}

/** The failed traces above the limits of mails: how many by agent, the newest by name, and how many more there are. */
export function composeSummary(summary: SummaryContent, { limits, dashboardUrl }: SummaryText): Message {
  const { traces, failures, first, last, newest } = summary;
  const often = failures > traces ? `, ${countOf(failures, "time")} in all` : "";
  const when = `between ${formatMoment(first)} and ${formatMoment(last)}`;
  const why = `An account gets ${countOf(limits.perAccount, "mail")} an hour, and a trace ${limits.perTrace}; this one reports the rest.`;
  const named = newest.map((trace) => ({ text: traceLine(trace), url: traceUrl(dashboardUrl, trace.traceId) }));
  const left = traces - newest.length;
  return {
    subject: countOf(traces, "more failed trace"),
    heading: `${countOf(traces, "more trace")} failed${often}, ${when}. ${why}`,
    facts: [],
    lists: [
      { title: "By agent:", items: agentLines(summary).map((text) => ({ text })) },
      {
        title: "The newest:",
        items: left > 0 ? [...named, { text: `… and ${left.toLocaleString("en-US")} more.` }] : named,
      },
    ],
    link: { text: "Open the traces", url: `${dashboardUrl}/dashboard/traces` },
    command: "waymark trace list --status error,timeout",
  };
}

function agentLines({ agents, traces }: SummaryContent): string[] {
  const lines = agents.map((it) => `${oneLine(it.agentId, bounds.line)}: ${described(it.traces, it.failures)}`);
  const others = traces - agents.reduce((sum, it) => sum + it.traces, 0);
  return others > 0 ? [...lines, `other agents: ${countOf(others, "trace")}`] : lines;
}

function described(traces: number, failures: number): string {
  return failures > traces ? `${countOf(traces, "trace")}, ${countOf(failures, "failure")}` : countOf(traces, "trace");
}

function traceLine({ name, agentId, status, failures }: SummaryContent["newest"][number]): string {
  const often = failures > 1 ? `, ${countOf(failures, "failure")}` : "";
  return `“${oneLine(name, bounds.line)}” of ${oneLine(agentId, 60)}: ${status}${often}`;
}

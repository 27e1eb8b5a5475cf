import { contentOf, type OwedDelivery, type OwedTrace } from "../channels/deliveries.query.js";
import type { DigestContent } from "../channels/routing.js";
import { bounds, countOf, cut, formatDuration, formatMoment, oneLine, printable } from "../mail/index.js";

/** What people are shown of a delivery. Clients' texts are cut, printable, and on their lines, not yet escaped. */
export interface Message {
  subject: string;
  heading: string;
  facts: readonly (readonly [label: string, value: string])[];
  /** A span's error, on lines of its own. */
  error?: string | undefined;
  /** Such as the groups of a digest, with their newest trace. */
  lists: readonly { title?: string; items: readonly { text: string; url?: string }[] }[];
  link: { text: string; url: string };
  /** Ends these mails, by one request (RFC 8058). */
  unsubscribe?: string;
  /** Shows the same on the command line, for mails. */
  command?: string;
}

const maxGroups = 20;

/** The message of a delivery; undefined where its trace is gone. */
export function composeMessage(delivery: OwedDelivery, dashboardUrl: string): Message | undefined {
  const { type, trace } = delivery;
  const home = { text: "Open Waymark", url: `${dashboardUrl}/dashboard` };
  if (type === "digest") return composeDigest(delivery, dashboardUrl);
  if (type === "test") {
    const heading = "This is a test: alerts of your account come here.";
    return { subject: "A test of your alerts", heading, facts: [], lists: [], link: home };
  }
  if (type === "confirm") {
    const { account, token } = contentOf(delivery);
    const link = { text: "Confirm the address", url: `${dashboardUrl}/dashboard/link/${token}` };
    const heading =
      "Confirm this address to get the alerts of a Waymark account. Without that, nothing else comes here.";
    return { subject: "Confirm this address for alerts", heading, facts: [["Account", account]], lists: [], link };
  }
  if (type === "alert.rule") return composeRule(delivery, home);
  return trace ? composeTrace(delivery, trace, dashboardUrl) : undefined;
}

const endings: Readonly<Record<string, string>> = { error: "ended in error", timeout: "timed out" };

/** A failed trace with its innermost failing span, or the agent's first success after failures. */
export function composeTrace(
  { type, status, failures }: Pick<OwedDelivery, "type" | "status" | "failures">,
  trace: OwedTrace,
  dashboardUrl: string,
): Message {
  const isFailure = type === "trace.failed";
  const agent = oneLine(trace.agentId, bounds.line);
  const name = oneLine(trace.name, bounds.line);
  const ending = isFailure ? (endings[status ?? ""] ?? "failed") : "succeeded again";
  const facts: [string, string][] = [
    ["Agent", agent],
    ["Trace", name],
    ["Trace id", trace.id],
    ["Status", status ?? ""],
    ["Began", trace.startedAt === null ? "not known" : formatMoment(trace.startedAt)],
    ["Duration", trace.durationMs === null ? "not given" : formatDuration(trace.durationMs)],
  ];
  if (failures > 1) facts.push(["Failures", `${countOf(failures, "failure")} of this trace since its last message`]);
  const span = isFailure ? trace.failedSpan : null;
  if (span) facts.push(["Failed span", oneLine(span.name, bounds.line)]);
  return {
    subject: cut(`${oneLine(agent, 60)}: “${name}” ${ending}`, bounds.subject),
    heading: isFailure ? `A trace ${ending}.` : "The agent's next trace after failures succeeded.",
    facts,
    error: span?.error ? cut(printable(span.error), bounds.error) : undefined,
    lists: [],
    link: { text: "Open the trace", url: traceUrl(dashboardUrl, trace.id) },
    command: `waymark trace show ${trace.id}`,
  };
}

function composeRule(delivery: OwedDelivery, link: Message["link"]): Message {
  const { agent_id, name, status, error } = contentOf(delivery);
  const agent = oneLine(agent_id ?? "All agents", bounds.line);
  const facts: [string, string][] = [["Agent", agent]];
  if (name !== undefined) facts.push(["Rule", oneLine(name, bounds.line)]);
  if (status !== undefined) facts.push(["Status", oneLine(status, bounds.line)]);
  if (error !== undefined) facts.push(["Now", oneLine(error, bounds.line)]);
  return {
    subject: cut(`${oneLine(agent, 60)}: ${oneLine(name ?? "a rule of alerts", bounds.subject)}`, bounds.subject),
    heading: "A rule of your alerts has news.",
    facts,
    lists: [],
    link,
  };
}

/** Failed traces by what went wrong, most frequent first. The line of their number is the same everywhere. */
function composeDigest(delivery: OwedDelivery, dashboardUrl: string): Message {
  const { failures, agentId } = delivery;
  const { groups, others }: DigestContent = contentOf(delivery);
  const byCount = groups.toSorted((a, b) => b.count - a.count);
  const named = byCount.slice(0, maxGroups);
  const rest = byCount.slice(maxGroups).reduce((sum, { count }) => sum + count, others);
  const facts: [string, string][] = [["Failed traces", String(failures)]];
  if (agentId !== "") facts.unshift(["Agent", oneLine(agentId, bounds.line)]);
  if (rest > 0) facts.push(["Otherwise", countOf(rest, "trace")]);
  const described = ({ agentId: agent, spanName, error }: (typeof groups)[number]) => {
    const span = spanName === null ? "no failing span" : oneLine(spanName, 100);
    const why = error === null || error === "" ? "" : `: ${oneLine(error, 200)}`;
    return `${agentId === "" ? `${oneLine(agent, 60)}, ` : ""}${span}${why}`;
  };
  return {
    subject: agentId === "" ? countOf(failures, "more failed trace") : oneLine(agentId, bounds.subject),
    heading: "Traces failed.",
    facts,
    lists: [
      {
        items: named.map((group) => ({
          text: `${countOf(group.count, "trace")}, ${described(group)}`,
          url: traceUrl(dashboardUrl, group.traceId),
        })),
      },
    ],
    link: { text: "Open the traces", url: `${dashboardUrl}/dashboard/traces` },
  };
}

export function traceUrl(dashboardUrl: string, traceId: string): string {
  return `${dashboardUrl}/dashboard/traces/${traceId}`;
}

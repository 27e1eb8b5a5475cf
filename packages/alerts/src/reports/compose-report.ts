import { bounds, countOf, cut, oneLine } from "../mail/index.js";
import { type Message, traceUrl } from "../sending/compose-message.js";
import type { Pair, ReportContent, SiteReport } from "./report.js";

/** The message of a report. Its mail says how to end it. */
export function composeReport(content: ReportContent, dashboardUrl: string): Message {
  const { period, first, last, traces, failures, cost, sites, unsubscribe } = content;
  const facts: [string, string][] = [];
  if (traces[0] + traces[1] > 0) {
    facts.push(["Traces", besides(traces)], ["Failed traces", besides(failures)]);
    if (cost[0] !== null || cost[1] !== null) facts.push(["Cost of model calls", besidesCost(cost)]);
  }
  const visitors = sites.reduce((sum, site) => sum + site.visitors[0], 0);
  const parts = [
    ...(sites.length > 0 ? [countOf(visitors, "visitor")] : []),
    ...(traces[0] > 0 ? [countOf(traces[0], "trace"), `${failures[0].toLocaleString("en-US")} failed`] : []),
  ];
  return {
    subject: cut(`Your ${period}: ${parts.join(", ") || "nothing came"}`, bounds.subject),
    heading: `${first} to ${last}, days in UTC. In brackets: as many days before.`,
    facts,
    lists: [...sites.map(siteList), ...otherLists(content, dashboardUrl)],
    link: { text: "Open Waymark", url: `${dashboardUrl}/dashboard` },
    ...(unsubscribe !== undefined && { unsubscribe: `${dashboardUrl}/dashboard/api/unsubscribe/${unsubscribe}` }),
  };
}

function siteList({ domain, visitors, pageviews, changes, machines }: SiteReport): Message["lists"][number] {
  const texts = [
    `Visitors: ${besides(visitors)}`,
    `Page views: ${besides(pageviews)}`,
    ...changes.map(({ what, name, visitors: pair }) => `${what} ${oneLine(name, 100)}: ${besides(pair)}`),
    ...(machines[0] + machines[1] > 0 ? [`Requests of AI: ${besides(machines)}`] : []),
  ];
  return { title: domain, items: texts.map((text) => ({ text })) };
}

function otherLists(
  { agents, failing, otherSites, noisePercent }: ReportContent,
  dashboardUrl: string,
): Message["lists"][number][] {
  const agentItems = agents.map(({ id, traces, failures }) => ({
    text: `${oneLine(id, 60)}: ${besides(traces)}, failed ${besides(failures)}`,
  }));
  const failingItems = failing.map(({ agentId, spanName, error, count, traceId }) => ({
    text: [countOf(count, "trace"), agentId, spanName, error]
      .map((part) => oneLine(`${part ?? ""}`, 200))
      .filter(Boolean)
      .join(", "),
    url: traceUrl(dashboardUrl, traceId),
  }));
  const notes = [
    ...(otherSites > 0 ? [`${countOf(otherSites, "further site")} had fewer visitors.`] : []),
    ...(noisePercent === null
      ? []
      : [
          `${noisePercent} % of your latest traces have no agent. The plan page can leave them out: ${dashboardUrl}/dashboard/billing`,
        ]),
  ];
  return [
    { title: "Traces by agent", items: agentItems },
    { title: "Failures", items: failingItems },
    { title: "Beside that", items: notes.map((text) => ({ text })) },
  ].filter(({ items }) => items.length > 0);
}

/** Such as `1,200 (1,000, +20 %)`. */
function besides([now, before]: Pair): string {
  const change =
    before === 0 ? "" : `, ${now < before ? "−" : "+"}${Math.round((100 * Math.abs(now - before)) / before)} %`;
  return `${now.toLocaleString("en-US")} (${before.toLocaleString("en-US")}${change})`;
}

const dollars = (cost: string | null) => (cost === null ? "no price" : `$${Number(cost).toFixed(2)}`);

function besidesCost([now, before]: ReportContent["cost"]): string {
  return `${dollars(now)} (${dollars(before)})`;
}

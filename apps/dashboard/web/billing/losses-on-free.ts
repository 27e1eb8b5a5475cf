import { plans } from "@waymark/plan";
import type { Billing, Usage } from "../../src/billing/billing.route.js";
import { formatBytes, formatCount, formatDay, formatThings } from "../ui/format.js";

export function lossesOnFree({ onFree }: Pick<Billing, "onFree">, { traces, bytes, agents }: Usage): string[] {
  const { free, pro } = plans;
  const used = traces.current;
  const refused =
    used >= free.tracesPerMonth
      ? ` This month has ${formatCount(used)}, so new ones are refused until ${formatDay(traces.resets_at)}, 00:00 UTC.`
      : "";
  const isFull = bytes.current >= free.bytesPerMonth;
  const full = isFull
    ? ` This month has ${formatBytes(bytes.current)}, so more is refused until ${formatDay(traces.resets_at)}, 00:00 UTC.`
    : "";
  const old = onFree.hasMoreOldTraces
    ? `More than ${formatThings(onFree.oldTraces, "trace")}`
    : formatThings(onFree.oldTraces, "trace");
  const isOne = onFree.oldTraces === 1 && !onFree.hasMoreOldTraces;
  const agentTexts =
    agents.current > free.agents
      ? `Agents: ${formatCount(agents.current)} have traces now. They go on, and no new one can begin.`
      : `Agents beyond ${free.agents}.`;
  const keys = onFree.statisticsKeys === 0 ? "" : ` ${formatThings(onFree.statisticsKeys, "key")} would be refused.`;
  return [
    `Traces: ${formatCount(free.tracesPerMonth)} a month instead of ${formatCount(pro.tracesPerMonth)}.${refused}`,
    `Storage: ${formatBytes(free.bytesPerMonth)} a month instead of ${formatBytes(pro.bytesPerMonth)}.${full}`,
    agentTexts,
    `Retention: ${free.retentionDays} days instead of ${pro.retentionDays}. ${old} ${isOne ? "is" : "are"} older and would be deleted.`,
    "Mails about failed traces.",
    `The Analytics API.${keys}`,
  ];
}

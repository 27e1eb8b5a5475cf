import type { ComponentChildren } from "preact";
import type { Usage } from "../../src/billing/billing.route.js";
import { formatBytes, formatCount, formatDay } from "../ui/format.js";
import { Panel } from "../ui/panel.js";

/** What is used of the plan in this month. */
export function UsagePanel({ usage }: { usage: Usage }) {
  const { traces, bytes, agents, retention_days } = usage;
  return (
    <Panel title="This month">
      <dl class="meters">
        <Meter name="Traces" current={traces.current} limit={traces.limit}>
          Starts anew on {formatDay(traces.resets_at)}, 00:00 UTC
        </Meter>
        <Meter name="Stored" current={bytes.current} limit={bytes.limit} format={formatBytes}>
          Traces, spans and scores; deleting them gives nothing back
        </Meter>
        <Meter name="Agents" current={agents.current} limit={agents.limit}>
          Agents stay from month to month
        </Meter>
        <div>
          <dt>Retention</dt>
          <dd class="meter-value">{retention_days} days</dd>
          <dd class="hint">Older traces are deleted</dd>
        </div>
      </dl>
    </Panel>
  );
}

interface MeterProps {
  name: string;
  current: number;
  limit: number | null;
  format?: (value: number) => string;
  children: ComponentChildren;
}

function Meter({ name, current, limit, format = formatCount, children }: MeterProps) {
  const share = limit === null ? 0 : Math.min(1, current / limit);
  return (
    <div>
      <dt>{name}</dt>
      <dd class="meter-value">
        {format(current)} of {limit === null ? "any number" : format(limit)}
      </dd>
      {limit !== null && (
        <dd class="meter" aria-hidden="true">
          <div class={share >= 0.8 ? "is-high" : undefined} style={{ width: `${share * 100}%` }} />
        </dd>
      )}
      <dd class="hint">{children}</dd>
    </div>
  );
}

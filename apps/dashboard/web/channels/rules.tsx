import "./channels.css";
import { planOf } from "@waymark/plan";
import type { ComponentChildren } from "preact";
import type { CreateRuleBody, RuleList } from "../../src/channels/channels.route.js";
import { api } from "../data/api.js";
import { useAction, useMe, useQuery } from "../data/query.js";
import { Ago } from "../ui/ago.js";
import { RunButton } from "../ui/button.js";
import { DialogButton } from "../ui/dialog.js";
import { FormDialog, Radios, TextField, useForm } from "../ui/form.js";
import { formatCount, formatDuration } from "../ui/format.js";
import { ActionError, ErrorNote, Panel, StatusDot } from "../ui/page.js";
import { actionsColumn, type Column, Table } from "../ui/table.js";

type Rule = RuleList["rules"][number];

const ruleColumns: readonly Column<Rule>[] = [
  {
    text: "Rule",
    class: "wrap channel-address",
    cell: (rule) => (
      <>
        {subjectOf(rule)}
        <span class="hint">{limitOf(rule)}</span>
      </>
    ),
  },
  {
    text: "State",
    cell: ({ state, changed_at }) => (
      <>
        <StatusDot state={state === "crossed" ? "error" : "success"}>
          {state === "crossed" ? "Crossed" : "Quiet"}
        </StatusDot>
        {changed_at !== null && (
          <div class="hint">
            <Ago iso={changed_at} />
          </div>
        )}
      </>
    ),
  },
];

function subjectOf({ agent_id, user_id, environment }: Rule): ComponentChildren {
  if (agent_id !== null) return <span class="mono">{agent_id}</span>;
  if (user_id !== null) return `User ${user_id}`;
  return environment === null ? "All agents" : `Environment ${environment}`;
}

function limitOf(rule: Rule): string {
  const { above_percent, of, within_seconds, cost_per, above_cost, p95_above_ms, tokens_above } = rule;
  if (cost_per !== null) return `costs more than $${above_cost} a ${cost_per}`;
  const within = formatDuration((within_seconds ?? 0) * 1_000);
  if (tokens_above !== null) return `above ${formatCount(tokens_above)} tokens a minute in ${within}`;
  if (p95_above_ms !== null) return `95th percentile above ${formatDuration(p95_above_ms)} in ${within}`;
  return `above ${above_percent} % of at least ${formatCount(of ?? 0)} traces in ${within}`;
}

/** Whether the person may change rules, on pages without the channels. */
export function useMayChangeRules(): boolean {
  const { data } = useMe();
  return data?.role === "owner" && planOf(data.account.plan).alerts;
}

interface RulesPanelProps {
  title: string;
  mayChange: boolean;
  /** All if not told. */
  shows?(rule: Rule): boolean;
  /** What a new rule begins with. */
  initial?: Partial<NewRule>;
}

export function RulesPanel({ title, mayChange, shows = () => true, initial }: RulesPanelProps) {
  const list = useQuery<RuleList>("/alert-rules");
  const remove = useAction((id: string) => api.delete(`/alert-rules/${id}`), { invalidates: ["/alert-rules"] });
  const rules = list.data?.rules.filter(shows) ?? [];
  const add = mayChange && (
    <DialogButton text="Add rule" dialog={(close) => <RuleDialog initial={initial} onClose={close} />} />
  );
  const actions: Column<Rule> = {
    ...actionsColumn,
    cell: ({ id }) => <RunButton text="Delete rule" of={remove} with={id} />,
  };
  return (
    <Panel title={title} isFlush={rules.length > 0} actions={add}>
      {list.error && !list.data && <ErrorNote error={list.error} onRetry={list.refetch} />}
      <ActionError of={remove} />
      {list.data && rules.length === 0 && (
        <p class="soft">
          A rule tells once when agents fail too often, cost too much or take too long, and once when it is back.
        </p>
      )}
      {rules.length > 0 && (
        <Table
          isRoomy
          isCards
          name={title}
          columns={mayChange ? [...ruleColumns, actions] : ruleColumns}
          rows={rules}
        />
      )}
    </Panel>
  );
}

type About = (typeof abouts)[number]["value"];
type Subject = (typeof subjects)[number]["value"];

type NewRule = typeof noRule;

const noRule = {
  about: "failures" as About,
  subject: "agent" as Subject,
  agent: "",
  user: "",
  environment: "",
  above: "20",
  of: "20",
  within: "15",
};

const abouts = [
  { value: "failures", label: "Failures", unit: "percent", hint: "A share of an agent's traces." },
  { value: "day", label: "Cost of a day", unit: "dollars", hint: "Of the model calls of a UTC day." },
  { value: "month", label: "Cost of a month", unit: "dollars", hint: "Of the model calls of a UTC month." },
  { value: "trace", label: "Cost of a trace", unit: "dollars", hint: "Of the calls of any trace." },
  { value: "tokens", label: "Tokens", unit: "tokens a minute", hint: "Of the model calls, a minute on average." },
  { value: "p95", label: "Duration", unit: "seconds", hint: "The 95th percentile of ended traces." },
] as const;

const subjects = [
  { value: "agent", label: "An agent", name: "Agent" },
  { value: "user", label: "A user", name: "User" },
  { value: "environment", label: "An environment", name: "Environment" },
] as const;

function createRule({ about, subject, above, of, within, ...names }: NewRule) {
  const named = names[subject].trim() || null;
  const withinSeconds = Math.round(Number(within) * 60);
  const limits: Record<About, Omit<CreateRuleBody, "agentId">> = {
    failures: { abovePercent: Number(above), ofTraces: Number(of), withinSeconds },
    tokens: { tokensAbove: Number(above), withinSeconds },
    p95: { p95AboveMs: Math.round(Number(above) * 1_000), withinSeconds },
    day: { costPer: "day", aboveCost: above },
    month: { costPer: "month", aboveCost: above },
    trace: { costPer: "trace", aboveCost: above },
  };
  const whose = { agent: { agentId: named }, user: { userId: named }, environment: { environment: named } }[subject];
  return api.post("/alert-rules", { agentId: null, ...whose, ...limits[about] });
}

function RuleDialog({ initial, onClose }: { initial: Partial<NewRule> | undefined; onClose(): void }) {
  const options = { invalidates: ["/alert-rules"], says: "Rule added", onDone: onClose, refusalAt: "above" } as const;
  const form = useForm({ ...noRule, ...initial }, createRule, options);
  const { about, subject } = form.values;
  return (
    <FormDialog title="Add a rule" verb="Add" form={form} onClose={onClose}>
      <Radios label="About" choices={abouts} {...form.field("about")} />
      <Radios label="Of" choices={subjects} {...form.field("subject")} />
      <TextField
        label={subjects.find(({ value }) => value === subject)?.name ?? ""}
        autocomplete="off"
        required={about === "failures"}
        hint={about === "failures" ? undefined : "The whole account where empty."}
        {...form.field(subject)}
      />
      <TextField
        label={`Above, in ${abouts.find(({ value }) => value === about)?.unit}`}
        required
        {...form.field("above")}
      />
      {about === "failures" && (
        <TextField label="Of at least so many ended traces" type="number" required {...form.field("of")} />
      )}
      {(about === "failures" || about === "p95" || about === "tokens") && (
        <TextField label="Within minutes" type="number" required {...form.field("within")} />
      )}
    </FormDialog>
  );
}

import "./channels.css";
import type { ComponentChildren } from "preact";
import type { ChannelList, CreateRuleBody, RuleList } from "../../src/channels/channels.route.js";
import { api } from "../data/api.js";
import { useAction, useMayChange, useMe, useQuery } from "../data/query.js";
import { Ago } from "../ui/ago.js";
import { RunButton } from "../ui/button.js";
import { DialogButton } from "../ui/dialog.js";
import { Form, FormDialog, Radios, TextField, useForm } from "../ui/form.js";
import { formatCount, formatDuration } from "../ui/format.js";
import { ActionError, Banner, ErrorNote, Loaded, Page, Panel, StatusDot } from "../ui/page.js";
import { actionsColumn, type Column, Table } from "../ui/table.js";
import { ChannelDialog } from "./channel-dialog.js";
import { ChannelsTable } from "./channels-table.js";

const pollMs = 5_000;

export function ChannelsPage() {
  const list = useQuery<ChannelList>("/channels", { pollMs });
  const me = useMe();
  const isOwner = me.data?.role === "owner";
  const mayChange = isOwner && list.data?.hasAlerts === true;
  const hasReports = useMayChange() && list.data?.hasAlerts === true;
  const kinds = list.data?.kinds;
  const add = mayChange && kinds && (
    <DialogButton
      text="Add channel"
      look="main"
      icon="plus"
      dialog={(close) => <ChannelDialog kinds={kinds} onClose={close} />}
    />
  );
  return (
    <Page title="Channels" note="Where Waymark tells of failed traces" actions={add}>
      {list.data?.hasAlerts === false && (
        <Banner>
          Channels need the Pro plan. <a href="/dashboard/billing">Upgrade to Pro</a>
        </Banner>
      )}
      {me.data && !isOwner && <Banner>An owner of the account changes channels and rules.</Banner>}
      <Loaded of={list}>
        {(loaded) => (
          <>
            <ChannelsTable of={loaded} mayChange={mayChange} />
            <Panel title="Delivery">
              <DeliveryForm key={`${loaded.mode} ${loaded.windowSeconds}`} of={loaded} mayChange={mayChange} />
            </Panel>
            <RulesPanel mayChange={mayChange} />
            {hasReports && <ReportPanel key={loaded.report} report={loaded.report} />}
          </>
        )}
      </Loaded>
    </Page>
  );
}

const modes = [
  { value: "each", label: "Each failure by itself" },
  {
    value: "digest",
    label: "Digests",
    hint: "An agent's first failure at once, then one message with all of a window.",
  },
] as const;

function DeliveryForm({ of: { mode, windowSeconds }, mayChange }: { of: ChannelList; mayChange: boolean }) {
  const stored = { mode, minutes: String(windowSeconds / 60) };
  const form = useForm(
    stored,
    ({ minutes, ...rest }) => api.put("/alert-settings", { ...rest, windowSeconds: Math.round(Number(minutes) * 60) }),
    { invalidates: ["/channels"], says: "Saved", refusalAt: "mode" },
  );
  if (!mayChange) {
    return <p>{mode === "each" ? "Each failure goes out by itself." : `Digests of ${stored.minutes} minutes.`}</p>;
  }
  const { fields = {} } = form.error ?? {};
  return (
    <Form class="narrow-form" verb="Save" form={form}>
      <Radios label="Mails and chats" choices={modes} {...form.field("mode")} />
      {form.values.mode === "digest" && (
        <TextField
          label="Window in minutes"
          type="number"
          min="1"
          max="1440"
          required
          hint="Webhooks always get each failure."
          {...form.field("minutes")}
          error={fields["window"] ?? fields["windowSeconds"]}
        />
      )}
    </Form>
  );
}

const reports = [
  { value: "never", label: "Never" },
  { value: "week", label: "Weekly", hint: "On Mondays, about the UTC days from Monday to Sunday." },
  { value: "month", label: "Monthly", hint: "On the first, about the month before." },
] as const;

/** Of the viewer's own address, also a member's. */
function ReportPanel({ report }: Pick<ChannelList, "report">) {
  const form = useForm(
    { every: report ?? ("never" as const) },
    ({ every }) => api.put("/report", { every: every === "never" ? null : every }),
    { invalidates: ["/channels"], says: "Saved", refusalAt: "every" },
  );
  return (
    <Panel title="Reports to you">
      <Form class="narrow-form" verb="Save" form={form}>
        <Radios label="Sites and agents by mail" choices={reports} {...form.field("every")} />
      </Form>
    </Panel>
  );
}

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

function RulesPanel({ mayChange }: { mayChange: boolean }) {
  const list = useQuery<RuleList>("/alert-rules");
  const remove = useAction((id: string) => api.delete(`/alert-rules/${id}`), { invalidates: ["/alert-rules"] });
  const rules = list.data?.rules ?? [];
  const add = mayChange && <DialogButton text="Add rule" dialog={(close) => <RuleDialog onClose={close} />} />;
  const actions: Column<Rule> = {
    ...actionsColumn,
    cell: ({ id }) => <RunButton text="Delete rule" of={remove} with={id} />,
  };
  return (
    <Panel title="Rules" isFlush={rules.length > 0} actions={add}>
      {list.error && !list.data && <ErrorNote error={list.error} onRetry={list.refetch} />}
      <ActionError of={remove} />
      {list.data && rules.length === 0 && (
        <p class="soft">
          A rule tells once when agents fail too often, cost too much or take too long, and once when it is back.
        </p>
      )}
      {rules.length > 0 && (
        <Table isRoomy name="Rules" columns={mayChange ? [...ruleColumns, actions] : ruleColumns} rows={rules} />
      )}
    </Panel>
  );
}

type About = (typeof abouts)[number]["value"];
type Subject = (typeof subjects)[number]["value"];

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

function createRule({ about, subject, above, of, within, ...names }: typeof noRule) {
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

function RuleDialog({ onClose }: { onClose(): void }) {
  const options = { invalidates: ["/alert-rules"], says: "Rule added", onDone: onClose, refusalAt: "above" } as const;
  const form = useForm(noRule, createRule, options);
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

import type { Usage } from "../../src/billing/billing.route.js";
import type { Kept } from "../../src/billing/keep.route.js";
import { api } from "../data/api.js";
import { useAction, useQuery } from "../data/query.js";
import { Segmented } from "../ui/choices.js";
import { Checkbox, Form, useForm } from "../ui/form.js";
import { formatCount, formatShare } from "../ui/format.js";
import { ActionError, Banner, Panel } from "../ui/page.js";
import { type Column, Table } from "../ui/table.js";

const keepModes = [
  { value: "all", label: "All traces" },
  { value: "agents", label: "Traces of agents" },
] as const;

const libraries = [
  { value: "http", label: "HTTP" },
  { value: "fs", label: "files" },
  { value: "net", label: "sockets" },
  { value: "dns", label: "DNS" },
  { value: "database", label: "databases" },
] as const satisfies readonly { value: Usage["leave_out"][number]; label: string }[];

export function KeepPanel({ usage: { keep, leave_out: leftOut }, isOwner }: { usage: Usage; isOwner: boolean }) {
  const change = useAction((next: Usage["keep"]) => api.put("/keep", { keep: next }), {
    invalidates: ["/usage", "/audit"],
    says: "Saved",
  });
  const { data: kept } = useQuery<Kept>("/keep");
  const [all, agents] = keepModes;
  return (
    <Panel title="Traces to keep">
      <ActionError of={change} />
      {keep === "all" && kept?.noise.isMuch && <NoiseNote noise={kept.noise} />}
      {isOwner ? (
        <Segmented
          label="Keep"
          value={keep}
          choices={keepModes}
          onValue={(next) => next !== keep && change.run(next)}
        />
      ) : (
        <p>{keep === "all" ? all.label : agents.label}. An owner may change it.</p>
      )}
      {keep === "agents" && (isOwner ? <LeaveOut leftOut={leftOut} /> : <p>Left out: {namesOf(leftOut)}.</p>)}
      <p class="hint keep-hint">
        “{agents.label}” drops a trace from OpenTelemetry that has no model, agent, tool, retrieval or evaluation span
        and no labels, 5 minutes after its root span or an hour after its last one. It does not count; this page and the
        trace API show how many were <code>dropped</code> in a month.
      </p>
      {kept && kept.dropped.length > 0 && (
        <Table name="Dropped this month" columns={droppedColumns} rows={kept.dropped} />
      )}
    </Panel>
  );
}

const namesOf = (leftOut: Usage["leave_out"]) =>
  libraries.flatMap(({ value, label }) => (leftOut.includes(value) ? label : [])).join(", ") || "nothing";

function LeaveOut({ leftOut }: { leftOut: Usage["leave_out"] }) {
  const options = { invalidates: ["/usage", "/audit"], says: "Saved" };
  const form = useForm({ leave_out: leftOut }, (body) => api.put("/keep", body), options);
  const { value: chosen, onValue } = form.field("leave_out");
  return (
    <Form class="leave-out" verb="Save" form={form}>
      <ActionError of={form} />
      <fieldset class="row">
        <legend>Leave out spans of libraries below an agent</legend>
        {libraries.map(({ value, label }) => (
          <Checkbox
            key={value}
            label={label}
            value={chosen.includes(value)}
            onValue={(isLeftOut) => onValue(isLeftOut ? [...chosen, value] : chosen.filter((own) => own !== value))}
          />
        ))}
      </fieldset>
    </Form>
  );
}

function NoiseNote({ noise: { traces, isPart, noise } }: { noise: Kept["noise"] }) {
  return (
    <Banner>
      {formatShare(noise / traces)} of {isPart ? `the latest ${formatCount(traces)}` : "this month's"} traces have no
      model, agent, tool, retrieval or evaluation span, and use the month all the same. “{keepModes[1].label}” leaves
      them out.
    </Banner>
  );
}

const droppedColumns: readonly Column<Kept["dropped"][number]>[] = [
  { text: "Dropped this month, by root span", cell: ({ name }) => name ?? <span class="hint">others</span> },
  { text: "Traces", isNumber: true, cell: ({ traces }) => formatCount(traces) },
];

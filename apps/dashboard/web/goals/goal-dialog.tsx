import { useEffect, useState } from "preact/hooks";
import type { GoalCount, GoalInput } from "../../src/goals/goals.route.js";
import type { SiteEvents } from "../../src/statistics/statistics.route.js";
import { api } from "../data/api.js";
import { useQuery } from "../data/query.js";
import { type Address, eventsPath, goalCountPath, sourceOf } from "../statistics/address.js";
import { FormDialog, Radios, TextField, type TextFieldProps, useForm } from "../ui/form.js";
import { formatShare, formatThings } from "../ui/format.js";
import type { Goal } from "./goal-filters.js";
import { changed } from "./parts.js";

const kinds = [
  { value: "page", label: "Views of a page" },
  { value: "event", label: "A custom event" },
] as const;

type Values = Record<"page" | "event" | "property" | "value" | "name", string> & { kind: "page" | "event" };

interface GoalDialogProps {
  siteId: string;
  address: Address;
  /** Changed, or a new one without it. */
  goal?: Goal;
  onClose(): void;
}

export function GoalDialog({ siteId, address, goal, onClose }: GoalDialogProps) {
  const isEmptyValue = goal?.value === "";
  const ruleOf = ({ kind, page, event, property, value }: Values): GoalInput => {
    if (kind === "page") return { page };
    return { event, ...(property && { property, ...((value || isEmptyValue) && { value }) }) };
  };
  const path = `/sites/${siteId}/goals`;
  const form = useForm(
    valuesOf(goal),
    ({ name, ...values }) => {
      const body: GoalInput = { ...ruleOf({ name, ...values }), ...(name && { name }) };
      return goal ? api.put(`${path}/${goal.id}`, body) : api.post(path, body);
    },
    {
      invalidates: changed(siteId),
      says: goal ? "The goal is changed" : "The goal is added",
      onDone: onClose,
      refusalAt: "name",
    },
  );
  const { values } = form;
  const count = useCount(siteId, address, ruleOf(values));
  const field = (name: "page" | "event" | "property" | "value") => {
    const own = form.field(name);
    return { ...own, error: own.error ?? count.error?.fields[name] };
  };
  return (
    <FormDialog
      title={goal ? "Change the goal" : "Add a goal"}
      verb={goal ? "Save" : "Add"}
      form={form}
      onClose={onClose}
    >
      <Radios label="What counts" choices={kinds} {...form.field("kind")} />
      {values.kind === "page" ? (
        <TextField
          label="Page"
          placeholder="/docs/*"
          autocomplete="off"
          required
          hint="The path. A * stands for any text."
          {...field("page")}
        />
      ) : (
        <EventFields siteId={siteId} address={address} values={values} field={field} />
      )}
      <p class="note goal-count" role="status">
        {countText(count, values, address)}
      </p>
      <TextField
        label="Name"
        autocomplete="off"
        hint="Empty: the page or the event is its name."
        {...form.field("name")}
      />
    </FormDialog>
  );
}

function valuesOf(goal: Goal | undefined): Values {
  const { page, event, property, value, name = "" } = goal ?? {};
  return {
    kind: event ? "event" : "page",
    page: page ?? "",
    event: event ?? "",
    property: property ?? "",
    value: value ?? "",
    name,
  };
}

interface EventFieldsProps {
  siteId: string;
  address: Address;
  values: Values;
  field(name: "event" | "property" | "value"): Pick<TextFieldProps, "value" | "onValue" | "error">;
}

/** An event of those seen, or one that is still to come. */
function EventFields({ siteId, address, values, field }: EventFieldsProps) {
  const { data } = useQuery<SiteEvents>(eventsPath(sourceOf({ id: siteId }), { ...address, filters: "" }), {
    staleMs: 60_000,
  });
  const event = data?.events.find(({ name }) => name === values.event);
  const properties = Object.entries(event?.properties ?? {});
  const counts = properties.find(([name]) => name === values.property)?.[1] ?? {};
  const seen = (all: readonly (readonly [string, number])[]) =>
    // A long value counts by its start, and "(other)" stands for many.
    all.filter(([text]) => text !== "(other)" && !text.endsWith("…")).map(([value, times]) => ({ value, times }));
  return (
    <>
      <TextField
        label="Custom event"
        autocomplete="off"
        required
        hint={data?.events.length === 0 ? "No custom events were seen in this range." : "Those seen are in the list."}
        suggestions={seen(data?.events.map(({ name, count }) => [name, count] as const) ?? [])}
        {...field("event")}
      />
      <TextField
        label="Property"
        autocomplete="off"
        hint="Empty: all of these events count."
        suggestions={properties.map(([value]) => ({ value }))}
        {...field("property")}
      />
      {values.property !== "" && (
        <TextField label="Value" autocomplete="off" suggestions={seen(Object.entries(counts))} {...field("value")} />
      )}
    </>
  );
}

const pauseMs = 300;

/** What the rule would count, once nobody has typed for a moment. */
function useCount(siteId: string, address: Address, rule: GoalInput) {
  const isWhole = rule.page ? true : rule.event && (!rule.property || rule.value !== undefined);
  const path = isWhole ? goalCountPath(siteId, address, rule) : undefined;
  const [settled, settle] = useState(path);
  useEffect(() => {
    const timer = setTimeout(() => settle(path), pauseMs);
    return () => clearTimeout(timer);
  }, [path]);
  const { data, error } = useQuery<GoalCount>(settled, { staleMs: 60_000 });
  return { error, data: settled === path ? data : undefined, isAsked: path !== undefined };
}

function countText({ data, error, isAsked }: ReturnType<typeof useCount>, { kind }: Values, { filters }: Address) {
  if (error && Object.keys(error.fields).every((name) => name === "filters"))
    return error.refusal ?? error.fields["filters"];
  if (!isAsked || error) return "\u00a0";
  if (!data) return "Counting …";
  const things = formatThings(data.count, kind === "page" ? "page view" : "event");
  const visitors = formatThings(data.visitors, "visitor");
  const place = filters === "" ? "in this range" : "in these visits";
  return `${things} by ${visitors} ${place}: ${formatShare(data.conversionRate)} of all`;
}

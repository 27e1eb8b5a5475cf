import { useLayoutEffect, useRef } from "preact/hooks";
import type { FunnelInput, SiteFunnels } from "../../src/goals/goals.route.js";
import { api } from "../data/api.js";
import { announce } from "../ui/announce.js";
import { Button } from "../ui/button.js";
import { Select } from "../ui/choices.js";
import { FormDialog, TextField, useForm } from "../ui/form.js";
import type { Goal } from "./goal-filters.js";
import { changed, type Funnel } from "./parts.js";

interface Step {
  /** Keeps the row's elements when it moves. */
  key: number;
  goalId: string;
}

interface FunnelDialogProps {
  siteId: string;
  goals: readonly Goal[];
  bounds: SiteFunnels["stepsPerFunnel"];
  /** Changed, or a new one without it. */
  funnel?: Funnel;
  onClose(): void;
}

export function FunnelDialog({ siteId, goals, bounds, funnel, onClose }: FunnelDialogProps) {
  const path = `/sites/${siteId}/funnels`;
  const first = funnel?.steps.map(({ goalId }) => goalId) ?? goals.slice(0, bounds.min).map(({ id }) => id);
  const form = useForm(
    { name: funnel?.name ?? "", steps: first.map((goalId, key): Step => ({ key, goalId })) },
    ({ name, steps }) => {
      const body: FunnelInput = { name, steps: steps.map(({ goalId }) => goalId) };
      return funnel ? api.put(`${path}/${funnel.id}`, body) : api.post(path, body);
    },
    {
      invalidates: changed(siteId),
      says: funnel ? "The funnel is changed" : "The funnel is added",
      onDone: onClose,
      refusalAt: "name",
    },
  );
  const title = funnel ? "Change the funnel" : "Add a funnel";
  return (
    <FormDialog title={title} verb={funnel ? "Save" : "Add"} form={form} onClose={onClose}>
      <TextField label="Name" autocomplete="off" required {...form.field("name")} />
      <Steps goals={goals} bounds={bounds} {...form.field("steps")} />
    </FormDialog>
  );
}

interface StepsProps extends Pick<FunnelDialogProps, "goals" | "bounds"> {
  value: readonly Step[];
  onValue(steps: Step[]): void;
  error: string | undefined;
}

function Steps({ goals, bounds, value: steps, onValue, error }: StepsProps) {
  const list = useRef<HTMLOListElement>(null);
  const focused = useRef<{ at: number; control: string } | undefined>(undefined);
  useLayoutEffect(() => {
    const { at, control } = focused.current ?? { at: 0, control: "" };
    focused.current = undefined;
    const row = list.current?.children[Math.min(at, steps.length - 1)];
    const wanted = control && row?.querySelector<HTMLElement>(`${control}:not(:disabled)`);
    if (control) (wanted || row?.querySelector("select"))?.focus();
  }, [steps]);
  const nameOf = (goalId: string) => goals.find(({ id }) => id === goalId)?.name ?? "";
  const move = (from: number, by: -1 | 1) => {
    const moved = steps.toSpliced(from, 1);
    const [step] = steps.slice(from, from + 1);
    if (!step) return;
    focused.current = { at: from + by, control: by < 0 ? "[data-move=up]" : "[data-move=down]" };
    announce(`${nameOf(step.goalId)} is step ${from + by + 1} of ${steps.length}`);
    onValue(moved.toSpliced(from + by, 0, step));
  };
  const remove = (at: number) => {
    focused.current = { at, control: "select" };
    announce(`Step ${at + 1} is removed`);
    onValue(steps.toSpliced(at, 1));
  };
  const add = () => {
    focused.current = { at: steps.length, control: "select" };
    onValue([...steps, { key: Math.max(-1, ...steps.map(({ key }) => key)) + 1, goalId: goals[0]?.id ?? "" }]);
  };
  const choices = goals.map(({ id, name }) => ({ value: id, label: name }));
  return (
    <fieldset class="field funnel-steps">
      <legend>Steps</legend>
      <ol ref={list}>
        {steps.map(({ key, goalId }, at) => (
          <li key={key} class="row">
            <Select
              label={`Step ${at + 1}`}
              class="input"
              value={goalId}
              choices={choices}
              onValue={(id) => onValue(steps.with(at, { key, goalId: id }))}
            />
            <Button
              text={`Move step ${at + 1} up`}
              icon="up"
              look="quiet"
              isIconOnly
              data-move="up"
              disabled={at === 0}
              onClick={() => move(at, -1)}
            />
            <Button
              text={`Move step ${at + 1} down`}
              icon="down"
              look="quiet"
              isIconOnly
              data-move="down"
              disabled={at === steps.length - 1}
              onClick={() => move(at, 1)}
            />
            <Button
              text={`Remove step ${at + 1}`}
              icon="close"
              look="quiet"
              isIconOnly
              disabled={steps.length <= bounds.min}
              onClick={() => remove(at)}
            />
          </li>
        ))}
      </ol>
      {error && (
        <p class="field-error" role="alert">
          {error}
        </p>
      )}
      <div class="row">
        <Button text="Add step" icon="plus" disabled={steps.length >= bounds.max} onClick={add} />
        <span class="hint">{`${steps.length} of at most ${bounds.max}`}</span>
      </div>
    </fieldset>
  );
}

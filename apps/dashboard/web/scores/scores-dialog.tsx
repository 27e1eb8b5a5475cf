import type { ScoreBody } from "../../src/scores/scores.route.js";
import { api } from "../data/api.js";
import { useAction, useMayChange } from "../data/query.js";
import { Ago } from "../ui/ago.js";
import { RunButton } from "../ui/button.js";
import { Dialog } from "../ui/dialog.js";
import { Form, Radios, TextField, useForm } from "../ui/form.js";
import { ActionError } from "../ui/page.js";
import { type Score, type Scored, ScoreValue, scoresPath, useScores } from "./score-parts.js";

/** Shows the scores of a trace or span, takes another one, and removes those that the person may. */
export function ScoresDialog({ of, onClose }: { of: Scored; onClose(): void }) {
  const scores = useScores(of) ?? [];
  const path = scoresPath(of.traceId);
  const mayChange = useMayChange();
  const remove = useAction((id: string) => api.delete(`${path}/${id}`), {
    invalidates: [path],
    says: "The score is removed",
  });
  return (
    <Dialog title={`Scores of ${of.name}`} onClose={onClose}>
      {mayChange && <ScoreForm of={of} onDone={onClose} />}
      <ActionError of={remove} />
      {scores.length > 0 && (
        <ul class="score-list" aria-label="Scores">
          {scores.map((score) => (
            <li key={score.id} class="row score-line">
              <ScoreText score={score} />
              {mayChange && score.mayRemove && <RunButton text="Remove" look="danger" of={remove} with={score.id} />}
            </li>
          ))}
        </ul>
      )}
    </Dialog>
  );
}

function ScoreText({ score: { name, value, comment, source, by, created_at } }: { score: Score }) {
  return (
    <div>
      <p>
        <bdi>{name}</bdi>:{" "}
        <strong>
          <ScoreValue value={value} />
        </strong>
      </p>
      {comment && (
        <p>
          <bdi>{comment}</bdi>
        </p>
      )}
      <p class="note">
        {source === "api" ? "By the API" : `By ${by ?? "a person who left"}`}, <Ago iso={created_at} />
      </p>
    </div>
  );
}

const kinds = [
  { value: "up", label: "Thumbs up" },
  { value: "down", label: "Thumbs down" },
  { value: "number", label: "A number" },
] as const;

interface Values {
  kind: (typeof kinds)[number]["value"];
  value: string;
  name: string;
  comment: string;
}

const initial: Values = { kind: "up", value: "", name: "helpful", comment: "" };

function ScoreForm({ of: { traceId, spanId }, onDone }: { of: Scored; onDone(): void }) {
  const path = scoresPath(traceId);
  const send = ({ kind, value, name, comment }: Values) => {
    const given = kind === "number" ? Number(value) : kind === "up";
    return api.post(path, { name, value: given, comment: comment || null, spanId } satisfies ScoreBody);
  };
  const form = useForm(initial, send, {
    invalidates: [path],
    says: "The score is added",
    refusalAt: "comment",
    onDone,
  });
  return (
    <Form class="narrow-form" verb="Add score" look="main" form={form}>
      <Radios label="Value" choices={kinds} {...form.field("kind")} />
      {form.values.kind === "number" && (
        <TextField label="Number" autocomplete="off" required {...form.field("value")} />
      )}
      <TextField label="Name" autocomplete="off" required maxlength={100} {...form.field("name")} />
      <TextField label="Note" autocomplete="off" maxlength={4_000} {...form.field("comment")} />
    </Form>
  );
}

import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { type ApiError, api } from "../data/api.js";
import { type Action, useAction } from "../data/query.js";
import { announce } from "./announce.js";
import { Button } from "./button.js";
import { Dialog } from "./dialog.js";

interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  /** The message of `ApiError.fields` for this field. */
  error?: string | undefined;
}

interface ControlProps {
  id: string;
  "aria-describedby": string | undefined;
  "aria-invalid": boolean | undefined;
}

/** A label, its control, a hint and an error that screen readers read with the control. */
export function Field({
  label,
  hint,
  error,
  children,
}: FieldProps & { children(props: ControlProps): ComponentChildren }) {
  const id = useId();
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, "aria-describedby": described || undefined, "aria-invalid": error ? true : undefined })}
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error && (
        <p class="field-error" id={`${id}-error`}>
          {error}
        </p>
      )}
    </div>
  );
}

interface TextFieldProps extends FieldProps {
  value: string;
  onValue(value: string): void;
  type?: "text" | "email" | "password" | "number";
  /** For password managers. */
  autocomplete?: "name" | "username" | "email" | "current-password" | "new-password" | "off";
  name?: string;
  placeholder?: string;
  maxlength?: number;
  min?: string;
  max?: string;
  required?: boolean;
}

export function TextField({ label, hint, error, onValue, type = "text", ...input }: TextFieldProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => (
        <input
          {...input}
          {...control}
          type={type as "text"}
          class="input"
          onInput={(event) => onValue(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

interface Choice<Value extends string> {
  value: Value;
  label: string;
  hint?: string;
}

interface RadiosProps<Value extends string> extends FieldProps {
  value: Value;
  choices: readonly Choice<Value>[];
  onValue(value: Value): void;
}

/** Radios of a form, named by their legend. */
export function Radios<Value extends string>({ label, error, value, choices, onValue }: RadiosProps<Value>) {
  const id = useId();
  return (
    <fieldset class="field radios" aria-describedby={error ? `${id}-error` : undefined}>
      <legend>{label}</legend>
      {choices.map((choice) => (
        <div class="radio" key={choice.value}>
          <input
            type="radio"
            name={id}
            id={`${id}-${choice.value}`}
            checked={choice.value === value}
            aria-describedby={choice.hint ? `${id}-${choice.value}-hint` : undefined}
            onChange={() => onValue(choice.value)}
          />
          <label for={`${id}-${choice.value}`}>{choice.label}</label>
          {choice.hint && (
            <p class="hint" id={`${id}-${choice.value}-hint`}>
              {choice.hint}
            </p>
          )}
        </div>
      ))}
      {error && (
        <p class="field-error" id={`${id}-error`}>
          {error}
        </p>
      )}
    </fieldset>
  );
}

interface CheckboxProps {
  label: string;
  hint?: string;
  isChecked: boolean;
  onChecked(isChecked: boolean): void;
}

export function Checkbox({ label, hint, isChecked, onChecked }: CheckboxProps) {
  const id = useId();
  return (
    <div class="field">
      <div class="radio">
        <input
          type="checkbox"
          id={id}
          checked={isChecked}
          aria-describedby={hint ? `${id}-hint` : undefined}
          onChange={(event) => onChecked(event.currentTarget.checked)}
        />
        <label for={id}>{label}</label>
        {hint && (
          <p class="hint" id={`${id}-hint`}>
            {hint}
          </p>
        )}
      </div>
    </div>
  );
}

interface FormProps {
  verb: string;
  look?: "main" | "danger";
  action: Pick<Action<never>, "isBusy">;
  onSubmit(): void;
  class?: string;
  children: ComponentChildren;
}

/** Fields and the button that sends them. Without scripts it is a POST, so that nothing typed gets into an address. */
export function Form({ verb, look, action, onSubmit, class: className, children }: FormProps) {
  return (
    <form
      class={className}
      method="post"
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {children}
      <Button type="submit" look={look} isBusy={action.isBusy}>
        {verb}
      </Button>
    </form>
  );
}

interface FormDialogProps extends Omit<FormProps, "class"> {
  title: string;
  onClose(): void;
}

export function FormDialog({ title, onClose, look = "main", ...form }: FormDialogProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <Form look={look} {...form} />
    </Dialog>
  );
}

/** The texts of a form's fields by name, and what the field of each takes. @param refusalAt shows a refusal of no field */
export function useTexts<Name extends string>(initial: Readonly<Record<Name, string>>, refusalAt?: NoInfer<Name>) {
  const [texts, setTexts] = useState(initial);
  const field = (name: Name, error: ApiError | undefined) => ({
    value: texts[name],
    onValue: (text: string) => setTexts({ ...texts, [name]: text }),
    error: error?.fields[name] ?? (name === refusalAt ? error?.refusal : undefined),
  });
  return { texts, field, setTexts };
}

interface NameFormProps {
  label?: string;
  /** Takes a PATCH with `name`. */
  path: string;
  name: string;
  maxlength: number;
  invalidates: readonly string[];
  hint?: string;
  autocomplete?: "name" | "off";
}

/** Changes the name of a person, an account or a site. */
export function NameForm({ label = "Name", path, name, invalidates, autocomplete = "off", ...rest }: NameFormProps) {
  const { texts, field } = useTexts({ name }, "name");
  const save = useAction(() => api.patch(path, texts), { invalidates, onDone: () => announce("Saved") });
  return (
    <Form class="narrow-form" verb="Save" action={save} onSubmit={save.run}>
      <TextField label={label} autocomplete={autocomplete} {...rest} required {...field("name", save.error)} />
    </Form>
  );
}

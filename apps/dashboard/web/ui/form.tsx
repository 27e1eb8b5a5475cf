import type { ComponentChildren, InputHTMLAttributes } from "preact";
import { useId, useState } from "preact/hooks";
import { api } from "../data/api.js";
import { type ActionOptions, useAction } from "../data/query.js";
import { Button } from "./button.js";
import { classNames } from "./class-names.js";
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
  const described = classNames(hint ? `${id}-hint` : undefined, error && `${id}-error`);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, "aria-describedby": described, "aria-invalid": error ? true : undefined })}
      <Note class="hint" id={`${id}-hint`} text={hint} />
      <Note class="field-error" id={`${id}-error`} text={error} />
    </div>
  );
}

function Note({ text, ...attributes }: { id: string; class: string; text: ComponentChildren }) {
  return text ? <p {...attributes}>{text}</p> : null;
}

export interface TextFieldProps extends FieldProps {
  value: string;
  onValue(value: string): void;
  type?: "text" | "email" | "password" | "number" | "date";
  autocomplete?: "name" | "username" | "email" | "current-password" | "new-password" | "one-time-code" | "off";
  name?: string;
  placeholder?: string;
  maxlength?: number;
  min?: string;
  max?: string;
  required?: boolean;
  /** Values to choose from, and how often each was seen; others can be typed. */
  suggestions?: readonly { value: string; times?: number }[];
}

export function TextField({ label, hint, error, onValue, type = "text", suggestions, ...input }: TextFieldProps) {
  const list = useId();
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => (
        <>
          <input
            {...input}
            {...control}
            {...(suggestions && { list })}
            type={type as "text"}
            class="input"
            onInput={(event) => onValue(event.currentTarget.value)}
          />
          {suggestions && (
            <datalist id={list}>
              {suggestions.map(({ value, times }) => (
                <option key={value} value={value} label={times === undefined ? value : `${value} (${times})`} />
              ))}
            </datalist>
          )}
        </>
      )}
    </Field>
  );
}

interface RadiosProps<Value extends string> extends FieldProps {
  value: Value;
  choices: readonly { value: Value; label: string; hint?: string | undefined }[];
  onValue(value: Value): void;
}

export function Radios<Value extends string>({ label, error, value, choices, onValue }: RadiosProps<Value>) {
  const id = useId();
  return (
    <fieldset class="field radios" aria-describedby={error ? `${id}-error` : undefined}>
      <legend>{label}</legend>
      {choices.map(({ value: own, label: text, hint }) => (
        <Choice
          key={own}
          label={text}
          hint={hint}
          type="radio"
          name={id}
          id={`${id}-${own}`}
          checked={own === value}
          onChange={() => onValue(own)}
        />
      ))}
      <Note class="field-error" id={`${id}-error`} text={error} />
    </fieldset>
  );
}

type ChoiceProps = InputHTMLAttributes<HTMLInputElement> & { id: string; label: string; hint: string | undefined };

function Choice({ label, hint, ...input }: ChoiceProps) {
  const hintId = `${input.id}-hint`;
  return (
    <div class="radio">
      <input {...input} aria-describedby={hint ? hintId : undefined} />
      <label for={input.id}>{label}</label>
      <Note class="hint" id={hintId} text={hint} />
    </div>
  );
}

interface CheckboxProps {
  label: string;
  hint?: string;
  value: boolean;
  onValue(value: boolean): void;
}

export function Checkbox({ label, hint, value, onValue }: CheckboxProps) {
  const check = { checked: value, onChange: () => onValue(!value) };
  return (
    <div class="field">
      <Choice type="checkbox" id={useId()} label={label} hint={hint} {...check} />
    </div>
  );
}

export interface FormProps {
  verb: string;
  look?: "main" | "danger";
  form: Pick<FormState<never, never>, "isBusy" | "submit">;
  class?: string;
  children: ComponentChildren;
}

/** Fields and the button that sends them. Without scripts it is a POST, so that nothing typed gets into an address. */
export function Form({ verb, look, form, class: className, children }: FormProps) {
  return (
    <form
      class={className}
      method="post"
      onSubmit={(event) => {
        event.preventDefault();
        form.submit();
      }}
    >
      {children}
      <Button text={verb} type="submit" look={look} isBusy={form.isBusy} />
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

type FormState<Values, Output> = ReturnType<typeof useForm<Values, Output>>;

/** A form: its values, what the control of each takes, and the write that sends them. `refusalAt` shows a refusal of no field. */
export function useForm<Values, Output = unknown>(
  initial: Values,
  send: (values: Values) => Promise<Output>,
  { refusalAt, ...options }: ActionOptions<Output> & { refusalAt?: keyof Values } = {},
) {
  const [values, setValues] = useState(initial);
  const { run, ...action } = useAction(send, options);
  const { error } = action;
  const field = <Name extends keyof Values & string>(name: Name) => ({
    value: values[name],
    onValue: (value: Values[Name]) => setValues({ ...values, [name]: value }),
    error: error?.fields[name] ?? (name === refusalAt ? error?.refusal : undefined),
  });
  return { values, setValues, field, ...action, submit: () => run(values) };
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

export function NameForm({ label = "Name", path, name, invalidates, autocomplete = "off", ...rest }: NameFormProps) {
  const options = { invalidates, says: "Saved", refusalAt: "name" } as const;
  const form = useForm({ name }, (body) => api.patch(path, body), options);
  return (
    <Form class="narrow-form" verb="Save" form={form}>
      <TextField label={label} autocomplete={autocomplete} {...rest} required {...form.field("name")} />
    </Form>
  );
}

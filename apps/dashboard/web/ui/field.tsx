import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

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
  type?: "text" | "email" | "password" | "url" | "date" | "number";
  /** For password managers. */
  autocomplete?: "name" | "username" | "email" | "current-password" | "new-password" | "off";
  name?: string;
  placeholder?: string;
  maxlength?: number;
  min?: string;
  max?: string;
  required?: boolean;
  readOnly?: boolean;
  isMono?: boolean;
}

export function TextField({ label, hint, error, onValue, isMono, type = "text", ...input }: TextFieldProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => (
        <input
          {...input}
          {...control}
          type={type as "text"}
          class={isMono ? "input mono" : "input"}
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

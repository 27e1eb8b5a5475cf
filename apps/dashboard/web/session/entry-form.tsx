import type { ComponentChildren } from "preact";
import type { ApiError } from "../data/api.js";
import type { Action } from "../data/query.js";
import { Button } from "../ui/button.js";
import { TextField } from "../ui/field.js";

interface EntryFormProps {
  action: Pick<Action<never, unknown>, "error" | "isBusy">;
  /** The button's verb. */
  verb: string;
  /** The text of a refusal that belongs to no field. */
  reasonOf?(error: ApiError): string;
  onSubmit(): Promise<void>;
  children: ComponentChildren;
}

/** A form of the pages before a session. A refusal of no field stands above, read at once. */
export function EntryForm({ action, verb, reasonOf = messageOf, onSubmit, children }: EntryFormProps) {
  const { error, isBusy } = action;
  return (
    <form
      method="post"
      onSubmit={(event) => {
        event.preventDefault();
        void onSubmit();
      }}
    >
      {error && Object.keys(error.fields).length === 0 && (
        <p class="form-error" role="alert">
          {reasonOf(error)}
        </p>
      )}
      {children}
      <Button type="submit" look="main" isBusy={isBusy}>
        {verb}
      </Button>
    </form>
  );
}

function messageOf(error: ApiError): string {
  return error.message;
}

interface EntryFieldProps {
  value: string;
  onValue(value: string): void;
  error: string | undefined;
}

/** The own name. */
export function NameField(field: EntryFieldProps) {
  return <TextField label="Name" name="name" autocomplete="name" required maxlength={100} {...field} />;
}

/** The address that a person signs in with. */
export function EmailField(field: EntryFieldProps) {
  return <TextField label="Email" type="email" name="email" autocomplete="username" required {...field} />;
}

interface PasswordFieldProps extends EntryFieldProps {
  label?: string;
}

/** A password to choose. */
export function NewPasswordField({ label = "Password", ...field }: PasswordFieldProps) {
  const rule = "10 characters or more";
  return (
    <TextField
      label={label}
      type="password"
      name="password"
      autocomplete="new-password"
      required
      hint={rule}
      {...field}
    />
  );
}

/** Tells password managers whose password a form without an address changes. */
export function PasswordOwner({ email }: { email: string }) {
  return (
    <input
      class="sr-only"
      type="email"
      autocomplete="username"
      value={email}
      readOnly
      tabIndex={-1}
      aria-hidden="true"
    />
  );
}

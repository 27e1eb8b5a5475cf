import type { ComponentChildren } from "preact";
import { useLayoutEffect } from "preact/hooks";
import type { ApiError } from "../data/api.js";
import { Form, type FormProps, TextField, type TextFieldProps } from "../ui/form.js";
import { Brand } from "../ui/icon.js";
import { Banner, usePageHeading } from "../ui/page.js";

interface EntryCardProps {
  title: string;
  children: ComponentChildren;
  links?: ComponentChildren;
}

export const signInLink = <a href="/dashboard/sign-in">Sign in</a>;

export function EntryCard({ title, children, links }: EntryCardProps) {
  const heading = usePageHeading(title);
  return (
    <div class="entry">
      <Brand />
      <div class="panel entry-card">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {children}
        {links && <p class="row entry-links">{links}</p>}
      </div>
    </div>
  );
}

interface EntryFormProps extends Pick<FormProps, "verb" | "children"> {
  form: FormProps["form"] & { error: ApiError | undefined };
  /** A better text for a refusal that belongs to no field. */
  reasonOf?(error: ApiError): string | undefined;
}

/** A form of the pages before a session. A refusal of no field stands above, read at once. */
export function EntryForm({ form, verb, reasonOf, children }: EntryFormProps) {
  const { error } = form;
  return (
    <Form verb={verb} look="main" form={form}>
      {error?.refusal !== undefined && (
        <p class="row banner is-error form-error" role="alert">
          {reasonOf?.(error) ?? error.refusal}
        </p>
      )}
      {children}
    </Form>
  );
}

type EntryFieldProps = Pick<TextFieldProps, "value" | "onValue" | "error">;

export function NameField(field: EntryFieldProps) {
  return <TextField label="Name" name="name" autocomplete="name" required maxlength={100} {...field} />;
}

export function EmailField(field: EntryFieldProps) {
  return <TextField label="Email" type="email" name="email" autocomplete="username" required {...field} />;
}

const password = { label: "Password", type: "password", name: "password", required: true } as const;

export function PasswordField(field: EntryFieldProps) {
  return <TextField {...password} autocomplete="current-password" {...field} />;
}

export function NewPasswordField(field: EntryFieldProps & { label?: string }) {
  return <TextField {...password} autocomplete="new-password" hint="10 characters or more" {...field} />;
}

/** Comes after the password was right, and takes the focus. */
export function CodeField({ hint = "Of your app, or a recovery code", ...field }: EntryFieldProps & { hint?: string }) {
  useLayoutEffect(() => document.querySelector<HTMLElement>("[name=code]")?.focus(), []);
  return (
    <TextField label="Code" name="code" autocomplete="one-time-code" required maxlength={40} hint={hint} {...field} />
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

export function TooManyTries() {
  return (
    <Banner tone="warning">
      Too many tries for this address. If the password was right, a mail with a link is on its way.
    </Banner>
  );
}

export function signInProblem({ status, details }: ApiError): string | undefined {
  if (status === 401) return "Email or password is wrong.";
  if (status !== 429) return undefined;
  if (details["retry_after"] === undefined) return "Many sign in from here at this moment. Try again.";
  return "Too many tries. Wait 15 minutes, or use “Forgot password?”.";
}

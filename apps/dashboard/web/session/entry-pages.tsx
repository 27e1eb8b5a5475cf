import "./session.css";
import { useLocation } from "preact-iso";
import type {
  EntryOptions,
  EntryRefusal,
  ForgotBody,
  MailedAnswer,
  SignInAnswer,
  SignInBody,
  SignUpBody,
} from "../../src/session/session.schema.js";
import { api } from "../data/api.js";
import { localPath } from "../data/paths.js";
import { useAction, useQuery } from "../data/query.js";
import { Button } from "../ui/button.js";
import { useForm } from "../ui/form.js";
import { ActionError, Banner } from "../ui/page.js";
import {
  CodeField,
  EmailField,
  EntryCard,
  EntryForm,
  NameField,
  NewPasswordField,
  PasswordField,
  signInLink,
  signInProblem,
  TooManyTries,
} from "./entry-parts.js";
import { hasPasskeys, signInByPasskey } from "./passkeys.js";

const refusals: Readonly<Record<EntryRefusal, string>> = {
  away: "The provider does not answer. Try again in a minute, or sign in here.",
  failed: "The sign-in at the provider did not complete. Try again.",
  no_role: "The provider names no role of yours here. Ask whoever runs this installation.",
  unproven: "The provider has not proven your address of mail. Prove it there, or sign in here.",
  closed: "Accounts are by invitation here. An owner of an account can invite your address.",
  taken: "Your address belongs to somebody else's sign-in here. Ask an owner of the account.",
};

export function SignInPage() {
  const { query } = useLocation();
  const options = useQuery<EntryOptions>("/sign-in", { staleMs: 60_000 });
  const signIn = ({ code, ...body }: Required<SignInBody>) =>
    api.post<SignInAnswer>("/sign-in", { ...body, ...(code !== "" && { code }) } satisfies SignInBody);
  const form = useForm({ email: "", password: "", code: "" }, signIn, {
    onDone: ({ isSignedIn }) => isSignedIn && location.assign(localPath(query["next"])),
  });
  const passkey = useAction(signInByPasskey, {
    onDone: ({ isSignedIn }) => isSignedIn && location.assign(localPath(query["next"])),
  });
  const provider = options.data?.provider;
  const atProvider = `/dashboard/api/oidc?${new URLSearchParams({ next: localPath(query["next"]) })}`;
  const refusal = refusals[query["refused"] as EntryRefusal];
  const links = (
    <>
      <a href="/dashboard/forgot">Forgot password?</a>
      {options.data?.signUp === "open" && <a href="/dashboard/sign-up">Create an account</a>}
    </>
  );
  return (
    <EntryCard title="Sign in" links={links}>
      {refusal && !form.error && !form.output && <Banner tone="error">{refusal}</Banner>}
      {form.output?.isSignedIn === false && !form.output.needsCode && <TooManyTries />}
      <EntryForm form={form} verb="Sign in" reasonOf={signInProblem}>
        <EmailField {...form.field("email")} />
        <PasswordField {...form.field("password")} />
        {form.output?.needsCode && <CodeField {...form.field("code")} />}
      </EntryForm>
      {provider && (
        <div class="entry-other">
          <Button text={`Sign in with ${provider}`} onClick={() => location.assign(atProvider)} />
        </div>
      )}
      {hasPasskeys && (
        <div class="entry-other">
          <Button text="Sign in with a passkey" isBusy={passkey.isBusy} onClick={() => passkey.run()} />
          <ActionError of={passkey} />
        </div>
      )}
    </EntryCard>
  );
}

export function ForgotPage() {
  const form = useForm({ email: "" }, (body: ForgotBody) => api.post<MailedAnswer>("/forgot", body));
  return (
    <EntryCard title="Forgot password" links={signInLink}>
      {form.output ? (
        <p role="status">
          If <strong>{form.values.email}</strong> belongs to somebody here, a link to a new password is on its way.
        </p>
      ) : (
        <EntryForm form={form} verb="Send a link">
          <EmailField {...form.field("email")} />
        </EntryForm>
      )}
    </EntryCard>
  );
}

export function SignUpPage() {
  const options = useQuery<EntryOptions>("/sign-in", { staleMs: 60_000 });
  const signUp = (body: SignUpBody) => api.post<MailedAnswer>("/sign-up", body);
  const form = useForm({ name: "", email: "", password: "" }, signUp);
  if (form.output) {
    return (
      <EntryCard title="Look into your mail" links={signInLink}>
        <p role="status">
          A link is on its way to <strong>{form.values.email}</strong>. It proves the address and signs you in.
        </p>
      </EntryCard>
    );
  }
  if (options.data?.signUp === "invited") {
    return (
      <EntryCard title="By invitation only" links={signInLink}>
        <p>An owner of an account can invite you: the mail has a link.</p>
      </EntryCard>
    );
  }
  return (
    <EntryCard title="Create an account" links={<a href="/dashboard/sign-in">Sign in instead</a>}>
      <EntryForm form={form} verb="Create account">
        <NameField {...form.field("name")} />
        <EmailField {...form.field("email")} />
        <NewPasswordField {...form.field("password")} />
      </EntryForm>
    </EntryCard>
  );
}

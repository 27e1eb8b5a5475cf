import "./session.css";
import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import type {
  EntryOptions,
  ForgotBody,
  MailedAnswer,
  SignInAnswer,
  SignInBody,
  SignUpBody,
} from "../../src/session/session.schema.js";
import { api } from "../data/api.js";
import { localPath } from "../data/paths.js";
import { useAction, useQuery } from "../data/query.js";
import { useTexts } from "../ui/form.js";
import {
  EmailField,
  EntryCard,
  EntryForm,
  NameField,
  NewPasswordField,
  PasswordField,
  signInProblem,
  TooManyTries,
} from "./entry-parts.js";

export function SignInPage() {
  const { query } = useLocation();
  const { texts, field } = useTexts({ email: "", password: "" });
  const options = useQuery<EntryOptions>("/sign-in", { staleMs: 60_000 });
  const [isMailed, setMailed] = useState(false);
  const signIn = useAction((body: SignInBody) => api.post<SignInAnswer>("/sign-in", body), {
    onDone: ({ isSignedIn }) => (isSignedIn ? location.assign(localPath(query["next"])) : setMailed(true)),
  });
  return (
    <EntryCard title="Sign in">
      {isMailed && <TooManyTries />}
      <EntryForm action={signIn} verb="Sign in" reasonOf={signInProblem} onSubmit={() => signIn.run(texts)}>
        <EmailField {...field("email", signIn.error)} />
        <PasswordField {...field("password", signIn.error)} />
      </EntryForm>
      <p class="entry-links">
        <a href="/dashboard/forgot">Forgot password?</a>
        {options.data?.signUp === "open" && <a href="/dashboard/sign-up">Create an account</a>}
      </p>
    </EntryCard>
  );
}

export function ForgotPage() {
  const { texts, field } = useTexts({ email: "" });
  const [mailedTo, setMailedTo] = useState<string>();
  const ask = useAction((body: ForgotBody) => api.post<MailedAnswer>("/forgot", body), {
    onDone: () => setMailedTo(texts.email),
  });
  return (
    <EntryCard title="Forgot password">
      {mailedTo === undefined ? (
        <EntryForm action={ask} verb="Send a link" onSubmit={() => ask.run(texts)}>
          <EmailField {...field("email", ask.error)} />
        </EntryForm>
      ) : (
        <p role="status">
          If <strong>{mailedTo}</strong> belongs to somebody here, a link to a new password is on its way.
        </p>
      )}
      <p class="entry-links">
        <a href="/dashboard/sign-in">Sign in</a>
      </p>
    </EntryCard>
  );
}

export function SignUpPage() {
  const { texts, field } = useTexts({ name: "", email: "", password: "" });
  const [mailedTo, setMailedTo] = useState<string>();
  const options = useQuery<EntryOptions>("/sign-in", { staleMs: 60_000 });
  const signUp = useAction((body: SignUpBody) => api.post<MailedAnswer>("/sign-up", body), {
    onDone: () => setMailedTo(texts.email),
  });
  if (mailedTo !== undefined) return <Mailed email={mailedTo} />;
  if (options.data?.signUp === "invited") return <Invited />;
  return (
    <EntryCard title="Create an account">
      <EntryForm action={signUp} verb="Create account" onSubmit={() => signUp.run(texts)}>
        <NameField {...field("name", signUp.error)} />
        <EmailField {...field("email", signUp.error)} />
        <NewPasswordField {...field("password", signUp.error)} />
      </EntryForm>
      <p class="entry-links">
        <a href="/dashboard/sign-in">Sign in instead</a>
      </p>
    </EntryCard>
  );
}

function Mailed({ email }: { email: string }) {
  return (
    <EntryCard title="Look into your mail">
      <p role="status">
        A link is on its way to <strong>{email}</strong>. It proves the address and signs you in.
      </p>
      <p class="entry-links">
        <a href="/dashboard/sign-in">Sign in</a>
      </p>
    </EntryCard>
  );
}

function Invited() {
  return (
    <EntryCard title="By invitation only">
      <p>An owner of an account can invite you: the mail has a link.</p>
      <p class="entry-links">
        <a href="/dashboard/sign-in">Sign in</a>
      </p>
    </EntryCard>
  );
}

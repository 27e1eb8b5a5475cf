import "./session.css";
import { useState } from "preact/hooks";
import type { EntryOptions, MailedAnswer, SignUpBody } from "../../src/session/session.schema.js";
import { api } from "../data/api.js";
import { useAction, useQuery } from "../data/query.js";
import { EntryCard } from "./entry-card.js";
import { EmailField, EntryForm, NameField, NewPasswordField } from "./entry-form.js";

export function SignUpPage() {
  const [name, setName] = useState("");
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [mailedTo, setMailedTo] = useState<string>();
  const options = useQuery<EntryOptions>("/sign-in", { staleMs: 60_000 });
  const signUp = useAction((body: SignUpBody) => api.post<MailedAnswer>("/sign-up", body));
  const errors = signUp.error?.fields ?? {};
  const submit = async () => {
    if (await signUp.run({ name, email, password })) setMailedTo(email);
  };
  if (mailedTo !== undefined) return <Mailed email={mailedTo} />;
  if (options.data?.signUp === "invited") return <Invited />;
  return (
    <EntryCard title="Create an account">
      <EntryForm action={signUp} verb="Create account" onSubmit={submit}>
        <NameField value={name} onValue={setName} error={errors["name"]} />
        <EmailField value={email} onValue={setEmail} error={errors["email"]} />
        <NewPasswordField value={password} onValue={setPassword} error={errors["password"]} />
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

import "./session.css";
import { useState } from "preact/hooks";
import type { EntryOptions, MailedAnswer, SignUpBody } from "../../src/session/session.schema.js";
import { api } from "../data/api.js";
import { useAction, useQuery } from "../data/query.js";
import { Button } from "../ui/button.js";
import { TextField } from "../ui/field.js";
import { EntryCard, FormError } from "./entry-card.js";
import { hasFields } from "./sign-in-page.js";

export function SignUpPage() {
  const [name, setName] = useState("");
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [mailedTo, setMailedTo] = useState<string>();
  const options = useQuery<EntryOptions>("/sign-in", { staleMs: 60_000 });
  const signUp = useAction((body: SignUpBody) => api.post<MailedAnswer>("/sign-up", body));
  const submit = async () => {
    if (await signUp.run({ name, email, password })) setMailedTo(email);
  };
  if (mailedTo !== undefined) return <Mailed email={mailedTo} />;
  if (options.data?.signUp === "invited") return <Invited />;
  return (
    <EntryCard title="Create an account">
      <form
        method="post"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        {signUp.error && !hasFields(signUp.error) && <FormError>{signUp.error.message}</FormError>}
        <TextField
          label="Name"
          name="name"
          autocomplete="name"
          required
          maxlength={100}
          value={name}
          onValue={setName}
          error={signUp.error?.fields["name"]}
        />
        <TextField
          label="Email"
          type="email"
          name="email"
          autocomplete="username"
          required
          value={email}
          onValue={setEmail}
          error={signUp.error?.fields["email"]}
        />
        <TextField
          label="Password"
          type="password"
          name="password"
          autocomplete="new-password"
          required
          hint="10 characters or more"
          value={password}
          onValue={setPassword}
          error={signUp.error?.fields["password"]}
        />
        <Button type="submit" look="main" isBusy={signUp.isBusy}>
          Create account
        </Button>
      </form>
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

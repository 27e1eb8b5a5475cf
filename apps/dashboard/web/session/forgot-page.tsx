import "./session.css";
import { useState } from "preact/hooks";
import type { ForgotBody, MailedAnswer } from "../../src/session/session.schema.js";
import { api } from "../data/api.js";
import { useAction } from "../data/query.js";
import { EntryCard } from "./entry-card.js";
import { EmailField, EntryForm } from "./entry-form.js";

export function ForgotPage() {
  const [email, setEmail] = useState("");
  const [mailedTo, setMailedTo] = useState<string>();
  const ask = useAction((body: ForgotBody) => api.post<MailedAnswer>("/forgot", body));
  const submit = async () => {
    if (await ask.run({ email })) setMailedTo(email);
  };
  return (
    <EntryCard title="Forgot password">
      {mailedTo === undefined ? (
        <EntryForm action={ask} verb="Send a link" onSubmit={submit}>
          <EmailField value={email} onValue={setEmail} error={ask.error?.fields["email"]} />
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

import "./session.css";
import { useState } from "preact/hooks";
import type { ForgotBody, MailedAnswer } from "../../src/session/session.schema.js";
import { api } from "../data/api.js";
import { useAction } from "../data/query.js";
import { Button } from "../ui/button.js";
import { TextField } from "../ui/field.js";
import { EntryCard, FormError } from "./entry-card.js";
import { hasFields } from "./sign-in-page.js";

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
        <form
          method="post"
          onSubmit={(event) => {
            event.preventDefault();
            void submit();
          }}
        >
          {ask.error && !hasFields(ask.error) && <FormError>{ask.error.message}</FormError>}
          <TextField
            label="Email"
            type="email"
            name="email"
            autocomplete="username"
            required
            value={email}
            onValue={setEmail}
            error={ask.error?.fields["email"]}
          />
          <Button type="submit" look="main" isBusy={ask.isBusy}>
            Send a link
          </Button>
        </form>
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

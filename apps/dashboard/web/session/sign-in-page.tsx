import "./session.css";
import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import type { EntryOptions, SignInAnswer, SignInBody } from "../../src/session/session.schema.js";
import { type ApiError, api } from "../data/api.js";
import { localPath } from "../data/paths.js";
import { useAction, useQuery } from "../data/query.js";
import { TextField } from "../ui/field.js";
import { Banner } from "../ui/states.js";
import { EntryCard } from "./entry-card.js";
import { EmailField, EntryForm } from "./entry-form.js";

export function SignInPage() {
  const { query } = useLocation();
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const options = useQuery<EntryOptions>("/sign-in", { staleMs: 60_000 });
  const [isMailed, setMailed] = useState(false);
  const signIn = useAction((body: SignInBody) => api.post<SignInAnswer>("/sign-in", body));
  const submit = async () => {
    const answer = await signIn.run({ email, password });
    if (answer?.isSignedIn) location.assign(localPath(query["next"]));
    else if (answer) setMailed(true);
  };
  return (
    <EntryCard title="Sign in">
      {isMailed && (
        <Banner tone="warning">
          Too many tries for this address. If the password was right, a mail with a link is on its way.
        </Banner>
      )}
      <EntryForm action={signIn} verb="Sign in" reasonOf={reasonOf} onSubmit={submit}>
        <EmailField value={email} onValue={setEmail} error={signIn.error?.fields["email"]} />
        <TextField
          label="Password"
          type="password"
          name="password"
          autocomplete="current-password"
          required
          value={password}
          onValue={setPassword}
          error={signIn.error?.fields["password"]}
        />
      </EntryForm>
      <p class="entry-links">
        <a href="/dashboard/forgot">Forgot password?</a>
        {options.data?.signUp === "open" && <a href="/dashboard/sign-up">Create an account</a>}
      </p>
    </EntryCard>
  );
}

function reasonOf({ status, details }: ApiError): string | undefined {
  if (status === 401) return "Email or password is wrong.";
  if (status !== 429) return undefined;
  if (details["retry_after"] === undefined) return "Many sign in from here at this moment. Try again.";
  return "Too many tries. Wait 15 minutes, or use “Forgot password?”.";
}

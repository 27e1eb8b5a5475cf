import "./session.css";
import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import type { EntryOptions, SignInAnswer, SignInBody } from "../../src/session/session.schema.js";
import { api } from "../data/api.js";
import { localPath } from "../data/paths.js";
import { useAction, useQuery } from "../data/query.js";
import { EntryCard } from "./entry-card.js";
import { EmailField, EntryForm, PasswordField, signInProblem, TooManyTries } from "./entry-form.js";

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
      {isMailed && <TooManyTries />}
      <EntryForm action={signIn} verb="Sign in" reasonOf={signInProblem} onSubmit={submit}>
        <EmailField value={email} onValue={setEmail} error={signIn.error?.fields["email"]} />
        <PasswordField value={password} onValue={setPassword} error={signIn.error?.fields["password"]} />
      </EntryForm>
      <p class="entry-links">
        <a href="/dashboard/forgot">Forgot password?</a>
        {options.data?.signUp === "open" && <a href="/dashboard/sign-up">Create an account</a>}
      </p>
    </EntryCard>
  );
}

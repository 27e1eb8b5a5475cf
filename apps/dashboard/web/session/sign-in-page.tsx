import "./session.css";
import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import type { EntryOptions, SignInAnswer, SignInBody } from "../../src/session/session.schema.js";
import { type ApiError, api } from "../data/api.js";
import { localPath } from "../data/paths.js";
import { useAction, useQuery } from "../data/query.js";
import { Button } from "../ui/button.js";
import { TextField } from "../ui/field.js";
import { Banner } from "../ui/states.js";
import { EntryCard, FormError } from "./entry-card.js";

export function SignInPage() {
  const { query } = useLocation();
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const options = useQuery<EntryOptions>("/sign-in", { staleMs: 60_000 });
  const [isMailed, setMailed] = useState(false);
  const signIn = useAction((body: SignInBody) => api.post<SignInAnswer>("/sign-in", body));
  const next = query["next"];
  const submit = async () => {
    const answer = await signIn.run({ email, password });
    if (answer?.isSignedIn) location.assign(localPath(next));
    else if (answer) setMailed(true);
  };
  return (
    <EntryCard title="Sign in">
      {isMailed && (
        <Banner tone="warning">
          Too many tries for this address. If the password was right, a mail with a link is on its way.
        </Banner>
      )}
      <form
        method="post"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        {signIn.error && !hasFields(signIn.error) && <FormError>{reasonOf(signIn.error)}</FormError>}
        <TextField
          label="Email"
          type="email"
          name="email"
          autocomplete="username"
          required
          value={email}
          onValue={setEmail}
          error={signIn.error?.fields["email"]}
        />
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
        <Button type="submit" look="main" isBusy={signIn.isBusy}>
          Sign in
        </Button>
      </form>
      <p class="entry-links">
        <a href="/dashboard/forgot">Forgot password?</a>
        {options.data?.signUp === "open" && <a href="/dashboard/sign-up">Create an account</a>}
      </p>
    </EntryCard>
  );
}

export function hasFields(error: ApiError): boolean {
  return Object.keys(error.fields).length > 0;
}

function reasonOf(error: ApiError): string {
  if (error.status === 401) return "Email or password is wrong.";
  if (error.status === 429) return "Too many tries. Wait 15 minutes, or use “Forgot password?”.";
  return error.message;
}

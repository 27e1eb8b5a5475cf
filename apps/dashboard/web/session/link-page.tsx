import "./session.css";
import { useState } from "preact/hooks";
import { useLocation, useRoute } from "preact-iso";
import type { LinkInfo, LinkPurpose, UseLinkAnswer, UseLinkBody } from "../../src/session/session.schema.js";
import { type ApiError, api } from "../data/api.js";
import { localPath } from "../data/paths.js";
import { useAction, useQuery } from "../data/query.js";
import { Button } from "../ui/button.js";
import { TextField } from "../ui/field.js";
import { ErrorNote, Skeleton } from "../ui/states.js";
import { EntryCard, FormError } from "./entry-card.js";
import { hasFields } from "./sign-in-page.js";

const titles: Readonly<Record<LinkPurpose, string>> = {
  verify: "Prove your address",
  reset: "Set a new password",
  invite: "Accept the invitation",
  sign_in: "Sign in",
};

/** A one-time link. It is used at a click, so that previews of mails use nothing up. */
export function LinkPage() {
  const token = useRoute().params["token"] ?? "";
  const link = useQuery<LinkInfo>(`/link?token=${encodeURIComponent(token)}`, { staleMs: Number.POSITIVE_INFINITY });
  if (link.data) return <UseLink token={token} link={link.data} />;
  if (link.error?.isAway) {
    return (
      <EntryCard title="One moment">
        <ErrorNote error={link.error} />
      </EntryCard>
    );
  }
  if (link.error) return <DeadLink error={link.error} />;
  return (
    <EntryCard title="Your link">
      <Skeleton rows={2} />
    </EntryCard>
  );
}

function UseLink({ token, link }: { token: string; link: LinkInfo }) {
  const { query } = useLocation();
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const use = useAction((body: UseLinkBody) => api.post<UseLinkAnswer>("/link", body));
  const submit = async () => {
    const body = { token, ...(link.needsName ? { name } : {}), ...(link.needsPassword ? { password } : {}) };
    if (await use.run(body)) location.replace(localPath(query["next"]));
  };
  if (use.error?.status === 410) return <DeadLink error={use.error} />;
  return (
    <EntryCard title={titles[link.purpose]}>
      <form
        method="post"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <p class="field">{sentenceOf(link)}</p>
        {use.error && !hasFields(use.error) && <FormError>{use.error.message}</FormError>}
        {link.needsName && (
          <TextField
            label="Name"
            name="name"
            autocomplete="name"
            required
            maxlength={100}
            value={name}
            onValue={setName}
            error={use.error?.fields["name"]}
          />
        )}
        {link.needsPassword && (
          <>
            <input
              class="sr-only"
              type="email"
              autocomplete="username"
              value={link.email}
              readOnly
              tabIndex={-1}
              aria-hidden="true"
            />
            <TextField
              label={link.purpose === "reset" ? "New password" : "Password"}
              type="password"
              name="password"
              autocomplete="new-password"
              required
              hint="10 characters or more"
              value={password}
              onValue={setPassword}
              error={use.error?.fields["password"]}
            />
          </>
        )}
        <Button type="submit" look="main" isBusy={use.isBusy}>
          Continue
        </Button>
      </form>
    </EntryCard>
  );
}

function sentenceOf({ purpose, email, accountName }: LinkInfo): string {
  if (purpose === "invite") return `${email} joins ${accountName ?? "the account"}.`;
  if (purpose === "sign_in" && accountName !== null) return `This signs you in to ${accountName} as ${email}.`;
  return `This signs you in as ${email}.`;
}

function DeadLink({ error }: { error: ApiError }) {
  const isUsed = error.status === 410 || error.status === 404 || error.status === 400;
  return (
    <EntryCard title="This link does not work">
      <p>{isUsed ? "It was used already, or its time is over. Links work once." : error.message}</p>
      <p class="entry-links">
        <a href="/dashboard/sign-in">Sign in</a>
        <a href="/dashboard/forgot">Send a new link</a>
      </p>
    </EntryCard>
  );
}

import "./session.css";
import { useLocation, useRoute } from "preact-iso";
import type { LinkInfo, SignInAnswer, UseLinkAnswer, UseLinkBody } from "../../src/session/session.schema.js";
import { type ApiError, api } from "../data/api.js";
import { localPath } from "../data/paths.js";
import { useQuery } from "../data/query.js";
import { useForm } from "../ui/form.js";
import { ErrorNote, Skeleton } from "../ui/page.js";
import {
  CodeField,
  EntryCard,
  EntryForm,
  NameField,
  NewPasswordField,
  PasswordField,
  PasswordOwner,
  signInProblem,
  TooManyTries,
} from "./entry-parts.js";

const titles: Readonly<Record<LinkInfo["purpose"], string>> = {
  verify: "Prove your address",
  reset: "Set a new password",
  invite: "Accept the invitation",
  sign_in: "Sign in",
  channel: "Get alerts here",
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

const none = { name: "", password: "", code: "" };

function UseLink({ token, link }: { token: string; link: LinkInfo }) {
  const { query } = useLocation();
  const use = async ({ name, password, code: typed }: typeof none) => {
    const code = typed === "" ? {} : { code: typed };
    if (link.needsSignIn) {
      const answer = await api.post<SignInAnswer>("/sign-in", { email: link.email, password, ...code });
      if (!answer.isSignedIn) return answer;
    }
    const given = { ...(link.needsName && { name }), ...(link.needsPassword && { password }) };
    const body: UseLinkBody = { token, ...given, ...(link.needsCode && code) };
    return api.post<UseLinkAnswer>("/link", body);
  };
  const form = useForm(none, use, {
    onDone: ({ isSignedIn }) => isSignedIn && location.replace(localPath(query["next"])),
  });
  const { output } = form;
  const waiting = output && !("purpose" in output) ? output : undefined;
  const isMailed = waiting?.needsCode === undefined && waiting !== undefined;
  if (form.error?.status === 410) return <DeadLink error={form.error} />;
  if (output && !waiting && !output.isSignedIn) {
    return (
      <EntryCard title="The address is confirmed">
        <p>{link.email} gets the alerts from now on. An owner of the account can end that.</p>
      </EntryCard>
    );
  }
  return (
    <EntryCard title={titles[link.purpose]}>
      {isMailed && <TooManyTries />}
      <EntryForm form={form} verb={link.needsSignIn ? "Sign in and join" : "Continue"} reasonOf={signInProblem}>
        <p class="field">{sentenceOf(link)}</p>
        {link.needsName && <NameField {...form.field("name")} />}
        {link.needsSignIn && (
          <>
            <PasswordOwner email={link.email} />
            <PasswordField {...form.field("password")} />
          </>
        )}
        {(link.needsCode || waiting?.needsCode) && <CodeField {...form.field("code")} />}
        {link.needsPassword && (
          <>
            <PasswordOwner email={link.email} />
            <NewPasswordField
              label={link.purpose === "reset" ? "New password" : "Password"}
              {...form.field("password")}
            />
          </>
        )}
      </EntryForm>
    </EntryCard>
  );
}

function sentenceOf({ purpose, email, accountName, inviter, needsPassword, needsSignIn }: LinkInfo): string {
  if (purpose === "invite") {
    const invitation = `${inviter ?? "An owner"} invites ${email} to ${accountName ?? "the account"}.`;
    return needsSignIn ? `${invitation} Sign in to join; a new password would end this invitation.` : invitation;
  }
  if (purpose === "channel") return `Alerts of ${accountName ?? "the account"} go to ${email}.`;
  if (purpose === "sign_in" && accountName !== null) return `This signs you in to ${accountName} as ${email}.`;
  if (purpose !== "verify" || !needsPassword) return `This signs you in as ${email}.`;
  return `Choose a password: the sign-up of ${email} came from another browser, so its password does not count.`;
}

function DeadLink({ error }: { error: ApiError }) {
  const isUsed = error.status === 410 || error.status === 404 || error.status === 400;
  return (
    <EntryCard title="This link does not work">
      <p>{isUsed ? "It was used already, or its time is over. Links work once." : error.message}</p>
      <p class="row entry-links">
        <a href="/dashboard/sign-in">Sign in</a>
        <a href="/dashboard/forgot">Send a new link</a>
      </p>
    </EntryCard>
  );
}

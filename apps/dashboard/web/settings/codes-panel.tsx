import type { OfferedCodes, RecoveryCodes } from "../../src/session/codes.route.js";
import type { Me } from "../../src/session/me.route.js";
import { api } from "../data/api.js";
import { invalidate } from "../data/query.js";
import { CodeField, PasswordField, PasswordOwner } from "../session/entry-parts.js";
import { CopyField, SecretDialog } from "../ui/copy-button.js";
import { DialogButton } from "../ui/dialog.js";
import { FormDialog, useForm } from "../ui/form.js";
import { formatThings } from "../ui/format.js";
import { Panel } from "../ui/page.js";

type Person = Me["person"];

interface CodesProps {
  person: Person;
  onClose(): void;
}

/** One-time codes of an app, asked for after the password. */
export function CodesPanel({ person }: { person: Person }) {
  const { recoveryCodes, hasPassword } = person;
  if (recoveryCodes !== null) {
    return (
      <Panel title="One-time codes">
        <p class="field">
          On: signing in with the password also asks for a code. {formatThings(recoveryCodes, "recovery code")} left.
        </p>
        <DialogButton text="Turn off codes" dialog={(close) => <TurnOff person={person} onClose={close} />} />
      </Panel>
    );
  }
  return (
    <Panel title="One-time codes">
      <p class="field">
        {hasPassword
          ? "An app on your phone makes a code every 30 seconds, and signing in asks for one after the password."
          : "Codes come after a password. Set one first."}
      </p>
      {hasPassword && (
        <DialogButton text="Turn on codes" dialog={(close) => <TurnOn person={person} onClose={close} />} />
      )}
    </Panel>
  );
}

function TurnOn({ person, onClose }: CodesProps) {
  const offer = (body: { password: string }) => api.post<OfferedCodes>("/me/codes", body);
  const form = useForm({ password: "" }, offer, { refusalAt: "password" });
  if (form.output) return <FirstCode offered={form.output} onClose={onClose} />;
  return (
    <FormDialog title="Turn on one-time codes" verb="Continue" form={form} onClose={onClose}>
      <PasswordOwner email={person.email} />
      <PasswordField {...form.field("password")} />
    </FormDialog>
  );
}

function FirstCode({ offered, onClose }: { offered: OfferedCodes; onClose(): void }) {
  const form = useForm({ code: "" }, (body) => api.put<RecoveryCodes>("/me/codes", body), { refusalAt: "code" });
  if (form.output) return <Recovery codes={form.output.recoveryCodes} onClose={onClose} />;
  return (
    <FormDialog title="Add the secret to your app" verb="Turn on" form={form} onClose={onClose}>
      <CopyField label="Secret" value={offered.secret} />
      <p class="field">
        <a href={offered.url}>Open in an app on this device</a>
      </p>
      <CodeField hint="The app shows it for 30 seconds" {...form.field("code")} />
    </FormDialog>
  );
}

function Recovery({ codes, onClose }: { codes: readonly string[]; onClose(): void }) {
  const close = () => {
    invalidate("/me", "/audit");
    onClose();
  };
  return (
    <SecretDialog
      title="Codes are on"
      label="Recovery codes"
      secret={codes.join(" ")}
      hint="Each signs you in once without your app. Waymark stores only hashes and cannot show them again."
      warning="Copied? Without your app and these codes, only who runs this installation can let you in. “Done” closes it anyway."
      onClose={close}
    />
  );
}

function TurnOff({ person, onClose }: CodesProps) {
  const off = (body: { password: string; code: string }) => api.post("/me/codes/off", body);
  const options = {
    invalidates: ["/me", "/audit"],
    says: "Codes are off",
    refusalAt: "code",
    onDone: onClose,
  } as const;
  const form = useForm({ password: "", code: "" }, off, options);
  return (
    <FormDialog title="Turn off one-time codes" verb="Turn off" look="danger" form={form} onClose={onClose}>
      <PasswordOwner email={person.email} />
      <PasswordField {...form.field("password")} />
      <CodeField {...form.field("code")} />
    </FormDialog>
  );
}

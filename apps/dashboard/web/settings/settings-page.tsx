import { useState } from "preact/hooks";
import type { Me, SessionList } from "../../src/session/me.route.js";
import type { ChangePasswordBody } from "../../src/session/session.schema.js";
import { api } from "../data/api.js";
import { useAction, useMe, useQuery } from "../data/query.js";
import { NewPasswordField, PasswordOwner } from "../session/entry-parts.js";
import { Ago } from "../ui/ago.js";
import { RunButton } from "../ui/button.js";
import { Select } from "../ui/choices.js";
import { Form, NameForm, Radios, TextField, useForm } from "../ui/form.js";
import { ActionError, Banner, ErrorNote, Loaded, Page, Panel } from "../ui/page.js";
import { browserZone, readTheme, setTheme, setZone, type Theme, zone } from "../ui/preferences.js";
import { actionsColumn, type Column, Table } from "../ui/table.js";
import { CodesPanel } from "./codes-panel.js";
import { PasskeysPanel } from "./passkeys-panel.js";

const themes = [
  { value: "system", label: "As the system" },
  { value: "light", label: "Light" },
  { value: "dark", label: "Dark" },
] as const;

export function SettingsPage() {
  const me = useMe();
  return (
    <Page title="Settings">
      <Loaded of={me}>{(loaded) => <Panels me={loaded} />}</Loaded>
    </Page>
  );
}

function Panels({ me }: { me: Me }) {
  const [theme, choose] = useState(readTheme);
  const chooseTheme = (value: Theme) => {
    setTheme(value);
    choose(value);
  };
  return (
    <>
      <Panel title="You">
        <NameForm
          path="/me"
          name={me.person.name}
          maxlength={100}
          autocomplete="name"
          invalidates={["/me", "/people"]}
          hint={me.person.email}
        />
      </Panel>
      {me.role === "owner" && (
        <Panel title="Account">
          <NameForm
            label="Account name"
            path="/account"
            name={me.account.name}
            maxlength={100}
            invalidates={["/me"]}
            hint={`Mails about failed traces go to ${me.account.email}.`}
          />
        </Panel>
      )}
      <Panel title="Password">
        <PasswordForm hasPassword={me.person.hasPassword} email={me.person.email} />
      </Panel>
      <CodesPanel person={me.person} />
      <PasskeysPanel person={me.person} />
      <SessionsPanel />
      <Panel title="Appearance">
        <Radios label="Theme" value={theme} choices={themes} onValue={chooseTheme} />
        <ZoneChoice />
        <p class="hint">Days of statistics, failures, costs and agents' figures are UTC days.</p>
      </Panel>
    </>
  );
}

function ZoneChoice() {
  const [zones] = useState(() => Intl.supportedValuesOf("timeZone").filter((name) => name !== "UTC"));
  const chosen = zone.value;
  const isOther = chosen !== "browser" && chosen !== "UTC";
  const names = isOther && !zones.includes(chosen) ? [chosen, ...zones] : zones;
  const firstOther = () => zones.find((name) => name === browserZone()) ?? names[0] ?? "UTC";
  return (
    <>
      <Radios
        label="Times"
        value={isOther ? "other" : chosen}
        choices={[
          { value: "browser", label: `The browser's zone (${browserZone()})` },
          { value: "UTC", label: "UTC" },
          { value: "other", label: "Another zone" },
        ]}
        onValue={(choice) => setZone(choice === "other" ? firstOther() : choice)}
      />
      {isOther && (
        <p class="field">
          <Select
            label="Zone of times"
            value={chosen}
            choices={names.map((name) => ({ value: name, label: name }))}
            onValue={setZone}
          />
        </p>
      )}
    </>
  );
}

function PasswordForm({ hasPassword, email }: { hasPassword: boolean; email: string }) {
  const none = { current: "", password: "" };
  const [isChanged, setChanged] = useState(false);
  const change = ({ current, password }: typeof none) => {
    setChanged(false);
    const body: ChangePasswordBody = hasPassword ? { current, password } : { password };
    return api.post("/me/password", body);
  };
  const form = useForm(none, change, {
    invalidates: ["/me"],
    refusalAt: "password",
    onDone: () => {
      form.setValues(none);
      setChanged(true);
    },
  });
  return (
    <Form class="narrow-form" verb={hasPassword ? "Change password" : "Set password"} form={form}>
      {isChanged && <Banner>The password is changed. Your other sessions ended.</Banner>}
      <PasswordOwner email={email} />
      {hasPassword && (
        <TextField
          label="Current password"
          type="password"
          autocomplete="current-password"
          required
          {...form.field("current")}
        />
      )}
      <NewPasswordField label="New password" {...form.field("password")} />
    </Form>
  );
}

function SessionsPanel() {
  const sessions = useQuery<SessionList>("/me/sessions");
  const end = useAction((id: string) => api.delete(`/me/sessions${id === "others" ? "" : `/${id}`}`), {
    invalidates: ["/me/sessions"],
  });
  const listed = sessions.data?.sessions ?? [];
  const actions = listed.length > 1 && <RunButton text="End all others" of={end} with="others" />;
  const columns: readonly Column<(typeof listed)[number]>[] = [
    { text: "Browser", cell: ({ client }) => client },
    { text: "Signed in", cell: ({ createdAt }) => <Ago iso={createdAt} /> },
    { text: "Last used", cell: ({ isCurrent, seenAt }) => (isCurrent ? "This one" : <Ago iso={seenAt} />) },
    { ...actionsColumn, cell: ({ id, isCurrent }) => !isCurrent && <RunButton text="End" of={end} with={id} /> },
  ];
  return (
    <Panel title="Sessions" isFlush actions={actions}>
      {sessions.error && !sessions.data && <ErrorNote error={sessions.error} onRetry={sessions.refetch} />}
      <ActionError of={end} />
      <Table name="Sessions" columns={columns} rows={listed} />
    </Panel>
  );
}

import { useState } from "preact/hooks";
import type { Me, SessionList } from "../../src/session/me.route.js";
import type { ChangePasswordBody } from "../../src/session/session.schema.js";
import { api } from "../data/api.js";
import { useAction, useMe, useQuery } from "../data/query.js";
import { NewPasswordField, PasswordOwner } from "../session/entry-parts.js";
import { Ago } from "../ui/ago.js";
import { Button } from "../ui/button.js";
import { Form, NameForm, Radios, TextField, useTexts } from "../ui/form.js";
import { Banner, ErrorNote, Page, Panel, Waiting } from "../ui/page.js";
import { browserZone, readTheme, setTheme, setZone, type Theme, zone } from "../ui/preferences.js";
import { actionsColumn, Table } from "../ui/table.js";

const themes = [
  { value: "system", label: "As the system" },
  { value: "light", label: "Light" },
  { value: "dark", label: "Dark" },
] as const;

/** The person's own name, password, sessions, theme and zone; an owner names the account here, too. */
export function SettingsPage() {
  const me = useMe();
  return (
    <Page title="Settings">
      <Waiting of={me} />
      {me.data && <Panels me={me.data} />}
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
      <SessionsPanel />
      <Panel title="Appearance">
        <Radios label="Theme" value={theme} choices={themes} onValue={chooseTheme} />
        <Radios
          label="Times"
          value={zone.value}
          choices={[
            { value: "browser", label: `The browser's zone (${browserZone()})` },
            { value: "UTC", label: "UTC" },
          ]}
          onValue={setZone}
        />
        <p class="hint">Days of statistics, failures, costs and agents' figures are UTC days.</p>
      </Panel>
    </>
  );
}

/** Sets a new password; the other sessions end. */
function PasswordForm({ hasPassword, email }: { hasPassword: boolean; email: string }) {
  const none = { current: "", password: "" };
  const { texts, field, setTexts } = useTexts(none, "password");
  const [isChanged, setChanged] = useState(false);
  const change = useAction((body: ChangePasswordBody) => api.post("/me/password", body), {
    invalidates: ["/me"],
    onDone: () => {
      setTexts(none);
      setChanged(true);
    },
  });
  const submit = () => {
    setChanged(false);
    change.run(hasPassword ? texts : { password: texts.password });
  };
  const verb = hasPassword ? "Change password" : "Set password";
  return (
    <Form class="narrow-form" verb={verb} action={change} onSubmit={submit}>
      {isChanged && <Banner>The password is changed. Your other sessions ended.</Banner>}
      <PasswordOwner email={email} />
      {hasPassword && (
        <TextField
          label="Current password"
          type="password"
          autocomplete="current-password"
          required
          {...field("current", change.error)}
        />
      )}
      <NewPasswordField label="New password" {...field("password", change.error)} />
    </Form>
  );
}

/** Where the person is signed in, each with "End". */
function SessionsPanel() {
  const sessions = useQuery<SessionList>("/me/sessions");
  const end = useAction((id: string) => api.delete(`/me/sessions${id === "others" ? "" : `/${id}`}`), {
    invalidates: ["/me/sessions"],
  });
  const listed = sessions.data?.sessions ?? [];
  const actions = listed.length > 1 && (
    <Button isBusy={end.isBusy} onClick={() => end.run("others")}>
      End all others
    </Button>
  );
  return (
    <Panel title="Sessions" isFlush actions={actions}>
      {sessions.error && !sessions.data && <ErrorNote error={sessions.error} onRetry={sessions.refetch} />}
      {end.error && <Banner tone="error">{end.error.message}</Banner>}
      <Table name="Sessions" columns={["Browser", "Signed in", "Last used", actionsColumn]}>
        {listed.map(({ id, client, createdAt, seenAt, isCurrent }) => (
          <tr key={id}>
            <th scope="row">{client}</th>
            <td>
              <Ago iso={createdAt} />
            </td>
            <td>{isCurrent ? "This one" : <Ago iso={seenAt} />}</td>
            <td class="is-action">
              {!isCurrent && (
                <Button isBusy={end.isBusy} onClick={() => end.run(id)}>
                  End
                </Button>
              )}
            </td>
          </tr>
        ))}
      </Table>
    </Panel>
  );
}

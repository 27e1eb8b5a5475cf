import { useState } from "preact/hooks";
import type { Me } from "../../src/session/me.route.js";
import { useMe } from "../data/me.js";
import { Radios } from "../ui/field.js";
import { NameForm } from "../ui/name-form.js";
import { Page } from "../ui/page.js";
import { Panel } from "../ui/panel.js";
import { ErrorNote, Skeleton } from "../ui/states.js";
import { readTheme, setTheme, type Theme } from "../ui/theme.js";
import { browserZone, setZone, zone } from "../ui/zone.js";
import { PasswordForm } from "./password-form.js";
import { SessionsPanel } from "./sessions-panel.js";

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
      {me.error && !me.data && <ErrorNote error={me.error} onRetry={me.refetch} />}
      {me.isLoading && <Skeleton />}
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

import { useState } from "preact/hooks";
import type { Me } from "../../src/session/me.route.js";
import type { SwitchAccountBody } from "../../src/session/session.schema.js";
import { api } from "../data/api.js";
import { announce } from "../ui/announce.js";
import { Menu, MenuChoice, MenuItem } from "../ui/menu.js";
import { readTheme, setTheme, type Theme } from "../ui/theme.js";

const themes: readonly { value: Theme; label: string }[] = [
  { value: "system", label: "System theme" },
  { value: "light", label: "Light theme" },
  { value: "dark", label: "Dark theme" },
];

export function AccountMenu({ me }: { me: Me | undefined }) {
  const [theme, choose] = useState(readTheme);
  return (
    <Menu label="Account menu" icon="person" look="quiet">
      {me && <div class="menu-label">{me.person.email}</div>}
      {me && me.accounts.length > 1 && <Accounts me={me} />}
      <MenuItem href="/dashboard/settings">Settings</MenuItem>
      <hr />
      {themes.map(({ value, label }) => (
        <MenuChoice
          key={value}
          isChecked={theme === value}
          onClick={() => {
            setTheme(value);
            choose(value);
          }}
        >
          {label}
        </MenuChoice>
      ))}
      <hr />
      <MenuItem onClick={() => void signOut()}>Sign out</MenuItem>
    </Menu>
  );
}

/** The person's accounts; another one loads the dashboard anew. */
function Accounts({ me }: { me: Me }) {
  return (
    <>
      {me.accounts.map(({ id, name }) => (
        <MenuChoice key={id} isChecked={id === me.account.id} onClick={() => void switchAccount({ accountId: id })}>
          {name}
        </MenuChoice>
      ))}
      <hr />
    </>
  );
}

async function switchAccount(body: SwitchAccountBody): Promise<void> {
  const error = await api.post("/me/account", body).catch((refusal: Error) => refusal);
  if (error instanceof Error) announce(error.message);
  else location.assign("/dashboard/");
}

/** Loads the sign-in page anew: nothing of the session stays in memory. */
async function signOut(): Promise<void> {
  await api.post("/sign-out").catch(() => undefined);
  location.assign("/dashboard/sign-in");
}

import { useState } from "preact/hooks";
import type { ChangeAccountBody } from "../../src/people/people.schema.js";
import type { ChangeMeBody } from "../../src/session/session.schema.js";
import { api } from "../data/api.js";
import { useAction } from "../data/query.js";
import { announce } from "../ui/announce.js";
import { Button } from "../ui/button.js";
import { TextField } from "../ui/field.js";

interface NameFormProps {
  label: string;
  path: "/me" | "/account";
  name: string;
  hint: string;
}

/** Changes the person's name or the account's. */
export function NameForm({ label, path, name, hint }: NameFormProps) {
  const [value, setValue] = useState(name);
  const save = useAction((body: ChangeMeBody & ChangeAccountBody) => api.patch(path, body).then(() => true), {
    invalidates: ["/me", "/people"],
  });
  const submit = async () => {
    if (await save.run({ name: value })) announce("Saved");
  };
  return (
    <form
      class="settings-form"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <TextField
        label={label}
        {...(path === "/me" ? { autocomplete: "name" as const } : {})}
        required
        maxlength={100}
        value={value}
        onValue={setValue}
        hint={hint}
        error={save.error && (save.error.fields["name"] ?? save.error.message)}
      />
      <Button type="submit" isBusy={save.isBusy}>
        Save
      </Button>
    </form>
  );
}

import { useState } from "preact/hooks";
import { api } from "../data/api.js";
import { useAction } from "../data/query.js";
import { announce } from "./announce.js";
import { TextField } from "./field.js";
import { Form } from "./form.js";

interface NameFormProps {
  label?: string;
  /** Takes a PATCH with `name`. */
  path: string;
  name: string;
  maxlength: number;
  invalidates: readonly string[];
  hint?: string;
  autocomplete?: "name" | "off";
}

/** Changes the name of a person, an account or a site. */
export function NameForm({ label = "Name", path, name, invalidates, autocomplete = "off", ...field }: NameFormProps) {
  const [value, setValue] = useState(name);
  const save = useAction(() => api.patch(path, { name: value }).then(() => true), { invalidates });
  const submit = async () => {
    if (await save.run()) announce("Saved");
  };
  return (
    <Form class="narrow-form" verb="Save" isBusy={save.isBusy} onSubmit={() => void submit()}>
      <TextField
        label={label}
        autocomplete={autocomplete}
        value={value}
        {...field}
        required
        onValue={setValue}
        error={save.error?.fields["name"] ?? save.error?.refusal}
      />
    </Form>
  );
}

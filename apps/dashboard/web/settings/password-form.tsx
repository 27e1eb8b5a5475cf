import { useState } from "preact/hooks";
import type { ChangePasswordBody } from "../../src/session/session.schema.js";
import { api } from "../data/api.js";
import { useAction } from "../data/query.js";
import { NewPasswordField, PasswordOwner } from "../session/entry-form.js";
import { TextField } from "../ui/field.js";
import { Form } from "../ui/form.js";
import { Banner } from "../ui/states.js";

/** Sets a new password; the other sessions end. */
export function PasswordForm({ hasPassword, email }: { hasPassword: boolean; email: string }) {
  const [current, setCurrent] = useState("");
  const [password, setPassword] = useState("");
  const [isChanged, setChanged] = useState(false);
  const change = useAction((body: ChangePasswordBody) => api.post("/me/password", body).then(() => true), {
    invalidates: ["/me"],
  });
  const submit = async () => {
    setChanged(false);
    if (!(await change.run(hasPassword ? { current, password } : { password }))) return;
    setCurrent("");
    setPassword("");
    setChanged(true);
  };
  const { fields = {}, refusal } = change.error ?? {};
  const verb = hasPassword ? "Change password" : "Set password";
  return (
    <Form class="narrow-form" verb={verb} isBusy={change.isBusy} onSubmit={() => void submit()}>
      {isChanged && <Banner>The password is changed. Your other sessions ended.</Banner>}
      <PasswordOwner email={email} />
      {hasPassword && (
        <TextField
          label="Current password"
          type="password"
          autocomplete="current-password"
          required
          value={current}
          onValue={setCurrent}
          error={fields["current"]}
        />
      )}
      <NewPasswordField
        label="New password"
        value={password}
        onValue={setPassword}
        error={fields["password"] ?? refusal}
      />
    </Form>
  );
}

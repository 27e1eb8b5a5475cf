import { useState } from "preact/hooks";
import type { Invitation, InvitePersonBody } from "../../src/people/people.route.js";
import { api } from "../data/api.js";
import { useAction } from "../data/query.js";
import { announce } from "../ui/announce.js";
import { Radios, TextField } from "../ui/field.js";
import { FormDialog } from "../ui/form.js";

const roles = [
  { value: "member", label: "Member", hint: "Sees everything, and makes keys and sites." },
  { value: "owner", label: "Owner", hint: "Also manages people, the plan and all keys, and deletes." },
] as const;

export function InviteDialog({ onClose }: { onClose(): void }) {
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<InvitePersonBody["role"]>("member");
  const invite = useAction((body: InvitePersonBody) => api.post<Invitation>("/people", body), {
    invalidates: ["/people", "/audit"],
  });
  const submit = async () => {
    if (!(await invite.run({ email, role }))) return;
    announce(`An invitation is on its way to ${email}`);
    onClose();
  };
  return (
    <FormDialog
      title="Invite somebody"
      verb="Send invitation"
      isBusy={invite.isBusy}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <TextField
        label="Email"
        type="email"
        autocomplete="off"
        required
        value={email}
        onValue={setEmail}
        hint="They get a link that works for 7 days."
        error={invite.error?.fields["email"] ?? invite.error?.refusal}
      />
      <Radios label="Role" value={role} choices={roles} onValue={(chosen) => setRole(chosen)} />
    </FormDialog>
  );
}

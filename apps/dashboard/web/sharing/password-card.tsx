import "../session/session.css";
import { api } from "../data/api.js";
import { EntryCard, EntryForm } from "../session/entry-parts.js";
import { TextField, useForm } from "../ui/form.js";

/** @param path of the link's data */
export function PasswordCard({ path }: { path: string }) {
  const send = (body: { password: string }) => api.post(`${path}/password`, body);
  const form = useForm({ password: "" }, send, { invalidates: [path], refusalAt: "password" });
  return (
    <EntryCard title="This link has a password">
      <EntryForm form={{ ...form, error: undefined }} verb="Open">
        <TextField label="Password" type="password" autocomplete="off" required {...form.field("password")} />
      </EntryForm>
    </EntryCard>
  );
}

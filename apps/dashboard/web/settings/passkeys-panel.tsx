import type { Me } from "../../src/session/me.route.js";
import type { PasskeyList } from "../../src/session/passkeys.route.js";
import { api } from "../data/api.js";
import { useQuery } from "../data/query.js";
import { PasswordField, PasswordOwner } from "../session/entry-parts.js";
import { addPasskey, hasPasskeys } from "../session/passkeys.js";
import { Ago } from "../ui/ago.js";
import { ConfirmButton, DialogButton } from "../ui/dialog.js";
import { FormDialog, TextField, useForm } from "../ui/form.js";
import { ErrorNote, Panel } from "../ui/page.js";
import { actionsColumn, type Column, Table } from "../ui/table.js";

interface PasskeysProps {
  person: Me["person"];
}

const invalidates = ["/me/passkeys", "/audit"];

const columns: readonly Column<PasskeyList["passkeys"][number]>[] = [
  { text: "Name", class: "is-stacked", cell: ({ name }) => name },
  { text: "Added", isWide: true, cell: ({ createdAt }) => <Ago iso={createdAt} /> },
  { text: "Last used", cell: ({ usedAt }) => (usedAt ? <Ago iso={usedAt} /> : <span class="soft">Never</span>) },
  {
    ...actionsColumn,
    cell: ({ id, name }) => (
      <ConfirmButton
        title={`Remove “${name}”?`}
        verb="Remove"
        work={() => api.delete(`/me/passkeys/${id}`)}
        invalidates={invalidates}
        says="Passkey removed"
      >
        <p>It signs in no more. Remove it on its device, too.</p>
      </ConfirmButton>
    ),
  },
];

/** Keys on a person's devices that sign in without the password. */
export function PasskeysPanel({ person }: PasskeysProps) {
  const list = useQuery<PasskeyList>("/me/passkeys");
  const passkeys = list.data?.passkeys ?? [];
  const add = hasPasskeys && (
    <DialogButton text="Add passkey" dialog={(close) => <AddDialog person={person} onClose={close} />} />
  );
  return (
    <Panel title="Passkeys" isFlush={passkeys.length > 0} actions={add}>
      {list.error && !list.data && <ErrorNote error={list.error} onRetry={list.refetch} />}
      {passkeys.length > 0 ? (
        <Table name="Passkeys" columns={columns} rows={passkeys} narrowPx={560} />
      ) : (
        <p>A passkey of your device or key signs you in by a touch or a glance, without password and code.</p>
      )}
    </Panel>
  );
}

function AddDialog({ person, onClose }: PasskeysProps & { onClose(): void }) {
  const options = { invalidates, says: "Passkey added", refusalAt: "name", onDone: onClose } as const;
  const form = useForm({ name: "", password: "" }, addPasskey, options);
  return (
    <FormDialog title="Add a passkey" verb="Continue" form={form} onClose={onClose}>
      <TextField
        label="Name"
        required
        maxlength={100}
        autocomplete="off"
        hint="Where it is kept, such as a phone."
        {...form.field("name")}
      />
      {person.hasPassword && (
        <>
          <PasswordOwner email={person.email} />
          <PasswordField {...form.field("password")} />
        </>
      )}
    </FormDialog>
  );
}

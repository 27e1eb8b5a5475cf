import { useState } from "preact/hooks";
import type { ViewBody, ViewList } from "../../src/views/views.route.js";
import { api } from "../data/api.js";
import { hasAnswer, useAction, useMayChange, useQuery } from "../data/query.js";
import { RunButton } from "../ui/button.js";
import { Dialog, DialogButton } from "../ui/dialog.js";
import { Checkbox, Form, NameForm, TextField, useForm } from "../ui/form.js";
import { Menu, MenuItem } from "../ui/menu.js";
import { ActionError } from "../ui/page.js";
import { columnNames } from "./columns.js";
import { type ColumnName, traceColumns } from "./traces-table.js";

interface ColumnsButtonProps {
  columns: readonly ColumnName[];
  onColumns(columns: readonly ColumnName[]): void;
}

export function ColumnsButton({ columns, onColumns }: ColumnsButtonProps) {
  const toggle = (name: ColumnName) =>
    onColumns(columnNames.filter((each) => columns.includes(each) !== (each === name)));
  const dialog = (close: () => void) => (
    <Dialog title="Columns" onClose={close}>
      <p class="hint">This browser keeps them for the account. A saved view has its own.</p>
      {columnNames.map((name) => (
        <Checkbox
          key={name}
          label={traceColumns[name].text}
          value={columns.includes(name)}
          onValue={() => toggle(name)}
        />
      ))}
    </Dialog>
  );
  return <DialogButton text="Columns" dialog={dialog} />;
}

const path = "/views";
const invalidates = [path];
const maxName = 80;

/** @param query the address of the present list, for a new view */
export function ViewsMenu({ query }: { query: string }) {
  const [isOpen, setOpen] = useState(false);
  const mayChange = useMayChange();
  // The rows come first.
  const { data } = useQuery<ViewList>(hasAnswer.value ? path : undefined, { staleMs: 30_000 });
  const views = data?.views ?? [];
  return (
    <>
      <Menu label="Views">
        {views.map(({ id, name, query: own }) => (
          <MenuItem key={id} href={`/dashboard/traces${own}`}>
            {name}
          </MenuItem>
        ))}
        {mayChange ? (
          <>
            {views.length > 0 && <hr />}
            <MenuItem onClick={() => setOpen(true)}>Save or change views</MenuItem>
          </>
        ) : (
          views.length === 0 && <div class="menu-label">No saved views</div>
        )}
      </Menu>
      {isOpen && <ViewsDialog views={views} query={query} onClose={() => setOpen(false)} />}
    </>
  );
}

interface ViewsDialogProps extends ViewList {
  query: string;
  onClose(): void;
}

function ViewsDialog({ views, query, onClose }: ViewsDialogProps) {
  const create = (body: { name: string }) => api.post(path, { ...body, query } satisfies ViewBody);
  const options = { invalidates, says: "View saved", refusalAt: "name", onDone: onClose } as const;
  const form = useForm({ name: "" }, create, options);
  const remove = useAction((id: string) => api.delete(`${path}/${id}`), { invalidates, says: "View deleted" });
  return (
    <Dialog title="Saved views" onClose={onClose}>
      <Form class="narrow-form" verb="Save this list" look="main" form={form}>
        <TextField
          label="Name"
          hint="Filters and columns as they are now, for all people of the account."
          autocomplete="off"
          maxlength={maxName}
          required
          {...form.field("name")}
        />
      </Form>
      <ActionError of={remove} />
      {views.map(({ id, name }) => (
        <div key={id} class="row view-row">
          <NameForm label="View" path={`${path}/${id}`} name={name} maxlength={maxName} invalidates={invalidates} />
          <RunButton text={`Delete “${name}”`} icon="close" look="quiet" isIconOnly of={remove} with={id} />
        </div>
      ))}
    </Dialog>
  );
}

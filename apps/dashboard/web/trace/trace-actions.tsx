import type { OutlineTrace } from "@waymark/traces";
import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { api } from "../data/api.js";
import { useMe } from "../data/me.js";
import { useAction } from "../data/query.js";
import { announce } from "../ui/announce.js";
import { Button, ButtonLink } from "../ui/button.js";
import { CopyButton } from "../ui/copy-button.js";
import { Dialog } from "../ui/dialog.js";
import { TextField } from "../ui/field.js";
import { Menu, MenuItem } from "../ui/menu.js";

export function TraceActions({ trace }: { trace: OutlineTrace }) {
  const [isDeleting, setDeleting] = useState(false);
  const { data: me } = useMe();
  const copyId = () => void navigator.clipboard?.writeText(trace.id).then(() => announce("Copied"));
  return (
    <>
      <CopyButton label="Copy link" text={() => location.href} />
      <ButtonLink icon="download" href={`/dashboard/api/traces/${trace.id}/export`} download>
        JSON
      </ButtonLink>
      <Menu label="More" icon="more" isIconOnly>
        <MenuItem onClick={copyId}>Copy id</MenuItem>
        {me?.role === "owner" && <MenuItem onClick={() => setDeleting(true)}>Delete</MenuItem>}
      </Menu>
      {isDeleting && <DeleteDialog trace={trace} onClose={() => setDeleting(false)} />}
    </>
  );
}

function DeleteDialog({ trace, onClose }: { trace: OutlineTrace; onClose(): void }) {
  const { route } = useLocation();
  const [typed, setTyped] = useState("");
  const word = trace.name.trim().split(/\s+/)[0] || trace.id.slice(0, 8);
  const remove = useAction(
    async () => {
      await api.delete(`/traces/${trace.id}`);
      route("/dashboard/traces", true);
    },
    { invalidates: ["/traces?"] },
  );
  const isRight = typed.trim() === word;
  const actions = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button look="danger" disabled={!isRight} isBusy={remove.isBusy} onClick={() => void remove.run()}>
        Delete trace
      </Button>
    </>
  );
  return (
    <Dialog title="Delete this trace?" onClose={onClose} actions={actions}>
      <p>Its spans are deleted with it. This cannot be undone.</p>
      <TextField label={`Type ${word} to delete it`} value={typed} onValue={setTyped} autocomplete="off" />
      {remove.error && (
        <p class="field-error" role="alert">
          {remove.error.message}
        </p>
      )}
    </Dialog>
  );
}

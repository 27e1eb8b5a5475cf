import { useState } from "preact/hooks";
import type { CreatedKey, CreateKeyBody } from "../../src/keys/keys.route.js";
import type { Me } from "../../src/session/me.route.js";
import { api } from "../data/api.js";
import { useMe } from "../data/me.js";
import { useAction } from "../data/query.js";
import { Button } from "../ui/button.js";
import { CopyField } from "../ui/copy-button.js";
import { Dialog } from "../ui/dialog.js";
import { Field, Radios, TextField } from "../ui/field.js";
import { FormDialog } from "../ui/form.js";
import { Banner } from "../ui/states.js";

type Service = CreateKeyBody["service"];

interface KeyDialogProps {
  /** The only service to choose. */
  service?: Service | undefined;
  onClose(): void;
}

/** Asks for a name and a service, then shows the key, this once. */
export function KeyDialog({ service, onClose }: KeyDialogProps) {
  const [created, setCreated] = useState<CreatedKey>();
  if (created) return <NewKey of={created} onClose={onClose} />;
  return <KeyForm service={service} onCreated={setCreated} onClose={onClose} />;
}

interface KeyFormProps extends KeyDialogProps {
  onCreated(key: CreatedKey): void;
}

function KeyForm({ service: only, onCreated, onClose }: KeyFormProps) {
  const me = useMe();
  const [name, setName] = useState("");
  const [service, setService] = useState<Service>(only ?? "trace");
  const create = useAction((body: CreateKeyBody) => api.post<CreatedKey>("/keys", body), {
    invalidates: ["/keys", "/audit"],
  });
  const isFree = me.data?.account.plan === "free";
  const choices = [
    { value: "trace", label: "Trace API", hint: "Sends and reads traces." },
    {
      value: "analytics",
      label: "Analytics API",
      hint: isFree ? "Reads statistics. It needs Pro: on Free the API refuses every key." : "Reads statistics.",
    },
  ] as const;
  const submit = async () => {
    const created = await create.run({ name, service });
    if (created) onCreated(created);
  };
  const { error } = create;
  return (
    <FormDialog
      title="Create a key"
      verb="Create"
      isBusy={create.isBusy}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <TextField
        label="Name"
        value={name}
        onValue={setName}
        required
        maxlength={200}
        autocomplete="off"
        hint="Where it is used, such as a laptop or a build server."
        error={error?.fields["name"] ?? error?.refusal}
      />
      <Radios
        label="Service"
        value={service}
        choices={only ? choices.filter(({ value }) => value === only) : choices}
        onValue={(chosen) => setService(chosen)}
      />
    </FormDialog>
  );
}

function NewKey({ of: created, onClose }: { of: CreatedKey; onClose(): void }) {
  const me = useMe();
  const [isCopied, setCopied] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const close = () => (isCopied || isAsking ? onClose() : setAsking(true));
  const line = me.data && tryLine(created, me.data);
  const isUseless = created.service === "analytics" && me.data?.account.plan === "free";
  const actions = (
    <Button look="main" onClick={close}>
      Done
    </Button>
  );
  return (
    <Dialog title={created.name} onClose={close} actions={actions}>
      <div onCopy={() => setCopied(true)}>
        <CopyField
          label="Your new key"
          value={created.key}
          hint="Keep it now: Waymark stores only its hash and cannot show it again."
          onCopy={() => setCopied(true)}
        />
        {line && (
          <Field label="Try it in a terminal">
            {(control) => (
              <textarea
                class="input mono key-try"
                readOnly
                rows={4}
                spellcheck={false}
                value={line}
                onFocus={(event) => event.currentTarget.select()}
                {...control}
              />
            )}
          </Field>
        )}
      </div>
      {isUseless && <Banner tone="warning">The Analytics API refuses this key until the account has Pro.</Banner>}
      {isAsking && !isCopied && (
        <Banner tone="error">Copied? Nobody can show this key again. “Done” closes it anyway.</Banner>
      )}
    </Dialog>
  );
}

/** A read: a trace would count, and take the place of the Free plan's one agent. */
function tryLine({ service, key }: CreatedKey, { traceApiUrl, analyticsApiUrl }: Me): string {
  const [url, path] = service === "trace" ? [traceApiUrl, "traces?limit=1"] : [analyticsApiUrl, "sites"];
  return `curl "${url.replace(/\/+$/, "")}/api/v1/${path}" \\\n  -H "Authorization: Bearer ${key}"`;
}

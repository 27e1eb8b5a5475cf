import { useState } from "preact/hooks";
import type { ChannelList } from "../../src/channels/channels.route.js";
import { api } from "../data/api.js";
import { useAction } from "../data/query.js";
import { announce } from "../ui/announce.js";
import { Radios, TextField } from "../ui/field.js";
import { Form } from "../ui/form.js";

type Mode = ChannelList["mode"];

const modes = [
  { value: "each", label: "Each failure by itself" },
  {
    value: "digest",
    label: "Digests",
    hint: "An agent's first failure at once, then one message with all of a window.",
  },
] as const;

/** How mails and chat messages go. */
export function DeliveryForm({
  of: { mode: stored, windowSeconds },
  mayChange,
}: {
  of: ChannelList;
  mayChange: boolean;
}) {
  const [mode, setMode] = useState<Mode>(stored);
  const [minutes, setMinutes] = useState(String(windowSeconds / 60));
  const change = useAction(
    (body: { mode: Mode; windowSeconds: number }) => api.put("/alert-settings", body).then(() => true),
    { invalidates: ["/channels"] },
  );
  if (!mayChange) {
    const text = stored === "each" ? "Each failure goes out by itself." : `Digests of ${windowSeconds / 60} minutes.`;
    return <p>{text}</p>;
  }
  const submit = async () => {
    if (await change.run({ mode, windowSeconds: Math.round(Number(minutes) * 60) })) announce("Saved");
  };
  const { fields = {}, refusal } = change.error ?? {};
  return (
    <Form class="narrow-form" verb="Save" isBusy={change.isBusy} onSubmit={() => void submit()}>
      <Radios
        label="Mails and chats"
        value={mode}
        choices={modes}
        onValue={(chosen) => setMode(chosen)}
        error={refusal}
      />
      {mode === "digest" && (
        <TextField
          label="Window in minutes"
          type="number"
          min="1"
          max="1440"
          required
          value={minutes}
          onValue={setMinutes}
          hint="Webhooks always get each failure."
          error={fields["window"] ?? fields["windowSeconds"]}
        />
      )}
    </Form>
  );
}

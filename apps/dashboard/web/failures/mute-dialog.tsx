import { useState } from "preact/hooks";
import type { ListedFailure, MuteBody } from "../../src/failures/failures.route.js";
import { api } from "../data/api.js";
import { useAction } from "../data/query.js";
import { announce } from "../ui/announce.js";
import { Radios } from "../ui/field.js";
import { FormDialog } from "../ui/form.js";

const invalidates = ["/failures", "/mutes"];

const lengths = [
  { value: "1", label: "For a day" },
  { value: "7", label: "For a week" },
  { value: "good", label: "For good" },
] as const;

type Length = (typeof lengths)[number]["value"];

interface MuteDialogProps {
  failure: ListedFailure;
  onMuted(): void;
  onClose(): void;
}

/** Asks how long a failure's alerts stay silent. */
export function MuteDialog({ failure, onMuted, onClose }: MuteDialogProps) {
  const [length, setLength] = useState<Length>("1");
  const mute = useAction((body: MuteBody) => api.put(`/failures/${failure.id}/mute`, body).then(() => true), {
    invalidates,
  });
  const submit = async () => {
    const until = length === "good" ? null : new Date(Date.now() + Number(length) * 86_400_000).toISOString();
    if (!(await mute.run({ until }))) return;
    announce("Failure muted");
    onMuted();
    onClose();
  };
  const { error } = mute;
  return (
    <FormDialog
      title="Mute this failure?"
      verb="Mute"
      isBusy={mute.isBusy}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <p>
        Its traces send no mails and no other messages meanwhile. They stay in this list, and Waymark counts the silent
        alerts.
      </p>
      <Radios
        label="How long"
        value={length}
        choices={lengths}
        onValue={(chosen) => setLength(chosen)}
        error={error?.fields["until"] ?? error?.refusal}
      />
    </FormDialog>
  );
}

/** Ends a failure's mute. */
export function useUnmute(onUnmuted?: () => void) {
  return useAction(
    async (id: string) => {
      await api.delete(`/failures/${id}/mute`);
      announce("Mute ended");
      onUnmuted?.();
    },
    { invalidates },
  );
}

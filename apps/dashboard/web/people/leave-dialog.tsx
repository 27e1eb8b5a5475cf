import { useState } from "preact/hooks";
import type { ListedPerson } from "../../src/people/people.route.js";
import { api } from "../data/api.js";
import { invalidate, useAction } from "../data/query.js";
import { announce } from "../ui/announce.js";
import { Confirm } from "../ui/dialog.js";
import { Radios } from "../ui/field.js";
import { formatThings } from "../ui/format.js";

const choices = [
  { value: "revoke", label: "Revoke", hint: "They stop within a second." },
  { value: "keep", label: "Keep", hint: "Programs that use them go on." },
] as const;

/** Removes a person, or lets the viewer leave. Their keys end unless somebody says otherwise. */
export function LeaveDialog({ person, onClose }: { person: ListedPerson; onClose(): void }) {
  const { isYou, name } = person;
  const [keys, setKeys] = useState<(typeof choices)[number]["value"]>("revoke");
  const remove = useAction(async () => {
    await api.delete(`/people/${person.id}?keys=${keys}`);
    if (isYou) return location.assign("/dashboard/sign-in");
    invalidate("/people", "/audit", "/keys");
    announce(`${name} was removed`);
    onClose();
  });

  return (
    <Confirm
      title={isYou ? "Leave this account?" : `Remove ${name}?`}
      verb={isYou ? "Leave" : "Remove"}
      isBusy={remove.isBusy}
      error={remove.error?.message}
      onConfirm={() => void remove.run()}
      onClose={onClose}
    >
      <p class="field">
        {isYou
          ? "You sign out here at once. An owner can invite you again."
          : "Their sessions in this account end within a second."}
      </p>
      {person.keys > 0 && (
        <Radios
          label={`${isYou ? "You" : "They"} made ${formatThings(person.keys, "key")}`}
          value={keys}
          choices={choices}
          onValue={(chosen) => setKeys(chosen)}
        />
      )}
    </Confirm>
  );
}

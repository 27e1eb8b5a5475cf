import type { PeopleList } from "../../src/people/people.route.js";
import { useAction, useQuery } from "../data/query.js";
import { RunButton } from "../ui/button.js";
import { type Choice, ChoiceBar } from "../ui/choice.js";
import { Select } from "../ui/choices.js";
import { DialogButton } from "../ui/dialog.js";
import { ActionError } from "../ui/page.js";
import { MuteDialog, markFailures } from "./mutes.js";

export function ChosenFailures({ choice, onChanged }: { choice: Choice; onChanged(): void }) {
  const { ids } = choice;
  const { data } = useQuery<PeopleList>(ids.length > 0 ? "/people" : undefined, { staleMs: 60_000 });
  const invalidates = ["/failures"];
  const resolve = useAction(() => markFailures(ids, { mark: "resolve" }), {
    invalidates,
    says: "Failures resolved",
    onDone: onChanged,
  });
  const assign = useAction(
    (personId: string) => markFailures(ids, { mark: "assign", personId: personId === nobody ? null : personId }),
    { invalidates, says: "Failures assigned", onDone: onChanged },
  );
  const people = (data?.people ?? []).map(({ id, name, email }) => ({ value: id, label: name || email }));
  const choices = [{ value: "", label: "Assign to…" }, { value: nobody, label: "Nobody" }, ...people];
  return (
    <>
      <ActionError of={resolve} />
      <ActionError of={assign} />
      <ChoiceBar choice={choice}>
        <DialogButton text="Mute" dialog={(close) => <MuteDialog ids={ids} onMuted={onChanged} onClose={close} />} />
        <RunButton text="Resolve" of={resolve} with={undefined} />
        <Select
          label="Assign to"
          value=""
          choices={choices}
          onValue={(personId) => personId !== "" && assign.run(personId)}
        />
      </ChoiceBar>
    </>
  );
}

const nobody = "nobody";

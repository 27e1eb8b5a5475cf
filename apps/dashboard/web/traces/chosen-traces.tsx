import type { DeletedTraces } from "../../src/traces/one-trace.route.js";
import { api } from "../data/api.js";
import { useMe } from "../data/query.js";
import { type Choice, ChoiceBar, inPortions, maxAtOnce } from "../ui/choice.js";
import { ConfirmButton } from "../ui/dialog.js";
import { ExportMenu } from "../ui/export-menu.js";
import { formatThings } from "../ui/format.js";

const remove = (ids: readonly string[]) =>
  inPortions(ids, (portion) => api.post<DeletedTraces>("/traces/delete", { ids: portion }));

export function ChosenTraces({ choice, onDeleted }: { choice: Choice; onDeleted(): void }) {
  const isOwner = useMe().data?.role === "owner";
  const { ids } = choice;
  const count = formatThings(ids.length, "trace");
  return (
    <ChoiceBar choice={choice}>
      {isOwner && (
        <ConfirmButton
          title={`Delete ${count}?`}
          verb={`Delete ${count}`}
          says="Traces deleted"
          work={() => remove(ids)}
          onDone={() => {
            choice.set([]);
            onDeleted();
          }}
        >
          <p>They are gone with their spans, for everybody, at once. Costs and the month’s count stay.</p>
        </ConfirmButton>
      )}
      {ids.length <= maxAtOnce ? (
        <ExportMenu label="Export chosen" path={`/traces/export?ids=${ids.join()}`} />
      ) : (
        <span class="hint">Choose at most {maxAtOnce} to export them.</span>
      )}
    </ChoiceBar>
  );
}

import { useMayChange } from "../data/query.js";
import { DialogButton } from "../ui/dialog.js";
import { formatCount } from "../ui/format.js";
import "./scores.css";
import { type Scored, ScoreValue, useScores } from "./score-parts.js";
import { ScoresDialog } from "./scores-dialog.js";

const maxShown = 3;

export function Scores(of: Scored) {
  const scores = useScores(of);
  const mayAdd = useMayChange();
  if (!scores || (scores.length === 0 && !mayAdd)) return null;
  return (
    <div class={scores.length > 0 ? "row scores has-scores" : "scores"}>
      {scores.length > 0 && (
        <ul class="row score-chips" aria-label={of.spanId === null ? "Scores of the trace" : "Scores of the span"}>
          {scores.slice(0, maxShown).map(({ id, name, value, comment }) => (
            <li key={id} class="cut" title={comment ?? ""}>
              <span class="soft">{name}</span> <ScoreValue value={value} />
            </li>
          ))}
        </ul>
      )}
      <DialogButton
        text={
          scores.length > maxShown ? `All ${formatCount(scores.length)} scores` : scores.length > 0 ? "Scores" : "Score"
        }
        aria-keyshortcuts={of.spanId === null ? "s" : undefined}
        dialog={(close) => <ScoresDialog of={of} onClose={close} />}
      />
    </div>
  );
}

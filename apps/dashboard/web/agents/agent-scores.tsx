import type { AgentScores } from "../../src/agents/agents.route.js";
import { useQuery } from "../data/query.js";
import { ScoreValue } from "../scores/score-parts.js";
import { Ago } from "../ui/ago.js";
import { formatCount, formatShare } from "../ui/format.js";
import { type Column, Stacked, TablePanel } from "../ui/table.js";

type Summary = AgentScores["scores"][number];

const scoreColumns: readonly Column<Summary>[] = [
  { text: "Score", class: "wrap", cell: ({ name }) => name },
  { text: "Mean or values", cell: (score) => <Values of={score} /> },
  { text: "By hand", isNumber: true, cell: ({ given_by_hand: count }) => formatCount(count) },
  { text: "By the API", isNumber: true, cell: (score) => formatCount(score.count - score.given_by_hand) },
];

const shownValues = 3;

/** The share of thumbs up, a mean, or the most frequent texts. */
function Values({ of: { mean, values = [] } }: { of: Summary }) {
  if (values.some(({ value }) => typeof value === "boolean")) return <>{formatShare(mean ?? 0)} thumbs up</>;
  if (mean !== undefined) return <>{Number(mean.toPrecision(4))}</>;
  const texts = values.slice(0, shownValues).map(({ value, count }) => `${value} (${formatCount(count)})`);
  return <bdi>{texts.join(", ")}</bdi>;
}

const noteColumns: readonly Column<AgentScores["notes"][number]>[] = [
  {
    text: "Note",
    class: "is-stacked",
    cell: ({ comment, trace_id, trace_name }) => (
      <Stacked below={<a href={`/dashboard/traces/${trace_id}`}>{trace_name}</a>}>{comment}</Stacked>
    ),
  },
  {
    text: "Score",
    cell: ({ name, value, source }) => (
      <>
        <span class="soft">{name}</span> <ScoreValue value={value} />
        {source === "person" && <span class="soft"> by hand</span>}
      </>
    ),
  },
  { text: "Given", isNumber: true, cell: ({ created_at }) => <Ago iso={created_at} /> },
];

export function AgentScoresPanels({ path }: { path: string }) {
  const { data } = useQuery<AgentScores>(path, { keepPrevious: true });
  if (!data || data.scores.length === 0) return null;
  const keyOf = ({ name, values, mean }: Summary) => `${name} ${typeof values?.[0]?.value} ${typeof mean}`;
  return (
    <>
      <TablePanel
        isCards
        name="Scores"
        columns={scoreColumns}
        rows={data.scores}
        keyOf={keyOf}
        textOf={({ name }) => name}
      />
      {data.notes.length > 0 && (
        <TablePanel isCards isRoomy name="Latest notes" columns={noteColumns} rows={data.notes} />
      )}
    </>
  );
}

import "./conversations.css";
import { useState } from "preact/hooks";
import { useRoute } from "preact-iso";
import type { Conversation } from "../../src/conversations/conversations.route.js";
import { queryOf } from "../data/paths.js";
import { nextByCursor, usePages, useQuery } from "../data/query.js";
import { Ago, Moment } from "../ui/ago.js";
import { Button, ButtonLink } from "../ui/button.js";
import { formatCount, formatDuration } from "../ui/format.js";
import { Figure, Loaded, MissingPage, Page, StatusDot } from "../ui/page.js";
import { Pager } from "../ui/table.js";
import { Cost, Tokens } from "../ui/usage.js";
import { Owner } from "./sums-list.js";

type Turn = Conversation["traces"][number];

export function ConversationPage() {
  const id = useRoute().params["id"] ?? "";
  const path = `/sessions/${encodeURIComponent(id)}`;
  const first = useQuery<Conversation>(path);
  const { items: turns = [], ...more } = usePages(path, first.data, {
    itemsOf: ({ traces }) => traces,
    nextOf: nextByCursor,
  });
  if (first.error?.status === 404) {
    return <MissingPage title="Conversation not found" reason="No trace of your account has this session_id." />;
  }
  return (
    <Page
      title={id}
      crumbs={<a href="/dashboard/conversations">Conversations</a>}
      actions={<ButtonLink text="All traces" href={`/dashboard/traces${queryOf({ session: id })}`} />}
    >
      <Loaded of={first}>
        {(conversation) => (
          <>
            <Figures of={conversation} />
            <ol class="turns" aria-label="Traces">
              {turns.map((turn) => (
                <li key={turn.id} class={turn.error === null ? "panel turn" : "panel turn is-failed"}>
                  <TurnHead turn={turn} />
                  <Words of="Input" text={turn.input} />
                  <Words of="Output" text={turn.output} />
                  {turn.error !== null && <p class="mono is-error wrap turn-error">{turn.error}</p>}
                </li>
              ))}
            </ol>
            <Pager {...more} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Figures({ of }: { of: Conversation }) {
  const { user_id: user, failures, first_at, last_at, cost_usd } = of;
  return (
    <dl class="row trace-facts conversation-figures">
      {user !== null && (
        <Figure label="User" value={<Owner href={`/dashboard/conversations${queryOf({ user })}`}>{user}</Owner>} />
      )}
      <Figure label="Started" value={<Moment iso={first_at} />} />
      <Figure label="Duration" value={formatDuration(Date.parse(last_at) - Date.parse(first_at))} />
      <Figure label="Failures" value={formatCount(failures)} {...(failures > 0 && { tone: "error" as const })} />
      {of.input_tokens + of.output_tokens > 0 && <Figure label="Tokens" value={<Tokens of={of} />} />}
      {cost_usd !== null && <Figure label="Cost" value={<Cost usd={cost_usd} />} />}
    </dl>
  );
}

function TurnHead({ turn }: { turn: Turn }) {
  const { id, name, status, agent_id, duration_ms, started_at, cost_usd } = turn;
  return (
    <div class="row turn-head">
      <a class="wrap" href={`/dashboard/traces/${id}`}>
        {name === "" ? "(no name)" : name}
      </a>
      {status !== "success" && <StatusDot state={status} />}
      <span class="row hint turn-facts">
        <span class="mono">{agent_id}</span>
        {duration_ms !== null && <span>{formatDuration(duration_ms)}</span>}
        {turn.input_tokens + turn.output_tokens > 0 && (
          <span>
            <Tokens of={turn} /> tokens
          </span>
        )}
        <Cost usd={cost_usd} />
        <Ago iso={started_at} />
      </span>
    </div>
  );
}

/** Of a text before "Show all"; the style shows as many lines. */
const [shownLength, shownLines] = [700, 12];

function Words({ of, text }: { of: "Input" | "Output"; text: string | null }) {
  const [isWhole, setWhole] = useState(false);
  if (!text) return null;
  const isLong = text.length > shownLength || text.split("\n").length > shownLines;
  return (
    <div class={`words is-${of.toLowerCase()}`}>
      <h2 class="hint">{of}</h2>
      <p dir="auto" class={isLong && !isWhole ? "as-sent is-clamped" : "as-sent"}>
        {text}
      </p>
      {isLong && (
        <Button
          text={isWhole ? "Show less" : "Show all"}
          look="quiet"
          aria-expanded={isWhole}
          onClick={() => setWhole(!isWhole)}
        />
      )}
    </div>
  );
}

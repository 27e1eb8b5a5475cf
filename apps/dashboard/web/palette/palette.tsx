import "./palette.css";
import type { TargetedKeyboardEvent } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import type { FoundNames } from "../../src/find/find.route.js";
import { findId, pastedId } from "../data/pasted-id.js";
import { queryOf } from "../data/paths.js";
import { useMe, useQuery } from "../data/query.js";
import { type Entry, hrefOf } from "../shell/navigation.js";
import { Dialog } from "../ui/dialog.js";
import { useSettled } from "../ui/use-settled.js";
import { type Choice, keepChoice, readChoices } from "./recent.js";

export interface PaletteProps {
  entries: readonly Entry[];
  onClose(): void;
}

const pauseMs = 150;

/** A combobox with a listbox (APG): the focus stays in the field, arrows move, Enter goes there. */
export function Palette({ entries, onClose }: PaletteProps) {
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const { route } = useLocation();
  const groups = useChoices(entries, typed.trim());
  const choices = Object.values(groups).flat();
  const active = Math.min(at, choices.length - 1);
  const account = useMe().data?.account.id;
  useEffect(() => list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" }));
  const choose = (choice: Choice) => {
    if (account) keepChoice(account, choice);
    onClose();
  };
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLInputElement>) => {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: choices.length - 1 };
    const step = steps[event.key];
    if (step !== undefined) setAt((active + step) % choices.length);
    else if (event.key === "Enter" && !event.isComposing)
      list.current?.querySelector<HTMLElement>('[aria-selected="true"]')?.click();
    else return;
    event.preventDefault();
  };
  const optionOf = (choice: Choice) => {
    const index = choices.indexOf(choice);
    return (
      <a
        key={choice.href}
        id={`${id}-${index}`}
        class="palette-choice"
        role="option"
        aria-selected={index === active}
        tabIndex={-1}
        href={choice.href}
        onClick={(event) => {
          choose(choice);
          const pasted = pastedId(typed);
          if (!pasted?.otelTraceId || choice.href !== traceHref(pasted.id)) return;
          event.preventDefault();
          void findId(pasted).then((found) => route(traceHref(found)));
        }}
      >
        <span class="cut" dir="auto">
          {choice.text}
        </span>
        {choice.note && (
          <span class="hint cut" dir="auto">
            {choice.note}
          </span>
        )}
      </a>
    );
  };
  return (
    <Dialog title="Go to" onClose={onClose}>
      <input
        class="input"
        role="combobox"
        aria-label="Page, agent, site, trace, conversation or user"
        aria-autocomplete="list"
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={`${id}-${active}`}
        placeholder="Type a name, or paste a trace id"
        maxlength={200}
        spellcheck={false}
        autocomplete="off"
        value={typed}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div ref={list} id={id} class="palette-list" role="listbox" aria-label="Choices">
        {Object.entries(groups).map(([name, ofGroup]) =>
          ofGroup.length === 0 ? null : (
            // biome-ignore lint/a11y/useSemanticElements: a listbox has groups, no fieldsets.
            <div key={name} role="group" aria-label={name}>
              <div class="menu-label" aria-hidden="true">
                {name}
              </div>
              {ofGroup.map(optionOf)}
            </div>
          ),
        )}
      </div>
    </Dialog>
  );
}

const traceHref = (id: string) => `/dashboard/traces/${encodeURIComponent(id)}`;

/** What a kind of thing is called, and the page of one. */
const kinds: Readonly<
  Record<FoundNames["found"][number]["kind"], readonly [name: string, hrefOf: (id: string) => string]>
> = {
  agent: ["Agents", (id) => `/dashboard/agents/${encodeURIComponent(id)}`],
  site: ["Sites", (id) => `/dashboard/sites/${id}`],
  trace: ["Traces", traceHref],
  view: ["Saved views", (query) => `/dashboard/traces${query}`],
  session: ["Conversations", (id) => `/dashboard/conversations/${encodeURIComponent(id)}`],
  user: ["Users", (user) => `/dashboard/traces${queryOf({ user })}`],
};

const actions: readonly (Choice & { isOwners?: true })[] = [
  { text: "Create an API key", href: "/dashboard/keys" },
  { text: "Add a site", href: "/dashboard/sites" },
  { text: "Invite somebody", href: "/dashboard/team", isOwners: true },
  { text: "Add a channel for alerts", href: "/dashboard/channels", isOwners: true },
];

/** The choices for a text by groups: those of the frame at once, those of the account once it is not typed on. */
function useChoices(entries: readonly Entry[], text: string): Readonly<Record<string, readonly Choice[]>> {
  const q = useSettled(text, pauseMs);
  const { data } = useQuery<FoundNames>(q === "" ? undefined : `/find${queryOf({ q })}`, {
    keepPrevious: true,
    staleMs: 10_000,
  });
  const me = useMe().data;
  const words = text.toLowerCase().split(/\s+/);
  const matching = (choices: readonly Choice[]) =>
    choices.filter((choice) => words.every((word) => choice.text.toLowerCase().includes(word)));
  const pages = [
    ...entries.map((entry) => ({ text: entry.label, href: hrefOf(entry) })),
    { text: "Settings", href: "/dashboard/settings" },
  ];
  const may = actions.filter(({ isOwners }) => me && (me.role === "owner" || (me.role === "member" && !isOwners)));
  const pasted = pastedId(text);
  const found = (kind: keyof typeof kinds) =>
    (text === "" ? [] : (data?.found ?? []))
      .filter((each) => each.kind === kind)
      .map(({ id, name, note }): Choice => ({ text: name || "(no name)", note: note ?? "", href: kinds[kind][1](id) }));
  return {
    ...(pasted && { "Pasted id": [{ text: `Trace ${pasted.id}`, href: traceHref(pasted.id) }] }),
    Recent: text === "" && me ? readChoices(me.account.id) : [],
    Pages: matching(pages),
    ...Object.fromEntries((Object.keys(kinds) as (keyof typeof kinds)[]).map((kind) => [kinds[kind][0], found(kind)])),
    Actions: matching(may),
    ...(text !== "" &&
      !pasted && { Search: [{ text: `Traces with “${text}”`, href: `/dashboard/traces${queryOf({ q: text })}` }] }),
  };
}

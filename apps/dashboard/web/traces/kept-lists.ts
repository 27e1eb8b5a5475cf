import type { TraceListState } from "./trace-list.js";

/** Lists that stay for the way back, each of {@link maxRows} rows at most; a further one takes the oldest one's place. */
export const maxKept = 4;

export interface Place {
  rows: number;
  /** A row in sight, and its distance from the window's top. */
  id: string;
  top: number;
  scrollY: number;
}

const storageKey = "waymark.places";

/** Lists and places by the browser's history entry. The rows live as long as the document, the places as long as the tab. */
export function createKeptLists(storage: () => Pick<Storage, "getItem" | "setItem">) {
  const states = new Map<string, TraceListState>();

  function readPlaces(): Map<string, Place> {
    try {
      return new Map(JSON.parse(storage().getItem(storageKey) ?? "[]") as [string, Place][]);
    } catch {
      return new Map();
    }
  }

  return {
    stateOf: (list: string) => states.get(list),
    placeOf: (list: string) => readPlaces().get(list),
    keepState: (list: string, state: TraceListState) => put(states, list, state),
    keepPlace(list: string, place: Place): void {
      const places = readPlaces();
      put(places, list, place);
      try {
        storage().setItem(storageKey, JSON.stringify([...places]));
      } catch {
        // A browser without storage begins at the top.
      }
    },
  };
}

function put<Value>(kept: Map<string, Value>, list: string, value: Value): void {
  kept.delete(list);
  kept.set(list, value);
  for (const oldest of [...kept.keys()].slice(0, -maxKept)) kept.delete(oldest);
}

/** The id of the present entry of the browser's history; Back and Forward lead to it again. */
export function entryId(): string {
  const { entry } = (history.state ?? {}) as { entry?: string };
  if (entry !== undefined) return entry;
  const made = `${Date.now().toString(36)}.${Math.random().toString(36).slice(2)}`;
  history.replaceState({ ...history.state, entry: made }, "");
  return made;
}

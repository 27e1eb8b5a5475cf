import { useEffect, useState } from "preact/hooks";

/** Whether the window is narrower than this many CSS pixels. */
export function useNarrow(widthPx: number): boolean {
  const [query] = useState(() => matchMedia(`(width < ${widthPx}px)`));
  const [isNarrow, setNarrow] = useState(query.matches);
  useEffect(() => {
    const update = () => setNarrow(query.matches);
    query.addEventListener("change", update);
    return () => query.removeEventListener("change", update);
  }, [query]);
  return isNarrow;
}

import { useEffect, useLayoutEffect, useState } from "preact/hooks";

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

/** Measures an element before the first paint, and after each change of its size. */
export function useMeasure<Measured extends Element>(
  ref: { current: Measured | null },
  measure: (element: Measured) => void,
): void {
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    measure(element);
    const observer = new ResizeObserver(() => measure(element));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
}

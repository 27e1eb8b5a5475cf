import { useEffect, useState } from "preact/hooks";
import type { Tree } from "../trace/tree.js";
import { nextTask } from "../trace/use-outline.js";
import { type Alignment, align } from "./align.js";

/** A key waits for one turn only. */
const turnMs = 6;

/** The alignment of two whole outlines; undefined until it is made. */
export function useAlignment(left: Tree, right: Tree, isReady: boolean): Alignment | undefined {
  const [alignment, setAlignment] = useState<Alignment>();
  useEffect(() => {
    if (!isReady) return;
    let isStopped = false;
    const run = async () => {
      const work = align(left, right);
      for (;;) {
        await nextTask();
        if (isStopped) return;
        const endMs = performance.now() + turnMs;
        let step = work.next();
        while (!step.done && performance.now() < endMs) step = work.next();
        if (step.done) return setAlignment(step.value);
      }
    };
    void run();
    return () => {
      isStopped = true;
    };
  }, [left, right, isReady]);
  return alignment;
}

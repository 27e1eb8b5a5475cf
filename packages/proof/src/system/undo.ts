/** Notes how to take something back: the last step comes first. */
export type Undo = (step: () => unknown) => void;

/** Does some work, and takes back what it made; also after SIGINT and SIGTERM, since servers run apart from this process. */
export async function undoing<Result>(work: (undo: Undo) => Promise<Result>): Promise<Result> {
  const steps: (() => unknown)[] = [];
  const takeBack = async () => {
    for (const step of steps.splice(0).reverse()) await step();
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => takeBack().finally(() => process.exit(1)));
  }
  try {
    return await work((step) => void steps.push(step));
  } finally {
    await takeBack();
  }
}

/** A measured figure beside its budget. */
export interface Figure {
  name: string;
  /** Undefined where this machine cannot measure it. */
  value: number | undefined;
  unit: string;
  budget?: number;
  digits?: number;
}

/** A table; figures over their budget are marked. */
export function formatFigures(figures: readonly Figure[]): string {
  const width = Math.max(...figures.map(({ name }) => name.length));
  const lines = figures.map((figure) => {
    const { name, value, unit, budget, digits = 0 } = figure;
    const show = (number: number) => `${number.toFixed(digits)} ${unit}`.trim().padStart(10);
    const measured = value === undefined ? "unknown".padStart(10) : show(value);
    const allowed = budget === undefined ? "".padStart(10) : show(budget);
    return `${name.padEnd(width)} ${measured} ${allowed}${isOver(figure) ? "  OVER" : ""}`.trimEnd();
  });
  return [`${"".padEnd(width)} ${"measured".padStart(10)} ${"budget".padStart(10)}`, ...lines].join("\n");
}

export function isOver({ value, budget, digits = 0 }: Figure): boolean {
  return value !== undefined && budget !== undefined && Number(value.toFixed(digits)) > budget;
}

/** The lowest value of each figure over rounds: other work on the machine only adds. */
export function lowest(rounds: readonly (readonly Figure[])[]): Figure[] {
  const [first = []] = rounds;
  return first.map((figure, at) => {
    const values = rounds.map((round) => round[at]?.value).filter((value) => value !== undefined);
    return { ...figure, value: values.length === 0 ? undefined : Math.min(...values) };
  });
}

/** The value below which this share of the values lies. */
export function percentile(values: readonly number[], share: number): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

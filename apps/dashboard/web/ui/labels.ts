/** The labels that lists filter by: their names in an address, and as parameters of the API. */
export const labelFilters = {
  session: { parameter: "session_id", label: "Conversation" },
  user: { parameter: "user_id", label: "User" },
  environment: { parameter: "environment", label: "Environment" },
  release: { parameter: "release", label: "Release" },
  tag: { parameter: "tag", label: "Tag" },
} as const;

export type LabelName = keyof typeof labelFilters;
export const labelNames = Object.keys(labelFilters) as LabelName[];

export type Labels = Readonly<Partial<Record<LabelName, string | undefined>>>;

/** Of a label's text; a tag has less. */
export const maxLabelLength = 200;

export function readLabels(get: (name: LabelName) => string | null | undefined): Labels {
  const texts = labelNames.map((name) => [name, get(name)?.slice(0, maxLabelLength)]);
  return Object.fromEntries(texts.filter(([, text]) => text));
}

export function labelQuery(labels: Labels): Record<string, string | undefined> {
  return Object.fromEntries(labelNames.map((name) => [labelFilters[name].parameter, labels[name]]));
}

export function labelChips(labels: Labels): { says: string; without: Labels }[] {
  return labelNames.flatMap((name) => {
    const text = labels[name];
    if (!text) return [];
    return [{ says: `${labelFilters[name].label} “${text}”`, without: { ...labels, [name]: undefined } }];
  });
}

/** What a check found: `unknown` where another finding or a missing right hides it. */
export interface Verdict {
  state: "good" | "wrong" | "unknown";
  says: string;
  cure?: string;
}

/** One thing that a doctor looks at. A doctor is a list of them over what they share. */
export interface Check<Patient> {
  name: string;
  look(patient: Patient): Promise<Verdict>;
}

export interface Finding extends Verdict {
  check: string;
}

/** Looks at all at once, and keeps their order. A check ends by the patient's own deadline. */
export function examine<Patient>(checks: readonly Check<Patient>[], patient: Patient): Promise<Finding[]> {
  return Promise.all(checks.map(async ({ name, look }) => ({ check: name, ...(await look(patient)) })));
}

export const good = (says: string): Verdict => ({ state: "good", says });
export const unknown = (says: string): Verdict => ({ state: "unknown", says });
export const wrong = (says: string, cure: string): Verdict => ({ state: "wrong", says, cure });

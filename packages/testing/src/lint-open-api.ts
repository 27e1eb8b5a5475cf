/** Warnings and errors of Redocly's recommended rules, as sentences. */
export async function lintOpenApi(document: object): Promise<string[]> {
  // Few tests need it.
  const { createConfig, lintFromString } = await import("@redocly/openapi-core");
  // A request's path is compared with fixed paths first: `stream` is no id. The collector's text shows a tag, as code.
  const rules = { "no-ambiguous-paths": "off", "no-unsafe-markdown": "off" } as const;
  const config = await createConfig({ extends: ["recommended"], rules });
  const problems = await lintFromString({ source: JSON.stringify(document), absoluteRef: "openapi.json", config });
  return problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} (${location[0]?.pointer})`);
}

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import {
  codeIn,
  findErrors,
  findJobs,
  findVariables,
  meansError,
  pinnedByCompose,
  readTable,
  settingsOfClients,
  settingsOfImages,
} from "./documents.js";
import { readRepository } from "./house-rules.js";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const read = (path: string) => readFileSync(join(root, path), "utf8");

/** The variables of configurations and of the programs people call. */
function settingsInCode(): string[] {
  const readsEnvironment =
    /^(apps\/[a-z-]+\/src\/config|packages\/service\/src\/process\/env|packages\/alerts\/src\/mail\/mail-variables|packages\/database\/src\/roles)\.ts$/;
  const program = /^packages\/(cli|local)\/(src|bin)\//;
  const names = readRepository(root)
    .filter(({ path }) => !/\.(test|fixture)\.ts$/.test(path) && !path.endsWith(".md"))
    .flatMap(({ path, text }) => {
      if (readsEnvironment.test(path)) return findVariables(text);
      return program.test(path) ? findVariables(text.replace(/^ {2,4}[A-Z][A-Z0-9_]+: /gm, "")) : [];
    });
  return [...new Set(names)].sort();
}

const compose = read("docker/compose.yaml") + read("docker/compose.production.yaml");
const example = read("docker/.env.example");
const without = (names: readonly string[], ...lists: (readonly string[])[]) =>
  names.filter((name) => !lists.some((list) => list.includes(name)));

describe("each setting", () => {
  const settings = settingsInCode();

  it("is found in the code", () => {
    expect(
      findVariables('readEnv(env, {\n    A_PORT: portVariable(1),\n  });\nenv["B_C"]; env.D_E; x = "FG_DB_PASSWORD"'),
    ).toEqual(["A_PORT", "B_C", "D_E", "FG_DB_PASSWORD"]);
    expect(settings).toEqual(expect.arrayContaining([...settingsOfImages, ...settingsOfClients, "LOG_LEVEL"]));
    expect(settings.length).toBeGreaterThan(25);
  });

  it("stands in docker/.env.example and reaches its container through Compose, unless the image sets it", () => {
    const passed = [...compose.matchAll(/\$\{([A-Z][A-Z0-9_]+)/g)].map((match) => match[1] ?? "");
    const lines = [...example.matchAll(/^#?([A-Z][A-Z0-9_]+)=/gm)].map((match) => match[1] ?? "");
    expect(without(settings, passed, settingsOfImages, settingsOfClients)).toEqual([]);
    expect(without(settings, lines, settingsOfImages, settingsOfClients)).toEqual([]);
    expect(without([...new Set(passed)], lines, pinnedByCompose)).toEqual([]);
    // Compose itself reads this one.
    expect(without(lines, passed, ["COMPOSE_FILE"])).toEqual([]);
    expect(settingsOfImages.filter((name) => lines.includes(name) || !example.includes(` ${name}=`))).toEqual([]);
    const clients = read("packages/cli/README.md") + read("docker/CELLS.md");
    expect(settingsOfClients.filter((name) => !clients.includes(`\`${name}\``))).toEqual([]);
  });
});

describe("each error", () => {
  const errors = findErrors(read("packages/errors/src/app-error.ts"), read("packages/service/src/process/listen.ts"));

  it("is found in the code, also what is refused before a route", () => {
    expect(errors).toContain("404 Trace not found");
    expect(errors).toContain("400 Malformed HTTP request");
    expect(errors).toEqual(expect.arrayContaining([expect.stringMatching(/^408 /), expect.stringMatching(/^431 /)]));
    expect(errors.length).toBeGreaterThan(20);
  });

  it("has a row in the table of packages/errors, and each row is an error", () => {
    const documented = readTable(read("packages/errors/README.md")).flatMap(([status, messages]) =>
      codeIn(messages).map((message) => `${status} ${message}`),
    );
    expect(errors.filter((error) => !documented.some((row) => meansError(row, error)))).toEqual([]);
    expect(documented.filter((row) => !errors.some((error) => meansError(row, error)))).toEqual([]);
    expect(meansError("403 The API requires …", "403 The API requires a Pro plan.")).toBe(true);
    expect(meansError("403 The API", "403 The API requires a Pro plan.")).toBe(false);
  });
});

describe("each job of the worker", () => {
  it("has a row in the table of apps/worker, and each row is a job", () => {
    const jobs = findJobs(read("apps/worker/src/jobs.ts"), read("packages/service/src/queue/queues.ts"));
    expect(jobs).toEqual(expect.arrayContaining(["close-stale-traces", "trace-finalized"]));
    const [table = ""] = read("apps/worker/README.md").split("\n## ");
    expect(
      readTable(table)
        .flatMap(([job]) => codeIn(job))
        .sort(),
    ).toEqual(jobs);
  });
});

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";

/** The rooms along an event's way, each with the rooms it may import. */
const rooms: Readonly<Record<string, readonly string[]>> = {
  attribution: [],
  visitors: [],
  recording: ["attribution", "visitors"],
  maintenance: ["recording"],
  formats: ["attribution"],
  import: ["attribution", "visitors", "recording", "maintenance", "formats"],
  live: ["attribution", "visitors", "recording"],
};

function findWrongImports(room: string, text: string): string[] {
  const imported = [...text.matchAll(/from "\.\.\/([\w-]+)/g)].map(([, name = ""]) => name);
  return imported.filter((name) => !rooms[room]?.includes(name));
}

describe("the rooms of the package", () => {
  const folder = fileURLToPath(new URL(".", import.meta.url));
  const found = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());

  it("are those of the README", () => {
    expect(found.map(({ name }) => name).sort()).toEqual(Object.keys(rooms).sort());
    const readme = readFileSync(join(folder, "../../README.md"), "utf8");
    for (const room of Object.keys(rooms)) expect(readme).toContain(`| \`${room}/\``);
  });

  it("import one way", () => {
    const wrong = found.flatMap(({ name: room }) =>
      readdirSync(join(folder, room))
        .filter((file) => !/\.(test|fixture)\.ts$/.test(file))
        .flatMap((file) =>
          findWrongImports(room, readFileSync(join(folder, room, file), "utf8")).map(
            (name) => `${room}/${file}: ${name}`,
          ),
        ),
    );
    expect(wrong).toEqual([]);
    expect(findWrongImports("recording", 'import { a } from "../live/a.js";')).toEqual(["live"]);
  });
});

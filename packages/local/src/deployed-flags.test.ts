import { readFileSync } from "node:fs";
import { expect, it } from "@jest/globals";
import { deployedFlags } from "./deployed-flags.js";

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");

it.each(["trace-api", "analytics-api", "collector", "worker", "dashboard"])(
  "the image and the start script of %s have the deployed flags",
  (name) => {
    const entry = `apps/${name}/dist/main.js`;
    const command = read("docker/Dockerfile").match(new RegExp(`^CMD (\\[.*"${entry}"\\])$`, "m"))?.[1] ?? "[]";
    const [sourceMaps, ...memory] = deployedFlags(name);
    // The images have source maps by NODE_OPTIONS, for all programs.
    expect(JSON.parse(command)).toEqual(["node", ...memory, entry]);
    expect(read("docker/Dockerfile")).toContain(`NODE_OPTIONS=${sourceMaps}`);
    const { scripts } = JSON.parse(read(`apps/${name}/package.json`));
    expect(scripts.start).toBe(`node ${deployedFlags(name).join(" ")} dist/main.js`);
  },
);

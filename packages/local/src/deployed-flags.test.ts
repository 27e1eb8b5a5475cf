import { readFileSync } from "node:fs";
import { parseEnv } from "node:util";
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

it("the unit has the flags of apps under load", () => {
  expect(read("docker/systemd/waymark@.service")).toContain(
    `ExecStart=/usr/bin/node ${deployedFlags("trace-api").join(" ")} apps/%i/dist/main.js`,
  );
});

it("first and second instances have ports of their own, and nginx leads to both", () => {
  const [first, second] = ["waymark", "waymark-2"].map((name) => parseEnv(read(`docker/systemd/${name}.env`)));
  const ports = [first, second].map((env = {}) => Object.entries(env).filter(([name]) => name.endsWith("_PORT")));
  expect(new Set(ports.flat().map(([, port]) => port)).size).toBe(20);
  const addressesOf = (entries: [string, string | undefined][] = []) =>
    entries.filter(([name]) => !name.endsWith("METRICS_PORT")).map(([, port]) => `127.0.0.1:${port}`);
  const upstreams = [...read("docker/nginx.conf").matchAll(/^ {2}server (\S+) max_fails/gm)].map(([, to]) => to);
  expect(upstreams.sort()).toEqual([...addressesOf(ports[0]), ...addressesOf(ports[1])].sort());
  expect(read("docker/systemd/waymark-2@.service")).toBe(read("docker/systemd/waymark@.service"));
});

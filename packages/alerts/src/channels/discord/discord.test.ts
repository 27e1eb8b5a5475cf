import { describe, expect, it } from "@jest/globals";
import type { Message } from "../../sending/compose-message.js";
import { compose, digest, longDigest, sendBy } from "../../sending/message.fixture.js";
import { discord } from "./discord.js";

const post = async (message: Message) => JSON.parse((await sendBy(discord, message)).body);

describe("a message in Discord", () => {
  it("tells nobody by name, and formats nothing", async () => {
    const { content, allowed_mentions } = await post(compose());
    expect(content).toContain("`answer <!channel> ˋ@everyoneˋ`");
    expect(content.match(/```/g)).toHaveLength(2);
    expect(content.length).toBeLessThanOrEqual(2_000);
    expect(allowed_mentions).toEqual({ parse: [] });
  });

  it("of a digest has the line of the number, and the groups, most frequent first", async () => {
    const { content: text } = await post(digest());
    expect(text).toMatch(/^Failed traces: 12$/m);
    expect(text.indexOf("7 traces, second")).toBeGreaterThan(0);
    expect(text.indexOf("7 traces, second")).toBeLessThan(text.indexOf("4 traces, first"));
  });

  it("ends at a line where it is too long", async () => {
    const { content: text } = await post(longDigest());
    expect(text.length).toBeLessThanOrEqual(2_000);
    expect(text).toMatch(/\n…$/);
  });
});

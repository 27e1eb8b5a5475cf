import { describe, expect, it } from "@jest/globals";
import type { Message } from "../../sending/compose-message.js";
import { compose, digest, longDigest, sendBy } from "../../sending/message.fixture.js";
import { slack } from "./slack.js";

const post = async (message: Message) => JSON.parse((await sendBy(slack, message)).body);

describe("a message in Slack", () => {
  it("tells nobody by name, formats nothing, and shows no previews", async () => {
    const { text, ...more } = await post(compose());
    expect(text).toContain("`answer &lt;!channel&gt; ˋ@everyoneˋ`");
    expect(text).not.toContain("<!channel>");
    expect(text).not.toContain("<b>");
    expect(text.length).toBeLessThanOrEqual(3_000);
    expect(more).toEqual({ unfurl_links: false, unfurl_media: false });
  });

  it("of a digest has the line of the number, and the groups, most frequent first", async () => {
    const { text } = await post(digest());
    expect(text).toMatch(/^Failed traces: 12$/m);
    expect(text.indexOf("7 traces, second")).toBeGreaterThan(0);
    expect(text.indexOf("7 traces, second")).toBeLessThan(text.indexOf("4 traces, first"));
  });

  it("ends at a line where it is too long", async () => {
    const { text } = await post(longDigest());
    expect(text.length).toBeLessThanOrEqual(3_000);
    expect(text).toMatch(/\n…$/);
  });
});

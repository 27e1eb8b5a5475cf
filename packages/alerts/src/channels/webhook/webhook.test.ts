import { createHmac } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { compose, sendBy } from "../../sending/message.fixture.js";
import { webhook } from "./webhook.js";

describe("a webhook", () => {
  it("gets the event as JSON, signed with its secret", async () => {
    const key = Buffer.from("0123456789abcdef");
    const { headers = {}, body } = await sendBy(webhook, compose(), `whsec_${key.toString("base64")}`);
    expect(JSON.parse(body)).toMatchObject({ type: "trace.failed", data: { trace_id: "0190", failed_span: "call" } });
    const signed = `event_channel.${headers["webhook-timestamp"]}.${body}`;
    expect(headers).toMatchObject({
      "content-type": "application/json",
      "webhook-id": "event_channel",
      "webhook-signature": `v1,${createHmac("sha256", key).update(signed).digest("base64")}`,
    });
  });
});

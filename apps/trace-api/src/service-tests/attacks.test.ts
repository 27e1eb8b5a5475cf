import { beforeAll, describe, expect, it } from "@jest/globals";
import { createAccount, issueKey } from "@waymark/accounts";
import { watched } from "@waymark/testing";
import { traceBody } from "../app.fixture.js";
import { useServices } from "./services.fixture.js";

/** The deployed service with an attacker and a watcher, who must not wait. */
describe("a watcher is served beside", () => {
  const services = useServices();
  let url = "";
  let pid = 0;
  let [attacker, watcher] = ["", ""];
  beforeAll(async () => {
    const service = await services.start();
    pid = service.pid;
    url = `http://127.0.0.1:${service.port}/api/v1`;
    const makeKey = async (email: string) => {
      const { id } = await createAccount(services.prisma, { email, plan: "free" });
      return (await issueKey(services.pool, { accountId: id, service: "trace", name: "test" })).key;
    };
    [attacker, watcher] = [await makeKey("attacker@example.com"), await makeKey("watcher@example.com")];
  });
  const send = async (path: string, body: string) => {
    const headers = { Authorization: `Bearer ${attacker}`, "Content-Type": "application/json" };
    const answer = await fetch(`${url}${path}`, { method: "POST", headers, body });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
  const beside = <Result>(attack: () => Promise<Result>) =>
    watched({ url: `${url}/usage`, pid, headers: { Authorization: `Bearer ${watcher}` } }, attack);

  it("batches with two lists of 1.3 million elements", async () => {
    const { body } = await send("/traces", JSON.stringify(traceBody()));
    const batch = `{"spans":[${"{},".repeat(600_000)}{}],"spans":[${"{},".repeat(700_000)}{}]}`;
    const statuses = await beside(async () => {
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => send(`/traces/${body["trace_id"]}/spans/batch`, batch)),
      );
      return answers.map(({ status }) => status);
    });
    expect(new Set(statuses)).toEqual(new Set([400]));
  });
});

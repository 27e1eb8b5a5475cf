import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { afterEach, describe, expect, it } from "@jest/globals";
import { useDatabase } from "@waymark/testing";
import { type AccessListener, listenForAccessChanges } from "./access-changes.js";
import { createUuidV7 } from "./uuid.js";

const uuid = createUuidV7();

describe("listenForAccessChanges", () => {
  const database = useDatabase();
  const listeners: AccessListener[] = [];
  afterEach(() => Promise.all(listeners.splice(0).map((listener) => listener.stop())));

  function listen(connectionString = database.directUrl) {
    const heard: string[] = [];
    const states: boolean[] = [];
    const listener = listenForAccessChanges({
      connectionString,
      onChange: (accountId) => heard.push(accountId),
      onState: (listening) => states.push(listening),
      onError: () => undefined,
      heartbeatMs: 200,
      reconnectMs: 20,
    });
    listeners.push(listener);
    return { heard, states };
  }

  async function until(condition: () => boolean) {
    while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10));
  }

  async function makeAccount() {
    const id = uuid();
    await database.pool.query("INSERT INTO account (id, email, plan) VALUES ($1, $2, 'pro')", [
      id,
      `${id}@example.com`,
    ]);
    await database.pool.query(
      "INSERT INTO api_key (id, account_id, service, name, hash, hint) VALUES ($1, $2, 'trace', 'k', sha256($3), 'h')",
      [uuid(), id, Buffer.from(id)],
    );
    return id;
  }

  it("hears plans that change, keys that are revoked and accounts that go, also by hand-written SQL", async () => {
    const { heard, states } = listen();
    await until(() => states.at(-1) === true);
    const id = await makeAccount();
    await database.pool.query("UPDATE account SET plan = 'free' WHERE id = $1", [id]);
    await until(() => heard.length === 1);
    await database.pool.query("UPDATE api_key SET revoked_at = now() WHERE account_id = $1", [id]);
    await until(() => heard.length === 2);
    await database.pool.query("UPDATE api_key SET last_used_at = now() WHERE account_id = $1", [id]);
    await database.pool.query("DELETE FROM account WHERE id = $1", [id]);
    // The account and its key go in one transaction and notify once.
    await until(() => heard.length === 3);
    expect(heard).toEqual([id, id, id]);
  });

  it("says that it is down when its connection is cut, and listens again", async () => {
    const { heard, states } = listen();
    await until(() => states.at(-1) === true);
    await database.pool.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'waymark access listener'",
    );
    await until(() => states.includes(false) && states.at(-1) === true);
    const id = await makeAccount();
    // A busy machine may lose the connection once more, and what it would have told.
    for (let n = 0; !heard.includes(id); n++) {
      await database.pool.query("UPDATE account SET plan = $2 WHERE id = $1", [id, n % 2 === 0 ? "free" : "pro"]);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  });

  it("goes down when the connection is open and delivers nothing", async () => {
    const { states } = listen();
    await until(() => states.at(-1) === true);
    const { rows } = await database.pool.query<{ pid: number }>(
      "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'waymark access listener'",
    );
    expect(rows).toHaveLength(1);
    // A stopped server process keeps its socket open and answers nothing.
    process.kill(rows[0]?.pid ?? 0, "SIGSTOP");
    await until(() => states.includes(false));
    process.kill(rows[0]?.pid ?? 0, "SIGCONT");
    await until(() => states.at(-1) === true);
  });

  it("connects no more after stop, though the server broke off with its answer to LISTEN", async () => {
    const message = (type: string, body: string) => {
      const length = Buffer.alloc(4);
      length.writeInt32BE(body.length + 4);
      return Buffer.concat([Buffer.from(type), length, Buffer.from(body, "latin1")]);
    };
    const ready = message("Z", "I");
    const ended = message("E", "SFATAL\0C57P01\0Mterminating connection\0\0");
    let connections = 0;
    const server = createServer((socket) => {
      connections++;
      socket.once("data", () => {
        socket.write(Buffer.concat([message("R", "\0\0\0\0"), ready]));
        socket.once("data", () => socket.end(Buffer.concat([message("C", "LISTEN\0"), ready, ended])));
      });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;

    const { states } = listen(`postgres://nobody@127.0.0.1:${port}/none`);
    await until(() => states.includes(false));
    await listeners[0]?.stop();
    const before = connections;
    await new Promise((resolve) => setTimeout(resolve, 200));
    server.close();
    expect(connections).toBe(before);
    expect(states).not.toContain(true);
  });
});

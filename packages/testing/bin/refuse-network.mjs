// Tests talk to this machine only: a connection to any other address fails at once, and says so.
import net from "node:net";

const connect = net.Socket.prototype.connect;
net.Socket.prototype.connect = function (...args) {
  const [options] = Array.isArray(args[0]) ? args[0] : args;
  const host = typeof options === "object" && options !== null ? (options.host ?? "localhost") : args[1];
  const path = typeof options === "object" && options !== null ? options.path : undefined;
  const local =
    path !== undefined || typeof host !== "string" || /^(localhost|127\.|::1|\[::1\]|::ffff:127\.)/.test(host);
  if (!local) {
    // Also on stderr, since a library may keep its failures to itself.
    const refusal = `A test tried to reach ${host}; tests reach this machine only.`;
    process.stderr.write(`${refusal}\n`);
    throw new Error(refusal);
  }
  return connect.apply(this, args);
};

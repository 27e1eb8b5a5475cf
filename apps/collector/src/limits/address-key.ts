/**
 * The name under which an address is limited: an IPv4 address itself, and the network of 64 bits of an IPv6 address, which
 * is the least that one customer is given (RFC 6177, 2) and all of which one machine can use.
 */
export function addressKey(ip: string): string {
  if (!ip.includes(":")) return ip;
  const [head = "", tail] = (ip.split("%")[0] ?? "").split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail ? tail.split(":") : [];
  // An IPv4 address at the end stands for two groups.
  const groups = left.length + right.length + (tail?.includes(".") ? 1 : 0);
  const zeros = tail === undefined ? [] : new Array<string>(Math.max(0, 8 - groups)).fill("0");
  const network = [...left, ...zeros, ...right].slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${network.join(":")}::/64`;
}

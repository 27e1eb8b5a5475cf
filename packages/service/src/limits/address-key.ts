/**
 * The key of an address in limits: an IPv4 address, or the network of so many bits of an IPv6 address. One customer gets at
 * least 64 bits (RFC 6177, 2), and one machine can use all of them; a site often gets 48.
 */
export function addressKey(ip: string, bits: 48 | 64 = 64): string {
  if (!ip.includes(":")) return ip;
  const [head = "", tail] = (ip.split("%")[0] ?? "").split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail ? tail.split(":") : [];
  // An IPv4 address at the end takes two groups.
  const groups = left.length + right.length + (tail?.includes(".") ? 1 : 0);
  const zeros = tail === undefined ? [] : new Array<string>(Math.max(0, 8 - groups)).fill("0");
  const network = [...left, ...zeros, ...right]
    .slice(0, bits / 16)
    .map((group) => Number.parseInt(group, 16).toString(16));
  return `${network.join(":")}::/${bits}`;
}

/** SQL that writes a timestamp as answers have it: UTC with `Z`, milliseconds, and microseconds where there are any. Sessions speak UTC. */
export function isoText(column: string): string {
  return `replace(to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), '000Z', 'Z')`;
}

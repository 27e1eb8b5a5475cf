/** A test for the paths of a page pattern: `*` stands for any text, the rest for itself. It takes no regular expression's time. */
export function compilePattern(pattern: string): (path: string) => boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return (path) => path === pattern;
  return (path) => {
    if (!path.startsWith(first)) return false;
    let at = first.length;
    for (const part of rest) {
      const found = path.indexOf(part, at);
      if (found < 0) return false;
      at = found + part.length;
    }
    return path.length - last.length >= at && path.endsWith(last);
  };
}

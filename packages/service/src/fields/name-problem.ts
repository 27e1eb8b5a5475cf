const address = /https?:|\/\/|@|[\p{L}\p{N}][.。．｡]\p{L}{2,}/iu;

export function nameProblem(text: string): string | undefined {
  return address.test(text) ? "Must not have an address of a website or of mail in it" : undefined;
}

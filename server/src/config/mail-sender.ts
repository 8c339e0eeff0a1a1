const senderPattern =
  /^(?:(?<bare>[^\s<>,;@]+@[^\s<>,;@]+)|(?<name>[^\p{Cc}<>]*)<(?<bracketed>[^\s<>,;@]+@[^\s<>,;@]+)>)$/u;

/**
 * Parses the sender of mails: an address, or a name and an address in angle brackets. Returns undefined for other
 * strings.
 */
export function parseSender(text: string): { name: string; address: string } | undefined {
  const groups = senderPattern.exec(text)?.groups;
  if (groups === undefined) return undefined;
  return {
    name: (groups["name"] ?? "").trim().replace(/^"([^"]*)"$/, "$1"),
    address: groups["bracketed"] ?? groups["bare"] ?? "",
  };
}

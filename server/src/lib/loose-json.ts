import { parseJson } from "./json.ts";

/**
 * Reads JSON whose texts may stand in single quotes.
 *
 * @throws SyntaxError
 */
export function parseLooseJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    if (!text.includes("'")) throw error;
    return parseJson(inDoubleQuotes(text));
  }
}

/** The rest of a text in quotes, with its escapes and its end. */
const rests = { '"': /(?:[^"\\]|\\.)*"/sy, "'": /(?:[^'\\]|\\.)*'/sy };

/** One pass: a text without an end ends it, and nothing is looked at twice. */
function inDoubleQuotes(text: string): string {
  const quote = /["']/g;
  const parts: string[] = [];
  let from = 0;
  for (let found = quote.exec(text); found !== null; found = quote.exec(text)) {
    const mark = found[0] === "'" ? "'" : '"';
    const rest = rests[mark];
    rest.lastIndex = found.index + 1;
    const [quoted] = rest.exec(text) ?? [];
    if (quoted === undefined) throw new SyntaxError("A text has no end");
    const inner = quoted.slice(0, -1);
    parts.push(text.slice(from, found.index), `"${mark === "'" ? reescape(inner) : inner}"`);
    from = found.index + 1 + quoted.length;
    quote.lastIndex = from;
  }
  parts.push(text.slice(from));
  return parts.join("");
}

/** What stood in single quotes, for double ones. */
function reescape(inner: string): string {
  return inner.replaceAll(/\\.|"/gs, (part) => (part === "\\'" ? "'" : part === '"' ? '\\"' : part));
}

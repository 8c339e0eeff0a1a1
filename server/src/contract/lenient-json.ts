import { parseJson } from "../lib/json.ts";

/**
 * Parses JSON whose strings may be in single quotes.
 *
 * @throws SyntaxError
 */
export function parseLenientJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    if (!text.includes("'")) throw error;
    return parseJson(inDoubleQuotes(text));
  }
}

/** The rest of a string after its opening quote, including escapes and the closing quote. */
const rests = { '"': /(?:[^"\\]|\\.)*"/sy, "'": /(?:[^'\\]|\\.)*'/sy };

/** Rewrites the text in a single pass, so that unterminated strings do not cause quadratic time. */
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

/** Escapes the content of a single-quoted string for double quotes. */
function reescape(inner: string): string {
  return inner.replaceAll(/\\.|"/gs, (part) => (part === "\\'" ? "'" : part === '"' ? '\\"' : part));
}

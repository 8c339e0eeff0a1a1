import { hash } from "node:crypto";
import { isPythonFrame, readFrame } from "./stack-frames.ts";

/** Groups crash reports by bug. */
export interface CrashIdentity {
  /** 32 hexadecimal digits, equal for all reports of the bug. */
  readonly fingerprint: string;
  /** A line of at most 256 characters that describes the bug to people. */
  readonly title: string;
}

/** Bounded, so that the depth of a recursion or of the calling framework does not change the fingerprint. */
const framesMax = 30;
/** A longer trace is read only at its beginning and end, because the innermost frames are at one of them. */
const linesMax = 2_000;
const lineCharactersMax = 1_000;
const titleCharactersMax = 256;

/**
 * Reads a stack trace of any runtime, in linear time.
 *
 * The fingerprint covers the types of the exceptions and the innermost frames, each once. Without frames, it covers the
 * text without numbers, or the complete text if it has no letters otherwise.
 */
export function identifyCrash(stackTrace: string, message: string | null): CrashIdentity {
  const lines = linesOf(stackTrace);
  const { frames, types, headline, topFrame } = readLines(lines);
  const parts = frames.size > 0 ? [...types, ...frames] : lines.slice(0, framesMax).map(withoutNumbers);
  const isEmpty = parts.every((part) => !/\p{L}/u.test(part));
  return {
    fingerprint: hash("sha256", isEmpty ? stackTrace.trim() : parts.join("\n"), "hex").slice(0, 32),
    title: titleFrom(headline ?? linesOf(message ?? "")[0] ?? topFrame ?? lines[0] ?? ""),
  };
}

interface Reading {
  readonly frames: ReadonlySet<string>;
  readonly types: ReadonlySet<string>;
  /** The line that names the exception, unchanged. */
  readonly headline: string | undefined;
  readonly topFrame: string | undefined;
}

function readLines(lines: readonly string[]): Reading {
  const frames = new Set<string>();
  const types = new Set<string>();
  let headline: string | undefined;
  let topFrame: string | undefined;
  const isPython = lines.some(isPythonFrame);
  const indexes = isPython ? [...lines.keys()].reverse() : lines.keys();
  let isFirst = true;
  for (const index of indexes) {
    const line = lines[index] ?? "";
    const frame = readFrame(line, lines[index + 1] ?? "");
    if (frame !== undefined) {
      topFrame ??= line;
      frames.add(frame);
      if (frames.size === framesMax) break;
    } else if (isFirst || !isPythonFrame(lines[index - 1] ?? "")) {
      // The line below a Python frame is its source code.
      const type = readType(line, isFirst);
      if (type !== undefined) {
        types.add(type);
        headline ??= line;
      }
    }
    isFirst = false;
  }
  return { frames, types, headline, topFrame };
}

/** Escape sequences of terminals; other control characters count as spaces. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they begin with one
const ansi = /\u001b\[[0-9;?]*[ -/]*[@-~]/g;

function linesOf(text: string): string[] {
  const all = text.replaceAll(ansi, "").split(/[\r\n\u0085\u2028\u2029]+/);
  const read = all.length > linesMax ? [...all.slice(0, linesMax / 2), ...all.slice(-linesMax / 2)] : all;
  return read
    .map((line) =>
      line
        .trimStart()
        .slice(0, lineCharactersMax)
        .replaceAll(/[\s\p{Cc}]+/gu, " ")
        .trim(),
    )
    .filter((line) => line !== "");
}

const introduction =
  /^(?:Caused by:|\[cause\]:|Suppressed:|Wrapped by:|Exception in thread "[^"]*"|Uncaught(?: \(in promise\))?|Unhandled exception\.|Unhandled Exception:|--->) /;
const namedType = /^([\p{L}_$][\p{L}\p{N}_$.]*)(?: \[\w+\])?(:|$)/u;
const usualEnding = /(?:Error|Exception|Fault|Failure|Interrupt|Exit|Warning|Throwable|Violation)$/;

/** Other lines that name the exception; the type is in the capture group. */
const otherTypes: readonly RegExp[] = [
  /\bsignal \d+ \((SIG\w+)\)(?:, code -?\d+ \((\w+)\))?/,
  /\bsignal (SIG\w+)/,
  /^Exception Type: (\w+)(?: \((\w+)\))?/,
  /uncaught exception '([^']+)'/,
  /uncaught exception of type ([\w:]+)/,
  /^panic: (runtime error: [^[\d]+)/,
  /\b(fatal error: [^[\d:]+)/i,
  /^(Null check operator used on a null value|type '[^']+' is not a subtype of type '[^']+')/,
];

/**
 * Returns the type of the exception that a line names.
 *
 * @param isFirst whether runtimes print the type in this line, so that any name before a colon is a type
 */
function readType(line: string, isFirst: boolean): string | undefined {
  for (const pattern of otherTypes) {
    const found = pattern.exec(line);
    if (found !== null) return found.slice(1).filter(Boolean).join(" ").trim();
  }
  const rest = line.replace(introduction, "");
  const [, name, end] = namedType.exec(rest) ?? [];
  if (name === undefined) return undefined;
  const isExpected = rest !== line || (isFirst && end === ":");
  return isExpected || usualEnding.test(name) ? name : undefined;
}

/** Removes the parts of a line that vary between runs, in a text without frames. */
function withoutNumbers(line: string): string {
  return line
    .split(" ")
    .map((word) => {
      const [path = ""] = word.split(/[?#]/, 1);
      return path
        .slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1)
        .replaceAll(/0x[0-9a-f]+/gi, "")
        .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi, "")
        .replaceAll(/[0-9a-f]{8,}/gi, (digits) => (/\d/.test(digits) ? "" : digits))
        .replaceAll(/\d+/g, "");
    })
    .join(" ");
}

function titleFrom(line: string): string {
  return [...line].slice(0, titleCharactersMax).join("").trim();
}

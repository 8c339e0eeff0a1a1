import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import type { SourceFile } from "./import-ladder.ts";

/** Phrases that are hardly ever right in comments, test titles and documents, and what to write instead. */
const phrases: readonly (readonly [phrase: string, advice: string])[] = [
  ["all the same", 'write "nevertheless"'],
  ["anew", 'write "again"'],
  ["are told", 'write "receive" or "are notified"'],
  ["as ever", 'write "as usual"'],
  ["as it were", "leave it out"],
  ["breaks off", 'write "ends early" or "is interrupted"'],
  ["broke off", 'write "ended early" or "was interrupted"'],
  ["come to pass", 'write "happen"'],
  ["comes to pass", 'write "happens"'],
  ["dead token", 'write "invalid token"'],
  ["everybody", "name the actor: a client, a caller, a user, a process"],
  ["for ever", 'write "forever"'],
  ["gets rid of", 'write "removes" or "deletes"'],
  ["go on from", 'write "continue from"'],
  ["goes on from", 'write "continues from"'],
  ["hear of", 'write "receive" or "notice"'],
  ["heard of", 'write "reported" or "received"'],
  ["hears of", 'write "receives" or "notices"'],
  ["hitherto", 'write "until now"'],
  ["in the clear", 'write "in plain text" or "without TLS"'],
  ["is told", 'write "receives" or "is notified"'],
  ["kept replies", 'write "stored responses"'],
  ["kept reply", 'write "stored response"'],
  ["lest", 'write "so that … not"'],
  ["lets pass", 'write "admits"'],
  ["looked at", 'write "read" or "examined"'],
  ["loose bytes", 'write "orphaned objects"'],
  ["nobody", "name the actor: no client, no other user, no process"],
  ["of its own accord", 'write "automatically"'],
  ["of this moment", 'write "current"'],
  ["one's own", 'write "the caller\'s own"'],
  ["oneself", 'write "the caller" or "the user"'],
  ["puts back", 'write "restores"'],
  ["sign of life", 'write "heartbeat" or "answer"'],
  ["so often", "write how often"],
  ["somebody", "name the actor: a client, a caller, a user, a process"],
  ["tell apart", 'write "distinguish"'],
  ["tells apart", 'write "distinguishes"'],
  ["tells of", 'write "reports" or "describes"'],
  ["thereof", 'write "of it"'],
  ["told apart", 'write "distinguished"'],
  ["told of", 'write "notified of"'],
  ["turn of the event loop", 'write "tick"'],
  ["was told", 'write "received" or "was notified"'],
  ["what became of", 'write "the outcome of"'],
  ["whoever", "name the actor: a client, a caller, a user, a process"],
  ["words of ours", 'write "fixed words"'],
];

const patterns = phrases.map(([phrase, advice]) => ({
  pattern: new RegExp(`(?<![\\w-])${phrase.replaceAll(" ", "\\s+")}(?![\\w-])`, "gi"),
  advice,
}));

/** Replaces code and separates titles, so that a phrase does not match across them. */
const edge = "\0";

/** Reads the sources and documents of the project for `findPhrases`. */
export function readWrittenFiles(root: string): SourceFile[] {
  return globSync(
    [
      "{bench,console,faults,fuzz,scripts,sdk,server,testkit,verify}/**/*.{ts,tsx}",
      "*.md",
      "{console,deploy,docs,sdk,server}/**/*.md",
    ],
    {
      cwd: root,
      // The test has the phrases as its examples; generated and compiled code repeats texts from elsewhere.
      exclude: [
        "**/node_modules/**",
        "server/test/word-list.test.ts",
        "sdk/src/generated/**",
        "{console,sdk,server}/dist/**",
      ],
    },
  )
    .map((file) => ({ path: file.replaceAll(path.sep, "/"), text: readFileSync(path.join(root, file), "utf8") }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Finds phrases of the word list. Returns one line for each, with file and line number. */
export function findPhrases(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path: file, text }) => {
    const prose = file.endsWith(".md") ? proseOfDocument(text) : proseOfCode(text);
    return patterns
      .flatMap(({ pattern, advice }) =>
        Array.from(prose.matchAll(pattern), (match) => ({
          line: prose.slice(0, match.index).split("\n").length,
          found: match[0].replaceAll(/\s+/g, " "),
          advice,
        })),
      )
      .sort((a, b) => a.line - b.line)
      .map(({ line, found, advice }) => `${file}:${line}: "${found}": ${advice}`);
  });
}

/** Returns a document without its code, line by line. */
function proseOfDocument(text: string): string {
  return withoutCodeSpans(text.replaceAll(/^ *```.*?^ *```/gms, (code) => edge + code.replaceAll(/[^\n]/g, "")));
}

/** Returns the comments and test titles of a source file, line by line. */
function proseOfCode(text: string): string {
  const prose = text.split("\n").map((line) => {
    const [, whole, trailing = ""] = /^\s*(?:\/\/|\/?\*+)(.*)|\s\/\/ (.*)/.exec(line) ?? [];
    return withoutCodeSpans(whole ?? edge + trailing);
  });
  for (const title of text.matchAll(/\b(?:describe|it|test)\(\s*(["'`])((?:\\.|(?!\1)[^\\])*)\1/g)) {
    const line = text.slice(0, title.index).split("\n").length - 1;
    prose[line] += `${title[2]?.replaceAll("\n", " ")}${edge}`;
  }
  return prose.join("\n");
}

function withoutCodeSpans(text: string): string {
  return text.replaceAll(/`[^`\n]+`/g, edge);
}

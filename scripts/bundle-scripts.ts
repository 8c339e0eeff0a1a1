/**
 * Turns the modules of a bundle into scripts, which `bundled-program.mjs` evaluates: V8 can keep the compiled functions of a
 * script that has run, but those of a module only before it runs.
 */

/** The first line of a file, except for that which names its interpreter. The head of the script takes its place. */
export const headLine = "//";

/**
 * Replaces import and export statements. The lines and columns of everything else stay, for its source map.
 *
 * @param text a file that esbuild has written without white space
 * @param isEntry whether a process begins with it: it may then wait at its top level
 * @throws Error when a file exports a value that changes: those that import it take the first value
 */
export function toScript(text: string, isEntry: boolean): string {
  const names = exportedNames(text);
  const changing = names.filter(([local]) => isAssignedAgain(local, text));
  if (changing.length > 0) throw new Error(`exported values change: ${changing.join(" ")}`);
  const script = text
    .replace(/^#!.*/, "")
    .replace(headLine, `(${isEntry ? "async " : ""}function($,lazily,require,meta){"use strict";`)
    .replaceAll(/\bimport\{([^}]*)\}from("\.\/[^"]+");/g, (_, taken, file) => `const {${pairs(taken, 4)}}=$(${file});`)
    .replaceAll(/\bimport("\.\/[^"]+");/g, (_, file) => `$(${file});   `)
    .replaceAll(
      /\bimport\{([^}]*)\}from("[^."][^"]*");/g,
      (_, taken, name) => `const {${pairs(taken)}}=require(${name});`,
    )
    .replaceAll(/\bimport\("/g, 'lazily("')
    .replace(exportStatement, "")
    .replace(
      /\n(?=\/\/# sourceMappingURL=.*\s*$)/,
      `;return {${names.map(([local, name]) => `${name}:${local}`)}};})\n`,
    );
  if (/[;}\n]import[ *{"]|\bimport\(/.test(script))
    throw new Error("an import statement of a form that is not expected");
  return script;
}

const exportStatement = /\bexport\{([^}]*)\};(?=\s*\/\/# sourceMappingURL=.*\s*$)/;

function exportedNames(text: string): [local: string, name: string][] {
  const [, list = ""] = exportStatement.exec(text) ?? [];
  return list
    .split(",")
    .filter((each) => each !== "")
    .map((each) => {
      const [local = "", name = local] = each.split(" as ");
      return [local, name];
    });
}

/** `a as b` becomes `a:b`. */
function pairs(list: string, width = 1): string {
  return list.replaceAll(" as ", ":".padEnd(width));
}

function isAssignedAgain(name: string, text: string): boolean {
  const escaped = name.replaceAll("$", "\\$");
  const operators = String.raw`=(?![=>])|\+\+|--|(?:\?\?|\|\||&&|<<|>>|\*\*|[-+*/%&|^])=`;
  const assignments = text.match(
    new RegExp(`(?<![.\\w$#])${escaped}(?:${operators})|(?:\\+\\+|--)${escaped}(?![\\w$])`, "g"),
  );
  const isFunction = new RegExp(`function\\*? ${escaped}\\(`).test(text);
  return (assignments?.length ?? 0) + (isFunction ? 1 : 0) > 1;
}

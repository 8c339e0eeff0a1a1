import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const root = path.resolve(import.meta.dirname, "..");
export const sdkApiFile = "sdk/api.md";

/** A declaration of a module, as the compiler writes it, without comments. */
interface Declaration {
  readonly name: string;
  readonly text: string;
}

interface Module {
  readonly declarations: readonly Declaration[];
  /** The exports from other modules: the file of each, and the names, or all of them. */
  readonly reExports: readonly { readonly file: string; readonly names: ReadonlySet<string> | "all" }[];
  /** The file from which each imported name comes. */
  readonly imports: ReadonlyMap<string, string>;
}

/** The public interface of the client: the exports of each entry of the package, and the types that they refer to. */
export function renderSdkApi(): string {
  const folder = mkdtempSync(path.join(tmpdir(), "rollcall-sdk-api-"));
  try {
    const compiler = path.join(root, "node_modules/typescript/bin/tsc");
    const options = ["--emitDeclarationOnly", "--declarationMap", "false", "--outDir", folder];
    execFileSync(process.execPath, [compiler, "-p", path.join(root, "sdk/tsconfig.build.json"), ...options]);
    return renderReport(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function renderReport(folder: string): string {
  const modules = new Map<string, Module>();
  const shown = new Set<Declaration>();

  function moduleOf(file: string): Module {
    const known = modules.get(file);
    if (known !== undefined) return known;
    const module = parseModule(readFileSync(path.join(folder, `${file}.d.ts`), "utf8"), file);
    modules.set(file, module);
    return module;
  }

  /** The declarations of a name; a type and a value may share it. */
  function find(file: string, name: string): { readonly file: string; readonly declaration: Declaration }[] {
    const { declarations, reExports } = moduleOf(file);
    const own = declarations.filter((declaration) => declaration.name === name);
    if (own.length > 0) return own.map((declaration) => ({ file, declaration }));
    const named = reExports.filter(({ names }) => names !== "all" && names.has(name));
    const sources = named.length > 0 ? named : reExports.filter(({ names }) => names === "all");
    return sources.flatMap((source) => find(source.file, name));
  }

  function exportedNames(file: string): string[] {
    const { declarations, reExports } = moduleOf(file);
    const own = declarations.filter(({ text }) => text.startsWith("export ")).map(({ name }) => name);
    const others = reExports.flatMap(({ file, names }) => (names === "all" ? exportedNames(file) : [...names]));
    return [...new Set([...own, ...others])].sort();
  }

  /** Declarations that a text refers to, and those that these refer to. */
  function findReferred(file: string, { text }: Declaration): Declaration[] {
    const { declarations, imports } = moduleOf(file);
    return [...new Set(text.match(/\b[A-Za-z]\w*\b/g))].flatMap((name) => {
      const isOwn = declarations.some((declaration) => declaration.name === name);
      const source = isOwn ? file : imports.get(name);
      const found = source === undefined ? [] : find(source, name);
      return found.flatMap(({ file, declaration }) => {
        if (shown.has(declaration)) return [];
        shown.add(declaration);
        return [declaration, ...findReferred(file, declaration)];
      });
    });
  }

  const entries = readEntries();
  const exported = entries.map(({ file }) => exportedNames(file).flatMap((name) => find(file, name)));
  for (const { declaration } of exported.flat()) shown.add(declaration);
  const sections = entries.map(({ name }, index) => {
    const declarations = (exported[index] ?? []).map(({ declaration }) => declaration.text);
    return renderSection(`\`${name}\``, declarations);
  });
  const referred = exported.flat().flatMap(({ file, declaration }) => findReferred(file, declaration));
  const others = referred.map(({ text }) => text.replace(/^export /, "")).sort();
  return `<!-- Written by "npm run docs" from sdk/src. -->
# The public interface of the client

What each entry of the package exports, without comments. \`npm run check\` compares it with the sources, so that every change of the
interface shows in a review. The [README](README.md) shows the use.

${[...sections, renderSection("Types that these refer to", others)].join("\n")}`;
}

function renderSection(title: string, declarations: readonly string[]): string {
  return `## ${title}\n\n\`\`\`ts\n${declarations.join("\n")}\n\`\`\`\n`;
}

function readEntries(): { readonly name: string; readonly file: string }[] {
  const { exports }: { readonly exports: Readonly<Record<string, string | { readonly types: string }>> } = JSON.parse(
    readFileSync(path.join(root, "sdk/package.json"), "utf8"),
  );
  return Object.entries(exports).flatMap(([entry, target]) => {
    if (typeof target === "string") return [];
    return [{ name: path.posix.join("@rollcall/sdk", entry), file: path.basename(target.types, ".d.ts") }];
  });
}

/** Reads a module of declarations. In those of the compiler, only the lines of a new statement begin without a space. */
function parseModule(source: string, file: string): Module {
  const withoutComments = source.replaceAll(/^\s*\/\*\*[\s\S]*?\*\/\n|^\/\/.*\n/gm, "");
  const statements = withoutComments.split(/\n(?=[a-z])/).map((statement) => statement.trimEnd());
  const declarations: Declaration[] = [];
  const reExports: { file: string; names: ReadonlySet<string> | "all" }[] = [];
  const imports = new Map<string, string>();
  for (const text of statements) {
    const [, from] = /from "(\..*)\.ts";$/.exec(text) ?? [];
    const source = from === undefined ? undefined : path.posix.join(path.posix.dirname(file), from);
    const [, list = ""] = /\{(.*)\}/s.exec(text) ?? [];
    const names = list.split(",").flatMap((name) => name.trim().replace(/^type /, "") || []);
    const [, name] =
      /^(?:export )?(?:declare )?(?:abstract )?(?:class|const|function|interface|type) (\w+)/.exec(text) ?? [];
    if (source !== undefined && text.startsWith("export ")) {
      reExports.push({ file: source, names: list === "" ? "all" : new Set(names) });
    } else if (source !== undefined) for (const imported of names) imports.set(imported, source);
    else if (name !== undefined) declarations.push({ name, text });
    else if (text !== "" && text !== "export {};") throw new Error(`${file}.d.ts: what is "${text}"?`);
  }
  return { declarations, reExports, imports };
}

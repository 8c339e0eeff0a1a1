/**
 * Bundles the server: JavaScript files for each program and for each part that is loaded on demand, with source maps.
 * `node scripts/bundle.ts <folder>` writes them into an empty folder in `server/`.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import path from "node:path";
import { build, type Metafile, type OutputFile, type Plugin } from "esbuild";
import { headLine, toScript } from "./bundle-scripts.ts";

const root = path.resolve(import.meta.dirname, "..");

/** The files that processes are started with. They have these names in the bundle, too. */
const programs = ["main.ts", "cli.ts", "pictures/decoder-process.ts"];

/** Flags of V8 under which a program starts, and their values afterwards: main.ts says what its flag is for. */
const flagsOf: Readonly<Record<string, { readonly flags: string; readonly resetFlags: string }>> = {
  "main.ts": { flags: "--semi-space-growth-factor=1", resetFlags: "--semi-space-growth-factor=2" },
};

/** Packages that have native code, or are loaded by few deployments. Node.js finds them in node_modules. */
const external = [
  "@node-rs/argon2",
  "sharp",
  "@aws-sdk/*",
  "@opentelemetry/*",
  "@smithy/*",
  "@tus/server",
  "nodemailer",
  "prom-client",
];

/** Parts of pino that write to files and start threads: `log.ts` has a stream of its own, and loads what colours lines as installed. */
const unusedParts = /^(sonic-boom|thread-stream|worker_threads)$/;

/**
 * Takes the imported exports from Node.js's own modules. An import statement reads every export, and with that loads the modules
 * that Node.js itself loads on demand.
 */
const builtins: Plugin = {
  name: "builtins",
  setup(build) {
    build.onResolve({ filter: unusedParts }, ({ path: name }) => ({ path: name, namespace: "unused" }));
    build.onLoad({ filter: /.*/, namespace: "unused" }, () => ({
      contents: "module.exports = class Unused { static isMainThread = true; };",
    }));
    build.onLoad({ filter: /\.[jt]s$/ }, async ({ path: file }) => ({
      contents: takeFromBuiltins(await readFile(file, "utf8")),
      loader: file.endsWith(".ts") ? "ts" : "js",
    }));
  },
};

if (import.meta.main) await bundleServer(path.resolve(process.argv[2] ?? ""));

/** Replaces each import statement in place, so that the lines keep their numbers. */
function takeFromBuiltins(source: string): string {
  return source.replaceAll(
    /^import (?!type )([^'"]+) from ["']([^'"]+)["'];?$/gm,
    (statement, imported: string, name: string) => {
      if (!isBuiltin(name)) return statement;
      const names = imported
        .replace(/^\* as /, "")
        .replaceAll(/\btype \w+,?/g, "")
        .replace(/, \{\s*\}$/, "")
        .replaceAll(/(\w+) as (\w+)/g, "$1: $2");
      return `const ${names} = process.getBuiltinModule(${JSON.stringify(name)});`;
    },
  );
}

/** Writes the bundle into this folder, with the licences of the packages in it. */
export async function bundleServer(folder: string): Promise<void> {
  const inputs = await Promise.all(programs.map((program) => bundleProgram(program, folder)));
  writeFileSync(path.join(folder, "THIRD-PARTY-LICENSES.txt"), licencesOf(inputs.flat()));
}

/**
 * Bundles each program alone: code that programs share would be split into many small files, which take a tenth of the
 * start.
 *
 * @returns the paths of the sources
 */
async function bundleProgram(program: string, folder: string): Promise<string[]> {
  const { metafile, outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [path.join("server/src", program)],
    entryNames: "[name]-[hash]",
    outdir: folder,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node26",
    external,
    sourcemap: true,
    sourcesContent: false,
    legalComments: "none",
    minifySyntax: true,
    minifyWhitespace: true,
    metafile: true,
    write: false,
    plugins: [builtins],
    logLevel: "error",
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
    define: { "import.meta": "meta" },
    banner: { js: headLine },
  });
  writeScripts(program, folder, metafile, outputFiles);
  return Object.keys(metafile.inputs);
}

/** Programs share files, so each is written once it is a script. */
function writeScripts(program: string, folder: string, { outputs }: Metafile, files: readonly OutputFile[]): void {
  const starter = readFileSync(path.join(import.meta.dirname, "bundled-program.mjs"), "utf8");
  mkdirSync(folder, { recursive: true });
  for (const { path: file, text } of files) {
    const isEntry = outputs[path.relative(root, file)]?.entryPoint === path.join("server/src", program);
    writeFileSync(file, file.endsWith(".js") ? toScript(text, isEntry) : text);
    if (!isEntry) continue;
    const started = { file: path.basename(file), flags: "", resetFlags: "", ...flagsOf[program] };
    const starterText = starter.replace('{ file: "PROGRAM", flags: "", resetFlags: "" }', JSON.stringify(started));
    writeFileSync(path.join(folder, `${path.parse(program).name}.js`), starterText);
  }
}

function licencesOf(inputs: readonly string[]): string {
  const packages = new Set(inputs.flatMap((input) => /^node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0] ?? []));
  return [...packages].sort().map(describeLicence).join("\n\n");
}

function describeLicence(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(path.join(root, folder, "package.json"), "utf8"));
  const file = readdirSync(path.join(root, folder)).find((file) => /^licen[cs]e/i.test(file));
  const text = file === undefined ? "" : `\n${readFileSync(path.join(root, folder, file), "utf8")}`;
  return `## ${name} ${version} (${license})\n${text}`;
}

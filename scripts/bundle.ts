/**
 * Bundles the server with esbuild: an ES module for each program and for each part that is loaded on demand, with source maps.
 * `node scripts/bundle.ts <folder>` writes them into an empty folder in `server/`.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";

const root = path.resolve(import.meta.dirname, "..");

/** The files that processes are started with. The bundle has them in one folder. */
const programs = ["main.ts", "cli/cli.ts", "pictures/decoder-process.ts", "pictures/heic-worker.ts"];

/** Packages that have native code, or are loaded by few deployments. Node.js finds them in node_modules. */
const external = [
  "@node-rs/argon2",
  "libheif-js/*",
  "sharp",
  "@aws-sdk/*",
  "@opentelemetry/*",
  "@smithy/*",
  "@tus/server",
  "nodemailer",
  "prom-client",
];

if (import.meta.main) await bundleServer(path.resolve(process.argv[2] ?? ""));

/** Writes the bundle into this folder, with the licences of the packages in it. */
export async function bundleServer(folder: string): Promise<void> {
  const inputs = await Promise.all(programs.map((program) => bundleProgram(program, folder)));
  writeFileSync(path.join(folder, "THIRD-PARTY-LICENSES.txt"), licencesOf(inputs.flat()));
}

/**
 * Bundles each program alone: code that programs share would be split into many small modules, which take a fifth of the
 * processor time of a start, and 6 MB.
 *
 * @returns the paths of the sources
 */
async function bundleProgram(program: string, folder: string): Promise<string[]> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [path.join("server/src", program)],
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
    logLevel: "error",
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
    // Packages in CommonJS require modules of Node.js, and esbuild leaves these calls.
    banner: { js: "const require=process.getBuiltinModule;" },
  });
  return Object.keys(metafile.inputs);
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

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { compileKotlin } from "./openapi-generator.ts";
import { execute, fetchPackages, type Generator, type Workplace } from "./tools.ts";

/** The program in Kotlin that the console shows under Start, compiled and run. */
export const kotlinSnippet: Generator = {
  name: "snippet-kotlin",
  programs: ["java", "mvn"],
  mayBeSkipped: true,
  async run({ folder, server }) {
    const sources = path.join(folder, "src/main/kotlin");
    mkdirSync(sources, { recursive: true });
    writeFileSync(path.join(sources, "Main.kt"), await snippetIn("kotlin", server));
    await compileKotlin(folder);
    const listing = ["-q", "-B", "dependency:build-classpath", "-Dmdep.outputFile=classpath"];
    await fetchPackages("mvn", listing, { folder });
    const classpath = ["target/classes", readFileSync(path.join(folder, "classpath"), "utf8")].join(path.delimiter);
    const output = await execute("java", ["-cp", classpath, "MainKt"], { folder });
    for (const answered of [
      /"comment":"Hello"/,
      /"contentType":"text\/plain/,
      /"responses":\[\{"key":"0","status":200/,
    ])
      assert.match(output, answered);
  },
};

async function snippetIn(
  id: string,
  { ROLLCALL_URL, ROLLCALL_APPID, ROLLCALL_APPKEY }: Workplace["server"],
): Promise<string> {
  Object.assign(globalThis, { document: { baseURI: `${ROLLCALL_URL}/_/console/` } }); // the address of the console
  // Typed with the DOM, unlike this script.
  const file = path.resolve(import.meta.dirname, "../../console/src/start/start.programs.ts");
  const { programs } = await import(file);
  const program = programs.find((each: { readonly id: string }) => each.id === id);
  return program.text(ROLLCALL_APPID, ROLLCALL_APPKEY);
}

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
    assertAnswers(await execute("java", ["-cp", classpath, "MainKt"], { folder }));
  },
};

/** The same in Swift. */
export const swiftSnippet: Generator = {
  name: "snippet-swift",
  programs: ["swiftc"],
  mayBeSkipped: true,
  async run({ folder, server }) {
    writeFileSync(path.join(folder, "main.swift"), await snippetIn("swift", server));
    await execute("swiftc", ["main.swift", "-o", "snippet"], { folder });
    assertAnswers(await execute(path.join(folder, "snippet"), [], { folder }));
  },
};

/** The same in C#. */
export const csharpSnippet: Generator = {
  name: "snippet-csharp",
  programs: ["dotnet"],
  mayBeSkipped: true,
  async run({ folder, server }) {
    const [major] = (await execute("dotnet", ["--version"], { folder })).split(".");
    writeFileSync(path.join(folder, "snippet.csproj"), projectFor(`net${major}.0`));
    writeFileSync(path.join(folder, "Program.cs"), await snippetIn("csharp", server));
    assertAnswers(await execute("dotnet", ["run"], { folder }));
  },
};

/** The settings of `dotnet new console`. */
function projectFor(framework: string): string {
  return `<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup>
    <OutputType>Exe</OutputType>
    <TargetFramework>${framework}</TargetFramework>
    <ImplicitUsings>enable</ImplicitUsings>
    <Nullable>enable</Nullable>
  </PropertyGroup>
</Project>
`;
}

/** The answers to the check-in, the upload and the batch, as the languages print them. */
function assertAnswers(output: string): void {
  for (const answered of [/comment\W+Hello/, /contentType\W+text\/plain/, /status\W+200/])
    assert.match(output, answered);
}

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

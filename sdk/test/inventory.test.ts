// Runs on one engine: it starts no server.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import * as adminCalls from "../src/generated/admin.ts";
import * as calls from "../src/generated/calls.ts";
import * as errors from "../src/generated/errors.ts";

const root = path.resolve(import.meta.dirname, "../..");
const document: {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>;
  readonly "x-error-catalogue": readonly { readonly name: string }[];
} = JSON.parse(readFileSync(path.join(root, "docs/openapi.json"), "utf8"));

/** Streams, which the subscriptions of the client will read. */
const withoutMethod = new Set(["streamEvents", "createEventStream"]);

function operationsBelow(pattern: RegExp): string[] {
  const paths = Object.entries(document.paths).filter(([path]) => pattern.test(path));
  return paths.flatMap(([, methods]) => Object.values(methods).map(({ operationId }) => operationId));
}

/** What apps call: not the description of the process, and not the chunks of resumable uploads. */
const ofApps = operationsBelow(/^\/(?!_\/|files\/)/);

describe("the client covers the service", () => {
  it("every operation of the application API has a call", () => {
    assert.deepEqual(
      ofApps.filter((id) => !(id in calls)),
      [],
    );
    assert.deepEqual(Object.keys(calls).sort(), [...ofApps].sort());
  });

  it("every operation of the operator API has a call", () => {
    assert.deepEqual(Object.keys(adminCalls).sort(), operationsBelow(/^\/_\/api\//).sort());
  });

  it("every operation of the application API has a method in the client", () => {
    const files = globSync("sdk/src/{nouns,identity,batch}/**/*.ts", { cwd: root, exclude: ["**/*.test.ts"] });
    const sources = [...files, "sdk/src/rollcall.ts"].map((file) => readFileSync(path.join(root, file), "utf8"));
    const withoutImports = sources.map((source) => source.replaceAll(/^import [^;]*;$/gm, ""));
    const used = new Set(withoutImports.join("\n").match(/\b\w+\b/g));
    assert.deepEqual(
      ofApps.filter((id) => !used.has(id) && !withoutMethod.has(id)),
      [],
    );
  });

  it("every error condition has a class", () => {
    const names = new Set(document["x-error-catalogue"].map(({ name }) => name));
    assert.deepEqual(Object.keys(errors).sort(), [...names].sort());
  });
});

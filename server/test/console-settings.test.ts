// Runs on one engine: compares a list of the console with a document.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { it } from "node:test";

interface Schema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
}

const root = path.resolve(import.meta.dirname, "../..");

it("the console has a field for every setting of an application", async () => {
  const document = JSON.parse(readFileSync(path.join(root, "docs/openapi.operators.json"), "utf8"));
  const schemas: Readonly<Record<string, Schema>> = document.components.schemas;
  const membersOf = ({ $ref, properties }: Schema) =>
    properties ?? schemas[$ref?.slice($ref.lastIndexOf("/") + 1) ?? ""]?.properties;
  const settings = Object.entries(membersOf({ $ref: "ApplicationSettings" }) ?? {}).flatMap(([name, schema]) => {
    const inner = membersOf(schema);
    return inner === undefined ? [name] : Object.keys(inner).map((member) => `${name}.${member}`);
  });
  assert.ok(settings.length > 0);
  // Imported by a computed path, because the console is typed with the DOM and the server is not.
  const { parts } = await import(path.join(root, "console/src/settings/settings.parts.ts"));
  const fields = parts.flatMap((part: { readonly fields: readonly { readonly path: string }[] }) => part.fields);
  assert.deepEqual(fields.map((field: { readonly path: string }) => field.path).sort(), settings.sort());
});

// Runs on one engine: it starts no server.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { clientEventTypes } from "../../server/src/event-log/event-types.ts";
import * as adminCalls from "../src/generated/admin.ts";
import * as calls from "../src/generated/calls.ts";
import * as errors from "../src/generated/errors.ts";
import * as sessionCalls from "../src/generated/operator-sessions.ts";
import { ownedCalls } from "../src/nouns/owned.ts";
import type { AnyCall } from "../src/wire/call.ts";

const root = path.resolve(import.meta.dirname, "../..");
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>;
  readonly "x-error-catalogue": readonly { readonly name: string }[];
}

const document = readDocument("docs/openapi.json");
const forOperators = readDocument("docs/openapi.operators.json");

function readDocument(file: string): Document {
  return JSON.parse(readFileSync(path.join(root, file), "utf8"));
}

/** Streams, which the subscriptions of the client read, and calls that apps make with `rollcall.send`. */
const withoutMethod = new Set(["streamEvents", "createEventStream", "requestEmailCode", "verifyEmail"]);

function operationsBelow(pattern: RegExp, { paths: all } = document): string[] {
  const paths = Object.entries(all).filter(([path]) => pattern.test(path));
  return paths.flatMap(([, methods]) => Object.values(methods).map(({ operationId }) => operationId));
}

/** The operations that apps call: not the description of the process, and not the chunks of resumable uploads. */
const ofApps = operationsBelow(/^\/(?!_\/|files\/)/);

/** The calls of a kind by their ids. */
function callsOf(kind: string, flags = ""): Readonly<Record<string, (...args: readonly unknown[]) => AnyCall>> {
  const { create, get, search, change, remove, read } = ownedCalls(kind, flags);
  const all = {
    [`create${kind}`]: create,
    [`get${kind}`]: get,
    [`search${kind}s`]: search,
    [`change${kind}`]: change,
    [`delete${kind}`]: remove,
    [`read${kind}File`]: read,
  };
  return all as never;
}

describe("the client covers the service", () => {
  it("every operation of the application API has a call", () => {
    assert.deepEqual(
      ofApps.filter((id) => !(id in calls)),
      [],
    );
    assert.deepEqual(Object.keys(calls).sort(), [...ofApps].sort());
  });

  it("every operation of the operator API has a call", () => {
    const named = Object.keys({ ...adminCalls, ...sessionCalls });
    assert.deepEqual(named.sort(), operationsBelow(/^\/_\/api\//, forOperators).sort());
  });

  it("every operation of the application API has a method in the client", () => {
    const files = globSync("sdk/src/{nouns,identity,batch}/**/*.ts", { cwd: root, exclude: ["**/*.test.ts"] });
    const sources = [...files, "sdk/src/rollcall.ts"].map((file) => readFileSync(path.join(root, file), "utf8"));
    const withoutImports = sources.map((source) => source.replaceAll(/^import [^;]*;$/gm, ""));
    const text = withoutImports.join("\n");
    const kinds = [...text.matchAll(/ownedCalls\(\s*"(\w+)"/g)].map(([, kind = ""]) => kind);
    const used = new Set([...(text.match(/\b\w+\b/g) ?? []), ...kinds.flatMap((kind) => Object.keys(callsOf(kind)))]);
    assert.deepEqual(
      ofApps.filter((id) => !used.has(id) && !withoutMethod.has(id)),
      [],
    );
  });

  it("the calls of kinds equal the calls of the service", () => {
    const generated: Readonly<Record<string, (...args: readonly unknown[]) => AnyCall>> = calls as never;
    for (const kind of ["Checkin", "Location", "Picture", "Video", "Blob"]) {
      const hasFile = `read${kind}File` in generated;
      for (const [id, describeCall] of Object.entries(callsOf(kind, hasFile ? "sf" : ""))) {
        const isRead = id.startsWith("read");
        if (isRead) assert.equal(id in generated, hasFile);
        if (isRead && !hasFile) continue;
        const args = /^(?:create|search)/.test(id) ? [{ tag: "a" }] : ["id_1", { tag: "a" }];
        assert.deepEqual(describeCall(...args), generated[id]?.(...args));
      }
    }
  });

  it("every type of event that clients may request is in the types of subscriptions", () => {
    const source = readFileSync(path.join(root, "sdk/src/parts/events/live-event.ts"), "utf8");
    const typesOf = (text: string) => [...text.matchAll(/"(\w+\.\w+)"/g)].map(([, type = ""]) => type);
    assert.deepEqual(typesOf(source).sort(), [...clientEventTypes].sort());
    const [, kinds = ""] = /type EventKind =([^;]*);/.exec(source) ?? [];
    const known = [...kinds.matchAll(/"(\w+)"/g)].map(([, kind]) => kind);
    assert.deepEqual(known.sort(), [...new Set(clientEventTypes.map((type) => type.split(".")[0]))].sort());
  });

  it("every error condition has a class", () => {
    const names = new Set(document["x-error-catalogue"].map(({ name }) => name));
    assert.deepEqual(Object.keys(errors).sort(), [...names].sort());
  });
});

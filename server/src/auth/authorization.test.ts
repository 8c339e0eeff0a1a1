// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { it } from "node:test";
import { readToken } from "./authorization.ts";

// spec/authentication
it("the token of an Authorization header is found with any number of spaces, and with a signature after it", () => {
  const schemes = new Set(["service", "bearer"]);
  const expected: Readonly<Record<string, string | undefined>> = {
    "Service a.b": "a.b",
    "sErViCe a.b": "a.b",
    "Bearer a.b": "a.b",
    " Service   a.b ": "a.b",
    "Service a.b ": "a.b",
    "Service a.b signature": "a.b",
    "Service  a.b  signature": "a.b",
    "Service a.b signature more": undefined,
    "Basic a.b": undefined,
    "Servicea.b": undefined,
    Service: undefined,
    "Service ": undefined,
    " Service": undefined,
    " ": undefined,
    "": undefined,
  };
  const read = Object.fromEntries(Object.keys(expected).map((header) => [header, readToken(header, schemes)]));
  assert.deepEqual(read, expected);
  assert.equal(readToken(undefined, schemes), undefined);
});

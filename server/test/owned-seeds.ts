import assert from "node:assert/strict";
import { type OwnedIdKind, ownedKinds } from "../src/lib/kinds.ts";
import type { TestApp } from "./harness.ts";
import { dataPart, png, upload } from "./uploads.ts";

interface OwnedSeed {
  /** Valid parameters of a creation, without `readPermissions`, so that the object is private. */
  readonly fields: object;
  /** Absent for kinds other than files. */
  readonly bytes?: () => Promise<Buffer>;
}

/** A valid object of each kind that users own, for the tests of all kinds. */
export const ownedSeeds: Readonly<Record<OwnedIdKind, OwnedSeed>> = {
  Checkin: { fields: { location: "1,2" } },
  Location: { fields: { location: "1,2", name: "Place" } },
  Picture: { fields: {}, bytes: () => png(2, 1) },
  Video: { fields: {}, bytes: async () => Buffer.from("video") },
  Blob: { fields: {}, bytes: async () => Buffer.from("blob") },
};

/** Creates an object of a kind for the user of a token. @returns its result */
export async function createOwnedObject(
  test: TestApp,
  token: string,
  kind: OwnedIdKind,
  given: object = {},
): ReturnType<typeof upload> {
  const { fields, bytes } = ownedSeeds[kind];
  const path = `/${ownedKinds[kind].collection}`;
  const body = { ...fields, ...given };
  if (bytes !== undefined) return upload(test, token, path, dataPart(await bytes()), body);
  const answer = await test.call(`POST ${path}`, { token, body });
  assert.equal(answer.status, 201, answer.text);
  return answer.body.result;
}

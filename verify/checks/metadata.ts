import { group } from "../check.ts";
import type { Answer } from "../client.ts";
import { further, missing, specified } from "../errors.ts";
import { expectEqual, expectError, expectExactly, expectResult, expectSameAnswer, expectThat } from "../expect.ts";
import { checkIn } from "../listing.ts";
import { data, pixel, postForm } from "../uploads.ts";
import { otherUser, sharedDevice, sharedUser, signUp, uniqueName, type World } from "../world.ts";

async function put(world: World, path: string, body: unknown): Promise<Answer> {
  return world.call(`PUT /metadata/${path}`, { by: sharedUser, body });
}

async function get(world: World, path: string): Promise<Answer> {
  return world.call(`GET /metadata/${path}`, { by: sharedUser });
}

async function increment(world: World, path: string, body: unknown = {}): Promise<Answer> {
  return world.call(`POST /metadata/${path}/increment`, { by: sharedUser, body });
}

/** Values as raw JSON, which must be returned unchanged. */
const values = [
  ...['"text"', '""', "0", "-1.5", "true", "false", "[]", "[null,{}]", '{"b":1,"a":[2]}', '{"__proto__":{"a":1}}'],
  ...["12345678901234567890", '"\\u0000"', '["\\ud800"]', '"\u202E😀"'],
];

const incrementsAtOnce = 100;

/** Keys and values on any object (spec/metadata). */
export const metadata = group("metadata", (it) => {
  it("spec/metadata#put-a-value · PUT: true, 201 for a new key, else 200; GET: the item", async (world) => {
    const key = uniqueName("key");
    expectExactly(await put(world, `me/${key}`, { value: 1 }), true, 201);
    expectExactly(await put(world, `me/${key}`, { value: { a: 1 }, location: "1,2" }), true);
    const answer = await get(world, `me/${key}`);
    const { created, lastModified, ...rest } = expectResult(answer);
    const location = { lat: 1, lng: 2 };
    expectEqual(answer, "result", rest, { key, value: { a: 1 }, visibility: "User", location });
    for (const date of [created, lastModified]) expectThat(answer, /^\/Date\(\d+\)\/$/.test(date), "dates");
  });
  for (const json of values)
    it(`spec/metadata#value-types · A value is returned as it was sent: ${json}`, async (world) => {
      const key = uniqueName("key");
      expectResult(await put(world, `me/${key}`, `{"value":${json}}`), 201);
      const answer = await get(world, `me/${key}`);
      const compact = answer.text.replaceAll(/\s/g, "");
      expectThat(answer, compact.includes(`"value":${json},`) || compact.includes(`"value":${json}}`), `value ${json}`);
    });
  it("spec/metadata#visibility · User and App are separate slots", async (world) => {
    const key = uniqueName("key");
    expectResult(await put(world, `app/${key}`, { value: "mine" }), 201);
    expectError(await get(world, `app/${key}?visibility=App`), further.itemDoesNotExist);
    expectResult(await put(world, `app/${key}`, { value: "shared", visibility: "App" }), 201);
    expectError(await world.call(`GET /metadata/app/${key}`, { by: otherUser }), further.itemDoesNotExist);
    const shared = await world.call(`GET /metadata/app/${key}?visibility=App`, { by: otherUser });
    expectEqual(shared, "result.value", expectResult(shared).value, "shared");
    const mine = await get(world, `app/${key}`);
    expectEqual(mine, "result.value", expectResult(mine).value, "mine");
  });
  it("spec/metadata#visibility · App visibility works with a device token, User needs a user token", async (world) => {
    const operation = `PUT /metadata/app/${uniqueName("key")}`;
    expectResult(await world.call(operation, { by: sharedDevice, body: { value: 1, visibility: "App" } }), 201);
    expectError(await world.call(operation, { by: sharedDevice, body: { value: 1 } }), specified.userTokenRequired);
    expectError(await world.call("GET /metadata/me", { by: sharedDevice }), specified.userTokenRequired);
  });
  it("spec/transport#absent-values · A null value counts as absent; inside a value it is data", async (world) => {
    const key = uniqueName("key");
    expectError(await put(world, `me/${key}`, { value: null }), missing("value"));
    expectError(await put(world, `me/${key}`, {}), missing("value"));
    expectResult(await put(world, "me", { values: { [key]: null } }));
    const answer = await get(world, `me/${key}`);
    expectEqual(answer, "result.value", expectResult(answer).value, null);
  });
  it("spec/metadata#value-size · Values over 32 KiB: RequestTooLarge", async (world) => {
    const key = uniqueName("key");
    expectResult(await put(world, `me/${key}`, { value: "x".repeat(32_766) }), 201);
    expectError(await put(world, `me/${key}`, { value: "x".repeat(32_769) }), further.tooLarge);
  });
  it("spec/metadata#put-many-values · PUT of many values: true and 200, all or nothing; 101 are RequestTooLarge", async (world) => {
    const prefix = uniqueName("many");
    const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`${prefix}-${n}`, n]));
    expectError(await put(world, "me", { values: many(101) }), further.tooLarge);
    const bad = { ...many(3), [`${prefix}-x`]: "x".repeat(32_769) };
    expectError(await put(world, "me", { values: bad }), further.tooLarge);
    const nothing = await get(world, `me?keyPrefix=${prefix}`);
    expectEqual(nothing, "result.pageResults", expectResult(nothing).pageResults, []);
    expectExactly(await put(world, "me", { values: many(100) }), true);
    const page = await get(world, `me?keyPrefix=${prefix}`);
    expectEqual(page, "items", expectResult(page).pageResults.length, 100);
  });
  it("spec/metadata#increment-a-value · increment: starts at 0, adds 1 or delta, returns the item, always 200", async (world) => {
    const key = uniqueName("count");
    for (const [body, value] of [
      [{}, 1],
      [{ delta: 2.5 }, 3.5],
      [{ delta: "-4" }, -0.5],
    ] as const) {
      const answer = await increment(world, `me/${key}`, body);
      const { key: name, value: now, visibility } = expectResult(answer);
      expectEqual(answer, "result", { name, now, visibility }, { name: key, now: value, visibility: "User" });
    }
  });
  it("spec/metadata#increment-a-value · increment of a value that is not a number: ParameterIncorrectFormat", async (world) => {
    const key = uniqueName("count");
    expectResult(await put(world, `me/${key}`, { value: "1" }), 201);
    expectError(await increment(world, `me/${key}`), further.incorrectFormat);
  });
  it(`spec/metadata#increment-a-value · increment is atomic: ${incrementsAtOnce} concurrent calls`, async (world) => {
    const key = uniqueName("count");
    const all = Array.from({ length: incrementsAtOnce }, () => increment(world, `app/${key}`, { visibility: "App" }));
    const seen = new Set<number>();
    for (const answer of await Promise.all(all)) seen.add(expectResult(answer).value);
    const answer = await get(world, `app/${key}?visibility=App`);
    expectEqual(answer, "result.value", expectResult(answer).value, incrementsAtOnce);
    expectEqual(answer, "different answers", seen.size, incrementsAtOnce);
  });
  it("spec/metadata#operations · DELETE: true; a missing key is ItemDoesNotExist", async (world) => {
    const key = uniqueName("key");
    expectResult(await put(world, `me/${key}`, { value: 1 }), 201);
    expectExactly(await world.call(`DELETE /metadata/me/${key}`, { by: sharedUser }), true);
    expectError(await world.call(`DELETE /metadata/me/${key}`, { by: sharedUser }), further.itemDoesNotExist);
  });
  for (const prefix of ["%", "_", "a", "A", "\\"])
    it(`hostile.md 20 · keyPrefix ${prefix} is literal`, async (world) => {
      const user = await signUp(world);
      const keys = ["%x", "_x", "ax", "Ax", "\\x"];
      const values = Object.fromEntries(keys.map((key) => [key, 1]));
      expectResult(await world.call("PUT /metadata/me", { token: user.token, body: { values } }));
      const path = `GET /metadata/me?keyPrefix=${encodeURIComponent(prefix)}`;
      const answer = await world.call(path, { token: user.token });
      const found = expectResult(answer).pageResults.map(({ key }: { key: string }) => key);
      expectEqual(answer, "keys", found, [`${prefix}x`]);
    });
  for (const key of ["__proto__", "constructor", "toString", "a/b", "..", "😀".repeat(64)])
    it(`hostile.md 15, 19 · ${key} is an ordinary key`, async (world) => {
      const path = `me/${encodeURIComponent(key)}`;
      const { status } = await put(world, path, { value: key });
      const answer = await get(world, path);
      expectEqual(answer, "result.value", expectResult(answer).value, key);
      expectThat(answer, status === 200 || status === 201, "a successful PUT before");
    });
  it("spec/metadata#metadata-keys · A key of 257 characters: ParameterOutOfRange", async (world) => {
    expectError(await put(world, `me/${"x".repeat(257)}`, { value: 1 }), further.outOfRange);
  });
  it("spec/metadata#metadata-permissions · On a user, only that user writes; others read the App slot", async (world) => {
    const { id } = await sharedUser(world);
    const key = uniqueName("key");
    expectResult(await put(world, `me/${key}`, { value: 1, visibility: "App" }), 201);
    expectResult(await world.call(`GET /metadata/${id}/${key}?visibility=App`, { by: otherUser }));
    for (const visibility of ["App", "User"]) {
      const body = { value: 2, visibility };
      expectError(await world.call(`PUT /metadata/${id}/${key}`, { by: otherUser, body }), further.permissionDenied);
    }
  });
  it("hostile.md 13 · Metadata of another user's private check-in and of an unknown one give byte-identical answers", async (world) => {
    const owner = await sharedUser(world);
    const { token } = await otherUser(world);
    const [hidden, gone] = [await checkIn(world, owner.token), await checkIn(world, owner.token)];
    expectResult(await world.call(`DELETE /checkins/${gone}`, { token: owner.token }));
    for (const path of ["/key?visibility=App", "?visibility=App", "/key", ""]) {
      const [answer, other] = [hidden, gone].map((id) => world.call(`GET /metadata/${id}${path}`, { token }));
      if (answer === undefined || other === undefined) continue;
      expectError(await answer, further.itemDoesNotExist);
      expectSameAnswer(await answer, await other);
    }
  });
  it("spec/metadata#metadata-deletion · Deleting a check-in deletes its metadata", async (world) => {
    const { token } = await sharedUser(world);
    const id = await checkIn(world, token);
    expectResult(await put(world, `${id}/key`, { value: 1, visibility: "App" }), 201);
    expectResult(await world.call(`DELETE /checkins/${id}`, { token }));
    expectError(await get(world, `${id}/key?visibility=App`), further.itemDoesNotExist);
    expectError(await get(world, `${id}?visibility=App`), further.itemDoesNotExist);
  });
  for (const collection of ["pictures", "videos", "blobs"])
    it(`spec/metadata#metadata-permissions · Metadata on ${collection}: follows their permissions, and is deleted with them`, async (world) => {
      const owner = await sharedUser(world);
      const { token } = await otherUser(world);
      const shared = { name: "readPermissions", value: "App" };
      const { id } = expectResult(await postForm(world, `/${collection}`, owner.token, [data(pixel), shared]), 201);
      expectResult(await put(world, `${id}/key`, { value: 1, visibility: "App" }), 201);
      const seen = await world.call(`GET /metadata/${id}/key?visibility=App`, { token });
      expectEqual(seen, "result.value", expectResult(seen).value, 1);
      expectExactly(await world.call(`PUT /metadata/${id}/key`, { token, body: { value: 2 } }), true, 201);
      const denied = { value: 3, visibility: "App" };
      expectError(await world.call(`PUT /metadata/${id}/key`, { token, body: denied }), further.permissionDenied);
      expectResult(
        await world.call(`PATCH /${collection}/${id}`, { token: owner.token, body: { readPermissions: "User" } }),
      );
      expectError(await world.call(`GET /metadata/${id}/key`, { token }), further.itemDoesNotExist);
      expectResult(await world.call(`DELETE /${collection}/${id}`, { token: owner.token }));
      expectError(await get(world, `${id}/key?visibility=App`), further.itemDoesNotExist);
    });
});

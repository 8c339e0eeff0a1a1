import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  type Answer,
  assertError,
  assertResult,
  startTestApp,
  type TestApp,
  type TestUser,
} from "../../test/harness.ts";

let test: TestApp;
let owner: TestUser;
let other: TestUser;
before(async () => {
  test = await startTestApp();
  owner = await test.signUp();
  other = await test.signUp();
});
after(() => test.close());

type Fields = Record<string, unknown>;

const place = { lat: 48.2082, lng: 16.3738 };
const texts = { comment: "A comment", description: "A description", tag: "a tag" };

function post(body: Fields): Promise<Answer> {
  return test.call("POST /checkins", { token: owner.token, body: { location: place, ...body } });
}

/** Creates a check-in of the owner, and returns the result of POST. */
async function created(body: Fields = {}): Promise<Fields & { id: string }> {
  const { status, body: envelope } = await post(body);
  assert.equal(status, 201, envelope.message);
  return envelope.result;
}

function get(id: string, { token } = owner): Promise<Answer> {
  return test.call(`GET /checkins/${id}`, { token });
}

function patch(id: string, body: unknown, { token } = owner): Promise<Answer> {
  return test.call(`PATCH /checkins/${id}`, { token, body });
}

function remove(id: string, { token } = owner, body?: unknown, query = ""): Promise<Answer> {
  return test.call(`DELETE /checkins/${id}${query}`, { token, body });
}

/** Asserts that a change returns and stores the previous object with these fields. */
async function assertChanged(was: Fields & { id: string }, body: unknown, fields: Fields, by = owner): Promise<void> {
  test.advance(1_000);
  const expected = { ...was, ...fields, lastModified: `/Date(${test.now()})/` };
  for (const [name, value] of Object.entries(fields)) if (value === undefined) delete (expected as Fields)[name];
  assertResult(await patch(was.id, body, by), 200, expected);
  assertResult(await get(was.id), 200, expected);
}

async function assertUnchanged(was: Fields & { id: string }): Promise<void> {
  assertResult(await get(was.id), 200, was);
}

function assertDenied(answer: Answer): void {
  assertError(answer, 403, "ObjectPermissionDenied", 771, "Only the owner may do this.");
}

function assertGone(answer: Answer): void {
  assertError(answer, 404, "ItemDoesNotExist", 769, "The item does not exist.");
}

const appNeedsApp = "writePermissions App needs readPermissions App.";

describe("PATCH /checkins/{checkinId}: spec/checkins#change-or-delete-a-check-in", () => {
  it("answers 200 with the complete check-in: omitted fields and created do not change, and lastModified does", async () => {
    for (const [name, value] of Object.entries({ ...texts, location: { lat: -33.5, lng: 151.25 } })) {
      const was = await created({ comment: "1", description: "2", tag: "3", readPermissions: "App" });
      await assertChanged(was, { [name]: value }, { [name]: value });
    }
  });

  it("changes only lastModified without parameters, with null and with unknown names", async () => {
    const was = await created(texts);
    const nothing = { location: null, comment: null, description: null, tag: null, readPermissions: null, x: {} };
    for (const body of [undefined, {}, nothing]) await assertChanged(was, body, {});
  });

  it("clears only comment, description and tag with an empty string", async () => {
    for (const name of Object.keys(texts))
      await assertChanged(await created(texts), { [name]: "" }, { [name]: undefined });
    const was = await created({ ...texts, readPermissions: "App" });
    await assertChanged(was, { location: "", readPermissions: "", writePermissions: "" }, {});
    assert.deepEqual((await get((await created({ comment: "" })).id)).body.result.comment, undefined);
  });

  it("accepts a complete object as it was read, without checking the types of fields that the service sets", async () => {
    const was = await created({ ...texts, readPermissions: "App", writePermissions: "App" });
    const { result } = (await get(was.id)).body;
    await assertChanged(was, result, {});
    await assertChanged(was, result, {}, other);
    const wrong = { id: [], userID: {}, USERID: 7, created: "never", lastModified: true, distance: [] };
    await assertChanged(was, { ...wrong, comment: "new" }, { comment: "new" });
    await assertChanged(was, { id: test.app.ids.newId("Checkin"), userID: other.id, created: 0 }, { comment: "new" });
  });

  it("matches names case-insensitively, reads a number as its decimal string, and stores strings byte-exact", async () => {
    const was = await created();
    await assertChanged(was, { COMMENT: 4711 }, { comment: "4711" });
    const text = "\u202E👍 %_\\'\"\t\n e\u0301";
    await assertChanged(was, { comment: text, tag: text }, { comment: text, tag: text });
  });

  it("answers 400 for what POST refuses, naming the parameter, and changes nothing", async () => {
    const was = await created(texts);
    for (const [body, error, errorNumber, message] of [
      [{ comment: "x".repeat(4_001) }, "ParameterOutOfRange", 514, "comment must have at most 4000 characters."],
      [
        { description: "👍".repeat(4_001) },
        "ParameterOutOfRange",
        514,
        "description must have at most 4000 characters.",
      ],
      [{ tag: "x".repeat(257) }, "ParameterOutOfRange", 514, "tag must have at most 256 characters."],
      [{ comment: {} }, "ParameterIncorrectFormat", 515, "comment must be a text."],
      [{ tag: true }, "ParameterIncorrectFormat", 515, "tag must be a text."],
      [{ description: "a\0b" }, "ParameterIncorrectFormat", 515, "description must be Unicode text without NUL."],
      [{ READPERMISSIONS: "All" }, "ParameterIncorrectFormat", 515, "readPermissions must be one of User, App."],
      [{ writePermissions: 1 }, "ParameterIncorrectFormat", 515, "writePermissions must be one of User, App."],
    ] as const) {
      assertError(await patch(was.id, { comment: "new", ...body }), 400, error, errorNumber, message);
      assertError(await post(body), 400, error, errorNumber, message);
    }
    const { status, body } = await patch(was.id, { tag: "new", location: "91,0" });
    assert.deepEqual([status, body.error], [400, "ParameterOutOfRange"]);
    await assertUnchanged(was);
    await assertChanged(was, { tag: "👍".repeat(256) }, { tag: "👍".repeat(256) });
  });

  it("loses no concurrent change of another field", async () => {
    const { id } = await created({ readPermissions: "App", writePermissions: "App" });
    const changes = [{ comment: "c" }, { description: "d" }, { tag: "t" }, { location: "1,2" }];
    const answers = await Promise.all(changes.map((body, n) => patch(id, body, n % 2 === 0 ? owner : other)));
    for (const { status } of answers) assert.equal(status, 200);
    const { comment, description, tag, location } = (await get(id)).body.result;
    assert.deepEqual(
      { comment, description, tag, location },
      Object.assign({}, ...changes, { location: { lat: 1, lng: 2 } }),
    );
  });

  it("answers 404 or takes effect before a concurrent deletion, and never restores the check-in", async () => {
    for (let n = 0; n < 5; n++) {
      const { id } = await created();
      const [changed, removed] = await Promise.all([patch(id, { comment: "late" }), remove(id)]);
      assertResult(removed, 200, true);
      if (changed.status !== 200) assertGone(changed);
      assertGone(await get(id));
    }
  });
});

describe("readPermissions and writePermissions: spec/search#permissions", () => {
  it("are absent until they are set, with the meaning of User, and ignore case", async () => {
    const was = await created();
    assert.ok(!("readPermissions" in was) && !("writePermissions" in was));
    assertGone(await get(was.id, other));
    await assertChanged(was, { readPermissions: "aPP" }, { readPermissions: "App" });
    assert.equal((await get(was.id, other)).status, 200);
    await assertChanged(was, { readPermissions: " user " }, { readPermissions: "User" });
    assertGone(await get(was.id, other));
    assert.deepEqual((await created({ readPermissions: "APP", WritePermissions: "app" }))["writePermissions"], "App");
  });

  it("answer 400 ParameterOutOfRange if others could write but not read, also in combination with stored permissions", async () => {
    const words = [undefined, "User", "App"];
    for (const read of words) {
      for (const write of words) {
        const permissions = { readPermissions: read, writePermissions: write };
        const isWrong = (given: typeof permissions) =>
          given.writePermissions === "App" && given.readPermissions !== "App";
        if (isWrong(permissions)) {
          assertError(await post(permissions), 400, "ParameterOutOfRange", 514, appNeedsApp);
          continue;
        }
        const stored = JSON.parse(JSON.stringify(permissions));
        for (const newRead of words) {
          for (const newWrite of words) {
            const was = await created(stored);
            const given = JSON.parse(JSON.stringify({ readPermissions: newRead, writePermissions: newWrite }));
            if (isWrong({ ...stored, ...given })) {
              assertError(await patch(was.id, { ...given, tag: "x" }), 400, "ParameterOutOfRange", 514, appNeedsApp);
              await assertUnchanged(was);
            } else await assertChanged(was, given, given);
          }
        }
      }
    }
  });

  it("allow others with read App to read, but not to change or delete", async () => {
    const was = await created({ ...texts, readPermissions: "App" });
    assertResult(await get(was.id, other), 200, was);
    for (const body of [{}, { comment: "theirs" }, { readPermissions: "App" }, was])
      assertDenied(await patch(was.id, body, other));
    assertDenied(await remove(was.id, other));
    await assertUnchanged(was);
  });

  it("allow others with write App to change the content, but neither to change the permissions nor to delete", async () => {
    const was = await created({ ...texts, readPermissions: "App", writePermissions: "App" });
    await assertChanged(
      was,
      { ...texts, comment: "theirs", tag: "", location: "1,2" },
      { comment: "theirs", tag: undefined, location: { lat: 1, lng: 2 } },
      other,
    );
    const same = { readPermissions: "app", writePermissions: "APP" };
    const { result } = (await get(was.id)).body;
    await assertChanged(result, same, {}, other);
    const now = (await get(was.id)).body.result;
    for (const body of [
      { readPermissions: "User" },
      { writePermissions: "User" },
      { ...now, writePermissions: "User" },
    ]) {
      assertDenied(await patch(was.id, { comment: "not this", ...body }, other));
    }
    assertDenied(await remove(was.id, other));
    await assertUnchanged(now);
  });

  it("hide a private check-in of another user from every operation", async () => {
    for (const permissions of [
      {},
      { readPermissions: "User" },
      { readPermissions: "User", writePermissions: "User" },
    ]) {
      const was = await created(permissions);
      assertGone(await get(was.id, other));
      assertGone(await patch(was.id, { comment: "theirs" }, other));
      assertGone(await patch(was.id, { readPermissions: "App" }, other));
      assertGone(await remove(was.id, other));
      await assertUnchanged(was);
    }
  });

  it("grant no access to other applications", async () => {
    const stranger = await test.signUp("Stranger", await test.createApplication());
    const was = await created({ readPermissions: "App", writePermissions: "App" });
    for (const answer of [
      await get(was.id, stranger),
      await patch(was.id, {}, stranger),
      await remove(was.id, stranger),
    ])
      assertGone(answer);
  });
});

describe("DELETE /checkins/{checkinId}", () => {
  it("answers 200 true, and 404 from then on", async () => {
    const { id } = await created({ readPermissions: "App", writePermissions: "App" });
    assertResult(await remove(id), 200, true);
    for (const answer of [await remove(id), await get(id), await patch(id, { comment: "x" })]) assertGone(answer);
    assertGone(await get(id, other));
    assertGone(await remove(id, other));
  });

  it("succeeds for one of two concurrent calls", async () => {
    const { id } = await created();
    const statuses = (await Promise.all([remove(id), remove(id), remove(id)])).map(({ status }) => status);
    assert.deepEqual(statuses.sort(), [200, 404, 404]);
  });

  it("ignores a body and a query", async () => {
    for (const [body, query] of [
      [{ location: "1,2", comment: {} }, ""],
      [undefined, "?comment=x&pageSize=many"],
      ["", ""],
    ] as const) {
      const { id } = await created();
      assertResult(await remove(id, owner, body, query), 200, true);
    }
  });

  it("answers 400 for the id of another kind and for a string that is not an id", async () => {
    assertError(await remove(owner.id), 400, "ParameterOutOfRange", 514, "Incorrect id type, expected Checkin.");
    assertError(await patch("x", {}), 400, "ParameterIncorrectFormat", 515, "checkinId must be an id.");
  });
});

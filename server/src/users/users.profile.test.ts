import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Answer, assertError, assertResult, startTestApp, type TestApp } from "../../test/harness.ts";
import type { NewApplication } from "../applications/applications.store.ts";

let test: TestApp;
before(async () => {
  test = await startTestApp();
});
after(() => test.close());

const nameTaken = "The username is already in use. Choose a unique username.";
const jane = {
  email: "jane@example.com",
  firstName: "Jane",
  lastName: "Doe",
  gender: "Female",
  dateOfBirth: "/Date(363510441000)/",
  tag: "a tag",
  location: { lat: 48.2082, lng: 16.3738 },
};

interface Person {
  readonly token: string;
  /** The owner's view. */
  readonly profile: Record<string, unknown> & { id: string; userName: string };
}

let count = 0;
async function create(fields: Record<string, unknown> = {}, application?: NewApplication): Promise<Person> {
  const deviceToken = await test.registerDevice(application);
  const body = { username: `Person ${++count}`, password: "correct horse", ...fields };
  const answer = await test.call("POST /users", { token: deviceToken, body });
  assert.equal(answer.status, 200);
  const { accessToken: token, accessTokenExpires: _, ...profile } = answer.body.result;
  return { token, profile };
}

function read(id: string, { token }: Person): Promise<Answer> {
  return test.call(`GET /users/${id}`, { token });
}

function change({ token }: Person, body: Record<string, unknown>, id = "me"): Promise<Answer> {
  return test.call(`PATCH /users/${id}`, { token, body });
}

function assertMissing(answer: Answer): void {
  assertError(answer, 404, "ItemDoesNotExist", 769, "The item does not exist.");
}

/** Asserts that every operation returns this profile to its owner. */
async function assertProfile(person: Person, profile: Record<string, unknown>): Promise<void> {
  for (const id of ["me", "ME", person.profile.id]) assertResult(await read(id, person), 200, profile);
  const { pageResults } = (await test.call(`GET /users?created=${test.now()}-`, { token: person.token })).body.result;
  const found = pageResults.find(({ id }: { id: string }) => id === person.profile.id);
  if (found !== undefined) assert.deepEqual(found, profile);
}

describe("POST /users with a profile: spec/users#user-fields", () => {
  it("answers 200 with all fields, as later reads return them", async () => {
    const person = await create(jane);
    const { id, userName } = person.profile;
    const now = `/Date(${test.now()})/`;
    const service = { celebMode: false, locationFuzzing: false, lastLogin: now, created: now, lastModified: now };
    assert.deepEqual(person.profile, { id, userName, ...jane, ...service });
    await assertProfile(person, person.profile);
  });

  it("ignores fields that only PATCH or the service sets", async () => {
    const sent = { celebMode: true, locationFuzzing: true, id: "x", created: 0, roles: ["admin"], token_version: 9 };
    const { profile } = await create({ ...sent, deleted_at: 1, user_name_key: "x", lat: 1, accessToken: {} });
    assert.deepEqual([profile["celebMode"], profile["locationFuzzing"]], [false, false]);
    assert.equal(profile["created"], `/Date(${test.now()})/`);
  });
});

describe("GET /users/{userId}: spec/users#read-a-profile", () => {
  it("answers 200 to other users with only id, userName, firstName, lastName and created", async () => {
    const person = await create(jane);
    await change(person, { locationFuzzing: true });
    const { id, userName, created } = person.profile;
    const shown = { id, userName, firstName: "Jane", lastName: "Doe", created };
    assertResult(await read(id, await create()), 200, shown);
    const bare = await create();
    const { id: bareId, userName: bareName, created: bareCreated } = bare.profile;
    assertResult(await read(bareId, person), 200, { id: bareId, userName: bareName, created: bareCreated });
  });

  it("answers 404 identically for an unknown id and one of another application, and 400 for an invalid user id", async () => {
    const person = await create();
    const elsewhere = await create({}, await test.createApplication());
    for (const id of [test.app.ids.newId("User"), elsewhere.profile.id]) assertMissing(await read(id, person));
    const wrongKind = await read(test.app.ids.newId("Checkin"), person);
    assertError(wrongKind, 400, "ParameterOutOfRange", 514, "Incorrect id type, expected User.");
    for (const id of ["42", "you", `${person.profile.id}0`, person.profile.id.toUpperCase(), "%27"]) {
      assertError(await read(id, person), 400, "ParameterIncorrectFormat", 515, "userId must be an id.");
    }
  });
});

// spec/users#celebmode
describe("celebMode", () => {
  it("hides the user from others with 404 and in searches, but not from the user; shared objects stay visible under the userID", async () => {
    const celeb = await create(jane);
    const other = await create();
    const { id, userName } = celeb.profile;
    const body = { location: "1,2", readPermissions: "App" };
    const { result: shared } = (await test.call("POST /checkins", { token: celeb.token, body })).body;
    test.advance(5);
    const profile = (await change(celeb, { celebMode: "TRUE" })).body.result;
    assert.deepEqual(profile, { ...celeb.profile, celebMode: true, lastModified: `/Date(${test.now()})/` });

    assertMissing(await read(id, other));
    assertMissing(await change(other, { firstName: "Mine" }, id));
    assertMissing(await test.call(`DELETE /users/${id}`, { token: other.token }));
    const find = (person: Person, query: Record<string, string>) =>
      test.call(`GET /users?${new URLSearchParams(query)}`, { token: person.token });
    for (const query of [{ userName }, { userName, locationRange: "48.2,16.4,20000" }, { userName, pageSize: "1" }]) {
      assert.deepEqual((await find(other, query)).body.result.pageResults, []);
      assert.deepEqual((await find(celeb, query)).body.result.pageResults, [profile]);
    }
    await assertProfile(celeb, profile);
    const list = await test.call(`GET /checkins?userID=${id}`, { token: other.token });
    assert.deepEqual(list.body.result.pageResults, [shared]);
    assertResult(await test.call(`GET /checkins/${shared.id}`, { token: other.token }), 200, shared);

    await change(celeb, { celebMode: 0 });
    assert.equal((await read(id, other)).status, 200);
    assert.equal((await find(other, { userName })).body.result.pageResults.length, 1);
  });
});

describe("PATCH /users/{userId}: spec/users#change-a-profile", () => {
  it("answers 200 with the complete profile, and each field changes independently", async () => {
    const person = await create(jane);
    let expected: Record<string, unknown> = person.profile;
    for (const [name, sent, stored] of [
      ["email", "new@example.com", "new@example.com"],
      ["firstName", 12, "12"],
      ["LASTNAME", "Ünïcödé 🦄", "Ünïcödé 🦄"],
      ["gender", "mAlE", "Male"],
      ["Gender", 0, "Unknown"],
      ["gender", "2", "Female"],
      ["dateofbirth", "1981/7/9", "/Date(363484800000)/"],
      ["dateOfBirth", "07/09/1981 07:07:21", "/Date(363510441000)/"],
      ["dateOfBirth", "Jul 9, 1981 7:07:21 AM", "/Date(363510441000)/"],
      ["dateOfBirth", "1901-02-28T00:00:00Z", "/Date(-2172441600000)/"],
      ["dateOfBirth", "1901-02-28T02:00:00+02", "/Date(-2172441600000)/"],
      ["dateOfBirth", "/Date(-1)/", "/Date(-1)/"],
      ["dateOfBirth", 253402300799999, "/Date(253402300799999)/"],
      ["tag", "__proto__", "__proto__"],
      ["location", "-90, 180", { lat: -90, lng: 180 }],
      ["Location", { LAT: "1.5", lng: -2 }, { lat: 1.5, lng: -2 }],
      ["celebMode", "1", true],
      ["celebMode", false, false],
      ["locationFuzzing", 1, true],
      ["locationfuzzing", "False", false],
      ["username", `Renamed ${count}`, `Renamed ${count}`],
    ] as const) {
      test.advance(1_000);
      const key = Object.keys({ ...expected, userName: 0 }).find((each) => each.toLowerCase() === name.toLowerCase());
      expected = { ...expected, [key ?? name]: stored, lastModified: `/Date(${test.now()})/` };
      assertResult(await change(person, { [name]: sent }, person.profile.id), 200, expected);
    }
    await assertProfile(person, expected);
  });

  it("clears a text field with the empty string; null, and the empty string for other types, change nothing", async () => {
    const person = await create(jane);
    const unchanged = { email: null, firstName: null, gender: "", dateOfBirth: "", location: null, celebMode: "" };
    assertResult(await change(person, { ...unchanged, username: "", password: null }), 200, person.profile);
    const { email: _, firstName: __, lastName: ___, tag: ____, ...rest } = person.profile;
    assertResult(await change(person, { email: "", firstName: "", lastName: "", tag: "" }), 200, rest);
    await assertProfile(person, rest);
    assertResult(await change(person, {}), 200, rest);
  });

  it("ignores fields that the service sets, whatever their type (hostile.md 9)", async () => {
    const person = await create(jane);
    const victim = await create();
    const { id } = victim.profile;
    const sent = {
      id,
      userID: id,
      user_id: {},
      created: 0,
      lastModified: [],
      lastLogin: "x",
      isNew: true,
      roles: ["x"],
    };
    const columns = { token_version: 5, password_hash: "x", deleted_at: 1, is_reshifting: 1, application_id: "x" };
    const echoed = {
      ...person.profile,
      accessToken: 1,
      accessTokenExpires: {},
      profilePictureID: {},
      profilePictureUrl: 1,
      ...sent,
      ...columns,
    };
    assertResult(await change(person, echoed), 200, person.profile);
    await assertProfile(person, person.profile);
    await assertProfile(victim, victim.profile);
  });

  it("answers 400 for values that are invalid or too long, and stores nothing of the request", async () => {
    const person = await create(jane);
    for (const [field, error] of [
      [{ gender: "Other" }, "ParameterIncorrectFormat"],
      [{ gender: 3 }, "ParameterIncorrectFormat"],
      [{ dateOfBirth: "1981-02-30" }, "ParameterIncorrectFormat"],
      [{ dateOfBirth: 253402300800000 }, "ParameterOutOfRange"],
      [{ location: "91,0" }, "ParameterOutOfRange"],
      [{ location: "here" }, "ParameterIncorrectFormat"],
      [{ celebMode: "yes" }, "ParameterIncorrectFormat"],
      [{ locationFuzzing: {} }, "ParameterIncorrectFormat"],
      [{ tag: "x".repeat(257) }, "ParameterOutOfRange"],
      [{ email: "x".repeat(321) }, "ParameterOutOfRange"],
      [{ username: ["x"] }, "ParameterIncorrectFormat"],
      [{ username: "\uFDFA".repeat(256) }, "ParameterOutOfRange"],
    ] as const) {
      const { status, body } = await change(person, { firstName: "Half written", ...field });
      assert.deepEqual([status, body.error], [400, error], JSON.stringify(field));
    }
    await assertProfile(person, person.profile);
  });

  it("accepts an unchanged userName in any form, and frees the old name immediately", async () => {
    const person = await create({ username: "Zoë Straße" });
    for (const username of ["Zoë Straße", "ZOË STRASSE", "zoe\u0308 straße"]) {
      assertResult(await change(person, { username }), 200, { ...person.profile, userName: username });
    }
    await change(person, { username: "Zoë II" });
    assert.equal((await create({ username: "Zoë Straße" })).profile.userName, "Zoë Straße");
  });

  it("answers 400 ItemAlreadyExists for a taken name in any form, and stores nothing of the request", async () => {
    await create({ username: "Größe ﬁx" });
    const person = await create(jane);
    for (const username of ["Größe ﬁx", "GRÖSSE FIX", "gro\u0308sse fix"]) {
      const taken = await change(person, { firstName: "Half written", username, location: "3,4", locationFuzzing: 1 });
      assertError(taken, 400, "ItemAlreadyExists", 770, nameTaken);
    }
    await assertProfile(person, person.profile);
    const body = { password: "another one", currentPassword: "correct horse", username: "GRÖSSE FIX" };
    assertError(await change(person, body), 400, "ItemAlreadyExists", 770, nameTaken);
    const login = { username: person.profile.userName, password: "correct horse" };
    assert.equal((await test.call("POST /users/login", { token: person.token, body: login })).status, 200);
  });

  it("succeeds for only one of many concurrent renames to one name", async () => {
    const people = await Promise.all(Array.from({ length: 30 }, () => create()));
    const answers = await Promise.all(
      people.map((person, n) => change(person, { username: n % 2 === 0 ? "There Is One" : "THERE IS ONE" })),
    );
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      assertError(answer, 400, "ItemAlreadyExists", 770, nameTaken);
    }
    for (const [n, person] of people.entries()) {
      if (answers[n]?.status !== 200) await assertProfile(person, person.profile);
    }
  });

  it("answers 403 for another visible user, and 404 for one of another application and an unknown one", async () => {
    const person = await create();
    const other = await create(jane);
    const elsewhere = await create({}, await test.createApplication());
    const body = { firstName: "Mine", password: "mine", currentPassword: "correct horse" };
    for (const operation of ["PATCH", "DELETE"]) {
      const call = (id: string) => test.call(`${operation} /users/${id}`, { token: person.token, body });
      assertError(await call(other.profile.id), 403, "ObjectPermissionDenied", 771, "Only the owner may do this.");
      for (const id of [test.app.ids.newId("User"), elsewhere.profile.id]) assertMissing(await call(id));
    }
    await assertProfile(other, other.profile);
  });
});

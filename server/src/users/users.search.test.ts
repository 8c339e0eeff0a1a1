import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { assertError, startTestApp, type TestApp } from "../../test/harness.ts";

let test: TestApp;
before(async () => {
  test = await startTestApp();
});
after(() => test.close());

interface Person {
  readonly id: string;
  readonly token: string;
}

/** Each test has its own application, so that it finds only its own users. */
async function createApplication() {
  const application = await test.createApplication();
  const deviceToken = await test.registerDevice(application);
  let count = 0;
  return {
    async create(fields: Record<string, unknown> = {}): Promise<Person> {
      const body = { username: `Person ${++count}`, password: "correct horse", ...fields };
      const answer = await test.call("POST /users", { token: deviceToken, body });
      assert.equal(answer.status, 200);
      test.advance(1_000);
      return { id: answer.body.result.id, token: answer.body.result.accessToken };
    },
  };
}

async function search({ token }: Person, query: Record<string, string | number> = {}) {
  const text = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
  const { status, body } = await test.call(`GET /users?${text}`, { token });
  assert.equal(status, 200, `${text}: ${body.message}`);
  return body.result;
}

async function found(reader: Person, query: Record<string, string | number> = {}): Promise<string[]> {
  const { pageResults } = await search(reader, query);
  return pageResults.map(({ userName }: { userName: string }) => userName);
}

async function change({ token }: Person, body: Record<string, unknown>): Promise<void> {
  assert.equal((await test.call("PATCH /users/me", { token, body })).status, 200);
}

describe("GET /users: spec/users#search-users", () => {
  it("answers 200 with all users, newest first: the caller completely, other users with their visible fields", async () => {
    const { create } = await createApplication();
    const all = { email: "a@x.at", firstName: "Anna", lastName: "Alt", gender: 2, tag: "t", location: "1,2" };
    const anna = await create({ username: "anna", ...all });
    const ben = await create({ username: "ben", firstName: "Ben" });
    const profile = (await test.call("GET /users/me", { token: ben.token })).body.result;
    const shown = (await test.call(`GET /users/${anna.id}`, { token: ben.token })).body.result;
    const result = await search(ben);
    assert.deepEqual(result, { pageResults: [profile, shown], currentToken: result.currentToken });
    assert.deepEqual(Object.keys(shown), ["id", "userName", "firstName", "lastName", "created"]);
  });

  it("matches userName in any case and Unicode form and other strings exactly, and combines all filters", async () => {
    const { create } = await createApplication();
    const me = await create({ username: "me" });
    await create({ username: "Zoë Straße", email: "Zoe@x.at", firstName: "Zoë", lastName: "Maier" });
    await create({ username: "zoe", email: "zoe@x.at", firstName: "Zoe", lastName: "Maier" });
    for (const [query, names] of [
      [{ userName: "ZOË STRASSE" }, ["Zoë Straße"]],
      [{ username: "zoe\u0308 straße" }, ["Zoë Straße"]],
      [{ userName: "ＺＯＥ" }, ["zoe"]],
      [{ userName: "zo" }, []],
      [{ email: "Zoe@x.at" }, ["Zoë Straße"]],
      [{ email: "ZOE@X.AT" }, []],
      [{ firstName: "Zoë" }, ["Zoë Straße"]],
      [{ firstName: "zoë" }, []],
      [{ lastName: "Maier" }, ["zoe", "Zoë Straße"]],
      [{ lastName: "Maier", firstName: "Zoe" }, ["zoe"]],
      [{ lastName: "Maier", userName: "me" }, []],
      [{ userName: "" }, ["zoe", "Zoë Straße", "me"]],
    ] as const) {
      assert.deepEqual(await found(me, query as Record<string, string>), names, JSON.stringify(query));
    }
  });

  it("treats wildcards, quotes and special names as ordinary text (hostile.md 15, 20)", async () => {
    const { create } = await createApplication();
    const me = await create({ username: "plain", firstName: "plain", email: "plain" });
    for (const text of ["%", "_lain", "pl%", "*", "' or ''='", "\\", "__proto__", "constructor", "%_\\"]) {
      for (const name of ["userName", "firstName", "lastName", "email"]) {
        assert.deepEqual(await found(me, { [name]: text }), [], `${name} ${text}`);
      }
      await create({ username: text, firstName: text, email: text });
      for (const name of ["userName", "firstName", "email"])
        assert.deepEqual(await found(me, { [name]: text }), [text]);
    }
    const long = "x".repeat(200);
    await create({ username: `${long}1`, firstName: `${long}1` });
    await create({ username: `${long}2`, firstName: `${long}2` });
    assert.deepEqual(await found(me, { firstName: `${long}2` }), [`${long}2`]);
    assert.deepEqual(await found(me, { firstName: long }), []);
  });

  it("filters gender by word or number; a user without one counts as Unknown", async () => {
    const { create } = await createApplication();
    const me = await create({ username: "none" });
    for (const gender of ["Unknown", "Male", "Female"]) await create({ username: gender, gender });
    for (const [gender, names] of [
      ["male", ["Male"]],
      [2, ["Female"]],
      ["UNKNOWN", ["Unknown", "none"]],
      ["0", ["Unknown", "none"]],
    ] as const) {
      assert.deepEqual(await found(me, { gender }), names);
    }
    for (const [order, names] of [
      ["gender", ["none", "Unknown", "Male", "Female"]],
      ["-gender", ["Female", "Male", "Unknown", "none"]],
    ] as const) {
      assert.deepEqual(await found(me, { sortOrder: order }), names);
    }
  });

  it("filters created and lastModified by inclusive ranges", async () => {
    const { create } = await createApplication();
    const start = test.now();
    const people: Person[] = [];
    for (let n = 0; n < 4; n++) people.push(await create({ username: `${n}` }));
    const [me] = people;
    assert.ok(me);
    await change(people[1] ?? me, { tag: "changed" }); // at start + 4,000
    assert.deepEqual(await found(me, { created: `${start + 1_000}-${start + 2_000}` }), ["2", "1"]);
    assert.deepEqual(await found(me, { created: `${start + 1_001}-${start + 1_999}` }), []);
    assert.deepEqual(await found(me, { created: `-${start}` }), ["0"]);
    assert.deepEqual(await found(me, { lastModified: `${start + 3_000}-(null)` }), ["3", "1"]);
    assert.deepEqual(await found(me, { lastModified: `${start + 3_000}-`, created: `-${start + 1_000}` }), ["1"]);
    assert.deepEqual(await found(me, { sortOrder: "-lastModified" }), ["1", "3", "2", "0"]);
    assert.deepEqual(await found(me, { sortOrder: "lastModified", lastModified: `${start + 2_000}-` }), [
      "2",
      "3",
      "1",
    ]);
  });

  it("returns each user once, forwards and backwards, in every order", async () => {
    const { create } = await createApplication();
    const me = await create({ username: "zz", email: "c", firstName: "b", gender: 1 });
    for (let n = 0; n < 12; n++) {
      const fields = { email: n % 2 ? "a" : "d", firstName: ["😀", "ﬁ", "b", "B"][n % 4], gender: n % 3 };
      await create({ username: `n${(n * 7) % 12}`, ...(n < 9 ? fields : {}) });
    }
    const byEmail = await test.call("GET /users?sortOrder=email", { token: me.token });
    assert.equal(
      byEmail.body.error,
      "ParameterIncorrectFormat",
      "sorting by email would reveal the addresses of others",
    );
    for (const name of ["created", "lastModified", "userName", "firstName", "lastName", "gender"]) {
      for (const sortOrder of [name, `-${name}`]) {
        const whole = await found(me, { sortOrder });
        assert.equal(new Set(whole).size, 13);
        const [first] = whole;
        if (name === "userName") assert.equal(first, sortOrder === name ? "n0" : "zz");
        const pages: string[][] = [];
        let page = await search(me, { sortOrder, pageSize: 5 });
        const namesOf = () => page.pageResults.map(({ userName }: { userName: string }) => userName);
        pages.push(namesOf());
        while (page.nextToken !== undefined) {
          page = await search(me, { pagingToken: page.nextToken });
          pages.push(namesOf());
        }
        assert.deepEqual(pages.flat(), whole, sortOrder);
        for (let at = pages.length - 2; at >= 0; at--) {
          page = await search(me, { pagingToken: page.previousToken });
          assert.deepEqual(namesOf(), pages[at]);
        }
        assert.equal(page.previousToken, undefined);
      }
    }
    assert.deepEqual(await found(me, { pagingToken: "3;2", sortOrder: "userName" }), ["n10", "n11", "n2"]);
  });

  it("finds no users of another application, no deleted users and no others in celebMode", async () => {
    const { create } = await createApplication();
    const me = await create({ username: "me", email: "same", location: "1,2" });
    const { create: createRemotely } = await createApplication();
    const stranger = await createRemotely({ username: "stranger", email: "same", location: "1,2" });
    const celeb = await create({ username: "celeb", email: "same", location: "1,2" });
    await change(celeb, { celebMode: true });
    const gone = await create({ username: "gone", email: "same", location: "1,2" });
    await test.call("DELETE /users/me", { token: gone.token });
    const area = "1,2,1500"; // other users match by fuzzed location
    for (const query of [
      {},
      { email: "same" },
      { locationRange: area },
      { locationRange: area, sortOrder: "distance" },
    ]) {
      assert.deepEqual(await found(me, query), ["me"]);
      assert.deepEqual(await found(stranger, query), ["stranger"]);
      assert.deepEqual((await found(celeb, query)).sort(), ["celeb", "me"]);
    }
    const { nextToken } = await search(celeb, { pageSize: 1 });
    for (const other of [me, stranger]) {
      const answer = await test.call(`GET /users?pagingToken=${nextToken}`, { token: other.token });
      assertError(answer, 400, "ParameterIncorrectFormat", 515, "pagingToken must be a token of this listing.");
    }
  });

  it("answers 400 for invalid orders and filters", async () => {
    const { create } = await createApplication();
    const { token } = await create();
    for (const [query, error] of [
      ["sortOrder=password", "ParameterIncorrectFormat"],
      ["sortOrder=tag", "ParameterIncorrectFormat"],
      ["sortOrder=distance", "ParameterIncorrectFormat"],
      ["gender=other", "ParameterIncorrectFormat"],
      ["created=5", "ParameterIncorrectFormat"],
      ["created=2-1", "ParameterOutOfRange"],
      ["locationRange=1,2", "ParameterIncorrectFormat"],
      ["locationRange=91,2,3", "ParameterOutOfRange"],
      ["pageSize=0", "ParameterOutOfRange"],
      ["pageSize=1001", "ParameterOutOfRange"],
    ] as const) {
      const { status, body } = await test.call(`GET /users?${query}`, { token });
      assert.deepEqual([status, body.error], [400, error], query);
    }
  });
});

describe("GET /users by locationRange: spec/privacy#searches-by-area", () => {
  it("matches circles and boxes at the poles and across the antimeridian, sorts by distance, and omits users without a location", async () => {
    const { create } = await createApplication();
    const me = await create({ username: "nowhere" });
    for (const [username, location] of Object.entries({
      vienna: "48.2082,16.3738",
      linz: "48.3069,14.2858",
      north: "90,0",
      nearNorth: "89.9999,180",
      fiji: "-17.8,179.99",
      samoa: "-17.8,-179.99",
    })) {
      await create({ username, location });
    }
    const nearest = { sortOrder: "distance" };
    for (const [query, names] of [
      [{ locationRange: "48.2,16.37,5000" }, ["vienna"]],
      [{ locationRange: "48.2082, 16.3738, 0" }, []], // the true location is never revealed
      [{ locationRange: "48.2,16.37,200000", ...nearest }, ["vienna", "linz"]],
      [{ locationRange: "48.2,16.37,200000", sortOrder: "-distance" }, ["linz", "vienna"]],
      [{ locationRange: "90,77,1600" }, ["nearNorth", "north"]],
      [{ locationRange: "90,77,20" }, []],
      [{ locationRange: "-17.8,180,3000" }, ["samoa", "fiji"]],
      [{ locationRange: "-18,179--17,-179" }, ["samoa", "fiji"]],
      [{ locationRange: "-18,-179--17,179" }, []],
      [{ locationRange: "48.2,16.37,30000000", userName: "FIJI" }, ["fiji"]],
    ] as const) {
      assert.deepEqual(await found(me, query), names, JSON.stringify(query));
    }
    assert.equal((await found(me, { locationRange: "0,0,30000000" })).length, 6);
    await change(me, { location: "48.2082,16.3738" });
    assert.deepEqual(await found(me, { locationRange: "48.2,16.37,5000" }), ["vienna", "nowhere"]);
  });

  it("matches other users by fuzzed location, with locationFuzzing and without, and the caller by true location", async () => {
    const { create } = await createApplication();
    const me = await create({ username: "me", location: "48,16" });
    const other = await create({ username: "other", location: "48,16" });
    assert.deepEqual(await found(me, { locationRange: "48,16,499" }), ["me"]);
    for (const person of [me, other]) await change(person, { locationFuzzing: true });
    assert.deepEqual(await found(me, { locationRange: "48,16,499" }), ["me"]);
    assert.deepEqual(await found(other, { locationRange: "48,16,499" }), ["other"]);
    assert.deepEqual(await found(me, { locationRange: "48,16,1500", sortOrder: "-distance" }), ["other", "me"]);
    await change(other, { locationFuzzing: false });
    assert.deepEqual(await found(me, { locationRange: "48,16,1" }), ["me"]);
    assert.deepEqual(await found(me, { locationRange: "48,16,1500" }), ["other", "me"]);
    assert.deepEqual(await found(other, { locationRange: "48,16,499" }), ["other"]);
    await change(me, { location: "-48,-16" });
    assert.deepEqual(await found(other, { locationRange: "48,16,3000" }), ["other"]);
    assert.deepEqual(await found(other, { locationRange: "-48,-16,1500" }), ["me"]);
    assert.deepEqual(await found(me, { locationRange: "-48,-16,0" }), ["me"]);
  });
});

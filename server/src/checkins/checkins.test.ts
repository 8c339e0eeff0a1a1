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
let user: TestUser;
before(async () => {
  test = await startTestApp();
  user = await test.signUp();
});
after(() => test.close());

function checkIn(body: Record<string, unknown> = {}, { token } = user): Promise<Answer> {
  return test.call("POST /checkins", { token, body: { location: "48.2082,16.3738", ...body } });
}

function list(query: Record<string, string | number>, { token } = user): Promise<Answer> {
  const text = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
  return test.call(`GET /checkins?${text}`, { token });
}

/** The expected response of POST /checkins at the current time, with the id of the actual response. */
function newCheckin({ body }: Answer, fields: Record<string, unknown> = {}) {
  assert.match(body.result.id, /^chk_[0-9a-z]+$/);
  const now = `/Date(${test.now()})/`;
  const location = { lat: 48.2082, lng: 16.3738 };
  return { id: body.result.id, userID: user.id, location, created: now, lastModified: now, ...fields };
}

describe("POST /checkins: spec/checkins#create-a-check-in", () => {
  it("answers 201 with the check-in, and omits an absent comment and description", async () => {
    const answer = await checkIn();
    assertResult(answer, 201, newCheckin(answer));
  });

  it("answers 201 with all fields, and with the location as an object of numbers", async () => {
    const fields = { comment: "Nice place", description: "A café" };
    const answer = await checkIn(fields);
    assertResult(answer, 201, newCheckin(answer, fields));
  });

  // spec/checkins#when-it-happened
  it("stores when it happened, from a year ago to five minutes ahead, and no change alters it", async () => {
    const [minute, year] = [60_000, 365 * 86_400_000];
    for (const ms of [0, -year, 5 * minute, -90 * minute]) {
      const occurred = `/Date(${test.now() + ms})/`;
      const answer = await checkIn({ occurred });
      assertResult(answer, 201, newCheckin(answer, { occurred }));
      const path = `/checkins/${answer.body.result.id}`;
      assert.equal((await test.call(`GET ${path}`, { token: user.token })).body.result.occurred, occurred);
      const whole = { ...answer.body.result, comment: "later", occurred: "no date" };
      const changed = await test.call(`PATCH ${path}`, { token: user.token, body: whole });
      assert.deepEqual([changed.status, changed.body.result.occurred], [200, occurred]);
      assert.equal(changed.headers["rollcall-ignored"], undefined);
    }
    const message = "occurred must be within the last year, and at most five minutes in the future.";
    for (const ms of [-year - 1, 5 * minute + 1]) {
      assertError(await checkIn({ occurred: test.now() + ms }), 400, "ParameterOutOfRange", 514, message);
    }
    assert.equal((await checkIn({ occurred: "yesterday" })).body.error, "ParameterIncorrectFormat");
    const iso = await checkIn({ occurred: new Date(test.now() - 90 * minute).toISOString() });
    assert.equal(iso.body.result.occurred, `/Date(${test.now() - 90 * minute})/`);
    assert.equal("occurred" in (await checkIn({ occurred: null })).body.result, false);
  });

  it("accepts the location with a space after the comma, and as an object", async () => {
    for (const location of ["48.2082, 16.3738", { lat: 48.2082, lng: 16.3738 }]) {
      const answer = await checkIn({ location });
      assertResult(answer, 201, newCheckin(answer));
    }
  });

  it("accepts the poles and the antimeridian", async () => {
    for (const [lat, lng] of [
      [90, 0],
      [-90, 0],
      [0, 180],
      [0, -180],
    ]) {
      const answer = await checkIn({ location: `${lat},${lng}` });
      assertResult(answer, 201, newCheckin(answer, { location: { lat, lng } }));
    }
  });

  it("treats null and empty optional fields as absent, and a number as its decimal string", async () => {
    const answer = await checkIn({ comment: null, DESCRIPTION: "" });
    assertResult(answer, 201, newCheckin(answer));
    const numbered = await checkIn({ Comment: 4711 });
    assertResult(numbered, 201, newCheckin(numbered, { comment: "4711" }));
  });

  it("ignores fields that the service sets, whatever their type", async () => {
    const { id } = await test.signUp();
    const sent = { id: "chk_mine", userID: id, userId: {}, user_id: id, created: 0, lastModified: [], isNew: true };
    const answer = await checkIn(sent);
    assertResult(answer, 201, newCheckin(answer));
  });

  it("answers 400 ParameterMissingRequiredValue without a location", async () => {
    for (const location of [undefined, null, ""]) {
      const answer = await checkIn({ location });
      assertError(answer, 400, "ParameterMissingRequiredValue", 513, "location is required.");
    }
  });

  it("answers 400 ParameterIncorrectFormat for a location that is not a pair of numbers", async () => {
    for (const location of ["here", "1", "1,2,3", "1;2", ",", "NaN,0", 12, true, [1, 2], {}, { lat: 1 }]) {
      const { status, body } = await checkIn({ location });
      assert.deepEqual([status, body.error, body.errorNumber], [400, "ParameterIncorrectFormat", 515], `${location}`);
      assert.match(body.message, /^location /);
    }
  });

  it("answers 400 ParameterOutOfRange for a latitude beyond ±90 or a longitude beyond ±180", async () => {
    for (const location of ["90.1,0", "-91,0", "0,180.5", "0,-181", { lat: 0, lng: 1e9 }]) {
      const { status, body } = await checkIn({ location });
      assert.deepEqual([status, body.error, body.errorNumber], [400, "ParameterOutOfRange", 514], `${location}`);
    }
  });

  it("answers 400 ParameterOutOfRange for a comment or description of more than 4,000 characters", async () => {
    for (const name of ["comment", "description"]) {
      const longest = "👍".repeat(4_000);
      const answer = await checkIn({ [name]: longest });
      assertResult(answer, 201, newCheckin(answer, { [name]: longest }));
      const rule = `${name} must have at most 4000 characters.`;
      assertError(await checkIn({ [name]: "x".repeat(4_001) }), 400, "ParameterOutOfRange", 514, rule);
    }
  });

  it("does not store a refused check-in", async () => {
    const other = await test.signUp();
    await checkIn({ location: "91,0" }, other);
    await checkIn({ comment: {} }, other);
    assert.deepEqual((await list({}, other)).body.result.pageResults, []);
  });
});

describe("GET /checkins/{checkinId}: spec/checkins#read-a-check-in", () => {
  it("answers 200 with the check-in as POST returned it", async () => {
    const created = await checkIn({ comment: "Hello" });
    test.advance(1_000);
    const { result } = created.body;
    assertResult(await test.call(`GET /checkins/${result.id}`, { token: user.token }), 200, result);
  });

  it("answers 404 ItemDoesNotExist for an id that never existed and for another user's check-in", async () => {
    const other = await test.signUp();
    const theirs = (await checkIn({}, other)).body.result.id;
    for (const id of [test.app.ids.newId("Checkin"), theirs]) {
      const answer = await test.call(`GET /checkins/${id}`, { token: user.token });
      assertError(answer, 404, "ItemDoesNotExist", 769, "The item does not exist.");
    }
  });

  it("answers 400 ParameterIncorrectFormat for a string that is not an id", async () => {
    const { id } = (await checkIn()).body.result;
    for (const wrong of ["42", id.slice(0, -1), `${id}0`, id.toUpperCase(), "me", "%25", "__proto__", "chk_%27--"]) {
      const answer = await test.call(`GET /checkins/${wrong}`, { token: user.token });
      assertError(answer, 400, "ParameterIncorrectFormat", 515, "checkinId must be an id.");
    }
  });

  it("answers 400 ParameterOutOfRange for the id of another kind", async () => {
    for (const wrong of [user.id, test.application.appid]) {
      const answer = await test.call(`GET /checkins/${wrong}`, { token: user.token });
      assertError(answer, 400, "ParameterOutOfRange", 514, "Incorrect id type, expected Checkin.");
    }
  });
});

describe("GET /checkins: spec/checkins#search-check-ins", () => {
  it("answers 200 with an empty page and only a currentToken without check-ins", async () => {
    const answer = await list({}, await test.signUp());
    const { currentToken } = answer.body.result;
    assert.match(currentToken, /^[\w-]+$/);
    assertResult(answer, 200, { pageResults: [], currentToken });
  });

  it("answers 200 with the caller's check-ins, newest first and complete, and without private check-ins of others", async () => {
    const me = await test.signUp();
    const mine: unknown[] = [];
    for (const comment of ["first", "second", "third"]) {
      mine.unshift((await checkIn({ comment }, me)).body.result);
      await checkIn({ comment: "not mine" });
      test.advance(1);
    }
    const answer = await list({}, me);
    assertResult(answer, 200, { pageResults: mine, currentToken: answer.body.result.currentToken });
  });

  it("filters created and lastModified by a range with inclusive ends, either of which may be open", async () => {
    const me = await test.signUp();
    const times: number[] = [];
    for (const comment of ["0", "1", "2", "3"]) {
      times.push(test.now());
      await checkIn({ comment }, me);
      test.advance(1_000);
    }
    const [t0 = 0, t1 = 0, t2 = 0, t3 = 0] = times;
    const iso = (time: number) => new Date(time).toISOString();
    for (const [range, found] of [
      [`${t1}-${t2}`, "21"],
      [`/Date(${t1})/-/Date(${t2})/`, "21"],
      [`${iso(t1)}-${iso(t2)}`, "21"],
      [`${t1 + 1}-${t2 - 1}`, ""],
      [`${t2}-`, "32"],
      [`${t2}-(null)`, "32"],
      [`-${t1}`, "10"],
      [`(null)-${t1}`, "10"],
      [`${t0}-${t3}`, "3210"],
      [`${t3 + 1}-`, ""],
    ]) {
      for (const name of ["created", "lastModified"]) {
        const { pageResults } = (await list({ [name]: `${range}` }, me)).body.result;
        const comments = pageResults.map(({ comment }: { comment: string }) => comment).join("");
        assert.equal(comments, found, `${name}=${range}`);
      }
    }
    const both = await list({ created: `${t0}-${t2}`, lastModified: `${t1}-${t3}` }, me);
    assert.equal(both.body.result.pageResults.length, 2);
  });

  it("answers 400 for a malformed range, or an end before the start", async () => {
    const wrongFormat = await list({ created: "yesterday" });
    assert.deepEqual([wrongFormat.status, wrongFormat.body.error], [400, "ParameterIncorrectFormat"]);
    const noDash = await list({ lastModified: "/Date(5)/" });
    assert.deepEqual([noDash.status, noDash.body.error], [400, "ParameterIncorrectFormat"]);
    const backwards = await list({ created: "2000-1000" });
    assert.deepEqual([backwards.status, backwards.body.error], [400, "ParameterOutOfRange"]);
  });

  it("returns a new check-in to the next request, even in another process", async (t) => {
    const other = await startTestApp({ DATABASE_URL: test.config.databaseUrl });
    t.after(() => other.close());
    const { token } = user;
    for (let n = 0; n < 10; n++) {
      const { result } = (await checkIn({ comment: `${n}` })).body;
      for (const app of [test, other]) {
        assertResult(await app.call(`GET /checkins/${result.id}`, { token }), 200, result);
        const page = await app.call("GET /checkins?pageSize=1", { token });
        assert.deepEqual(page.body.result.pageResults, [result]);
      }
    }
  });
});

describe("hostile.md 35: the clock steps back by an hour", () => {
  it("ids stay unique and in order, and paging skips no row", async (t) => {
    const app = await startTestApp();
    t.after(() => app.close());
    const { token } = await app.signUp();
    const made: string[] = [];
    for (let n = 0; n < 12; n++) {
      if (n === 6) app.advance(-3_600_000);
      made.push((await app.call("POST /checkins", { token, body: { location: "1,2" } })).body.result.id);
    }
    assert.equal(new Set(made).size, 12);
    assert.deepEqual([...made].sort(), made);

    const seen: string[] = [];
    let query = "pageSize=5";
    for (let page = 0; page < 3; page++) {
      const { pageResults, nextToken } = (await app.call(`GET /checkins?${query}`, { token })).body.result;
      seen.push(...pageResults.map(({ id }: { id: string }) => id));
      query = `pagingToken=${nextToken}`;
    }
    assert.deepEqual(seen, made.toReversed());
  });
});

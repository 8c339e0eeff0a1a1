import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Answer, assertError, assertResult, startTestApp, type TestApp } from "../../test/harness.ts";
import { errorRow } from "../lib/errors.ts";

let test: TestApp;
let token: string;
before(async () => {
  test = await startTestApp();
  token = await test.registerDevice();
});
after(() => test.close());

function report(key: string, body?: unknown, as = token): Promise<Answer> {
  return test.call(`POST /metrics/events/${encodeURIComponent(key)}`, { token: as, body });
}

function reportMany(body: unknown, as = token): Promise<Answer> {
  return test.call("POST /metrics/events", { token: as, body });
}

function end(id: string, as = token): Promise<Answer> {
  return test.call(`DELETE /metrics/events/${id}`, { token: as });
}

async function newEvent(body?: unknown, as = token): Promise<string> {
  const answer = await report("level", body, as);
  assert.match(answer.body.result.id, /^met_[0-9a-z]{26}$/);
  assertResult(answer, 201, { id: answer.body.result.id, success: true });
  return answer.body.result.id;
}

function assertNotThere(answer: Answer): void {
  assertError(answer, 404, "ItemDoesNotExist", 769, "The item does not exist.");
}

const day = 86_400_000;

describe("POST /metrics/events/{event}: spec/metrics#report-an-event", () => {
  it("answers 201 with an empty body, without a body, and with unknown parameters", async () => {
    for (const body of [undefined, "", {}, { location: [], id: {}, foo: { bar: 1 } }]) await newEvent(body);
  });

  it("answers 201 with a value of each kind, with values, with both, and with null as absent", async () => {
    const values = { text: "a", number: 1.5, yes: true, none: null };
    for (const value of ["a", "", 0, -1e300, true, false, null]) await newEvent({ value });
    for (const body of [{ values }, { VALUES: JSON.stringify(values) }, { values, value: 7 }, { values: {} }]) {
      await newEvent(body);
    }
  });

  it("reads an object in `value` like `values`, in a single event and in each of many (shipped clients send it)", async () => {
    for (const value of [{}, { score: 12, world: "ice", won: true, none: null }]) {
      await newEvent({ value });
      await newEvent({ VALUE: value, Values: { other: 1 } });
    }
    const long = "x".repeat(257);
    const name = "A name in value must have at";
    const tooLong = await report("a", { value: { [long]: 1 } });
    assertError(tooLong, 400, "ParameterOutOfRange", 514, `${name} most 256 characters.`);
    const tooLongText = await report("a", { value: { b: "x".repeat(1_001) } });
    assertError(tooLongText, 400, "ParameterOutOfRange", 514, "b in value must have at most 1000 characters.");
    const many = [
      { key: "a", value: { b: 1 } },
      { key: "a", value: [1] },
      { key: "a", Value: { b: {} } },
    ];
    const answer = await reportMany({ events: many });
    const messages = answer.body.result.rejected.map(({ message }: { message: string }) => message);
    assert.equal(answer.body.result.accepted, 1);
    assert.deepEqual(messages, [
      "value must be a text, a number, a truth value or an object of those.",
      "b in value must be a text, a number or a truth value.",
    ]);
  });

  it("accepts keys and names of 256 and values of 1,000 Unicode characters, including __proto__", async () => {
    for (const key of ["𝒳".repeat(256), "a/b?c#d%", "%_", "../..", "\u202Ea", "a\u0301".repeat(128)]) {
      assert.equal((await report(key, { values: { [key]: "𝒳".repeat(1_000) } })).status, 201, key);
    }
    for (const key of ["__proto__", "constructor", "toString"]) {
      assert.equal((await report(key, `{"values":{"${key}":"${key}"}}`)).status, 201, key);
    }
  });

  it("answers 400 ParameterOutOfRange for longer keys, names and values", async () => {
    const long = "x".repeat(257);
    assertError(await report(long), 400, "ParameterOutOfRange", 514, "event must have at most 256 characters.");
    const value = "x".repeat(1_001);
    const rule = "must have at most 1000 characters.";
    assertError(await report("a", { value }), 400, "ParameterOutOfRange", 514, `value ${rule}`);
    assertError(await report("a", { values: { b: value } }), 400, "ParameterOutOfRange", 514, `b in values ${rule}`);
    const name = "A name in values must have at";
    const tooLong = await report("a", { values: { [long]: 1 } });
    assertError(tooLong, 400, "ParameterOutOfRange", 514, `${name} most 256 characters.`);
    const empty = await report("a", { values: { "": 1 } });
    assertError(empty, 400, "ParameterOutOfRange", 514, `${name} least 1 characters.`);
  });

  it("answers 400 ParameterIncorrectFormat to values that are neither scalar nor object, or not Unicode", async () => {
    const scalar = "must be a text, a number or a truth value.";
    const list = await report("a", { value: [1] });
    const orObject = "must be a text, a number, a truth value or an object of those.";
    assertError(list, 400, "ParameterIncorrectFormat", 515, `value ${orObject}`);
    const number = await report("a", '{"value":1e400}');
    assertError(number, 400, "ParameterIncorrectFormat", 515, `value ${scalar}`);
    for (const json of ["{}", "[1]", "1e400"]) {
      const nested = await report("a", `{"value":{"__proto__":${json}}}`);
      assertError(nested, 400, "ParameterIncorrectFormat", 515, `__proto__ in value ${scalar}`);
      const inside = await report("a", `{"values":{"__proto__":${json}}}`);
      assertError(inside, 400, "ParameterIncorrectFormat", 515, `__proto__ in values ${scalar}`);
    }
    for (const values of [[], 1, "x", "[]", "null", true]) {
      assertError(await report("a", { values }), 400, "ParameterIncorrectFormat", 515, "values must be an object.");
    }
    for (const text of ["\0", "\ud800"]) {
      const rule = "must be Unicode text without NUL.";
      const value = await report("a", { value: text });
      assertError(value, 400, "ParameterIncorrectFormat", 515, `value ${rule}`);
      const name = await report("a", { values: { [text]: 1 } });
      assertError(name, 400, "ParameterIncorrectFormat", 515, `A name in values ${rule}`);
    }
    const deep = await report("a", `{"values":{"a":${"[".repeat(10_000)}${"]".repeat(10_000)}}}`);
    assert.equal(deep.body.error, "ParameterIncorrectFormat");
  });

  it("answers 413 RequestTooLarge to 26 values, in any combination, and accepts 25", async () => {
    const values = Object.fromEntries(Array.from({ length: 25 }, (_, index) => [`name ${index}`, index]));
    await newEvent({ values: { ...values, none: null } });
    await newEvent({ value: { ...values, none: null } });
    await newEvent({ value: { "name 1": "twice" }, values });
    const message = "An event has at most 25 values.";
    for (const body of [
      { values: { ...values, more: 1 } },
      { value: { ...values, more: 1 } },
      { values, value: 1 },
      { values, value: { more: 1 } },
    ]) {
      assertError(await report("a", body), 413, "RequestTooLarge", 1281, message);
    }
  });

  it("accepts any date in any format as timestamp, far in the past or the future", async () => {
    for (const timestamp of ["0001-01-01", "9999-12-31", -1, "/Date(1436425641000)/", "Jul 9, 1981 7:07:21 AM"]) {
      await newEvent({ timestamp });
    }
    const answer = await report("a", { timestamp: "2015-02-30" });
    assert.equal(answer.body.error, "ParameterIncorrectFormat");
  });

  it("answers 400 ParameterOutOfRange for a timeout below one second or above one year", async () => {
    for (const timeoutInSeconds of [1, "31536000"]) await newEvent({ timeoutInSeconds });
    for (const timeoutInSeconds of [0, -1, 31_536_001]) {
      assert.equal((await report("a", { timeoutInSeconds })).body.error, "ParameterOutOfRange");
    }
    assert.equal((await report("a", { timeoutInSeconds: 1.5 })).body.error, "ParameterIncorrectFormat");
  });
});

// spec/metrics#report-many-events
describe("POST /metrics/events", () => {
  it("answers 201 {accepted, rejected}, and stores valid events although others are invalid", async () => {
    const events = [
      { key: "a", value: 1 },
      { KEY: "a", Values: { b: "c" }, TimeStamp: test.now(), location: "1,2" },
      null,
      [],
      "x",
      {},
      { key: "" },
      { key: "a", values: { b: { c: 1 } } },
      { key: "a", timestamp: "soon" },
      { key: { toString: "a" } },
      { key: 5 },
      JSON.parse('{"key":"__proto__","values":{"__proto__":"__proto__"},"__proto__":{"key":5}}'),
    ];
    const answer = await reportMany({ events });
    const format = (index: number, message: string) => ({ index, error: "ParameterIncorrectFormat", message });
    const missing = (index: number) => ({
      index,
      error: "ParameterMissingRequiredValue",
      message: "key is required.",
    });
    assertResult(answer, 201, {
      accepted: 4,
      rejected: [
        ...[2, 3, 4].map((index) => format(index, "An event must be an object.")),
        missing(5),
        missing(6),
        format(7, "b in values must be a text, a number or a truth value."),
        format(8, "timestamp must be a date such as /Date(1436425641000)/ or 2015-07-09T07:07:21Z."),
        format(9, "key must be a text."),
      ],
    });
  });

  it("accepts an empty list, a thousand events, and a string that contains them, and answers 413 for a thousand and one", async () => {
    assertResult(await reportMany({ events: [] }), 201, { accepted: 0, rejected: [] });
    const events = Array.from({ length: 1_000 }, (_, index) => ({ key: `key ${index % 7}`, value: index }));
    assertResult(await reportMany({ events: JSON.stringify(events) }), 201, { accepted: 1_000, rejected: [] });
    assertResult(await reportMany({ events }), 201, { accepted: 1_000, rejected: [] });
    const answer = await reportMany({ events: [...events, null] });
    assertError(answer, 413, "RequestTooLarge", 1281, "A call may contain at most 1000 events.");
  });

  it("answers 400 without events and for a value that is not an array", async () => {
    assertError(await reportMany({}), 400, "ParameterMissingRequiredValue", 513, "events is required.");
    for (const events of [{}, 1, "x", '{"length":1}', "null", true]) {
      assertError(await reportMany({ events }), 400, "ParameterIncorrectFormat", 515, "events must be an array.");
    }
  });

  it("rejects an event of 26 values and one with a key of 257 characters, and accepts the others", async () => {
    const values = Object.fromEntries(Array.from({ length: 26 }, (_, index) => [`name ${index}`, index]));
    const answer = await reportMany({ events: [{ key: "a", values }, { key: "x".repeat(257) }, { key: "a" }] });
    assertResult(answer, 201, {
      accepted: 1,
      rejected: [
        { index: 0, error: "RequestTooLarge", message: "An event has at most 25 values." },
        { index: 1, error: "ParameterOutOfRange", message: "key must have at most 256 characters." },
      ],
    });
  });

  it("accepts a timestamp 30 days old and 10 minutes ahead, after the correction by sentAt", async () => {
    const now = test.now();
    const at = [now - 30 * day, now - 30 * day - 1, now + 600_000, now + 600_001];
    const tooFar = [1, 3].map((index) => ({
      index,
      error: "ParameterOutOfRange",
      message: "timestamp must be at most 30 days old and at most 10 minutes ahead.",
    }));
    for (const wrong of [0, -20 * 365 * day, 3_600_000]) {
      const events = at.map((timestamp) => ({ key: "a", timestamp: timestamp + wrong }));
      const sentAt = wrong === 0 ? undefined : now + wrong;
      assertResult(await reportMany({ events, sentAt }), 201, { accepted: 2, rejected: tooFar });
    }
    const answer = await reportMany({ events: [{ key: "a" }], sentAt: 0 });
    assertResult(answer, 201, { accepted: 1, rejected: [] }); // without a timestamp there is nothing to correct
  });
});

// spec/metrics#timed-events
describe("a repeat of many events: spec/idempotency#replays", () => {
  const events = [{ key: "again", value: 1 }];

  function reportAgain(body: object, key: string): Promise<Answer> {
    return test.call("POST /metrics/events", { token, body, headers: { "Idempotency-Key": key } });
  }

  it("may have a different sentAt, or none, in any spelling of its name", async () => {
    const first = await reportAgain({ events, sentAt: test.now() - 60_000 }, "sent again");
    assertResult(first, 201, { accepted: 1, rejected: [] });
    for (const sent of [{ sentAt: test.now() }, { SENTAT: test.now() + 1 }, {}, { sentAt: "not a date" }]) {
      const repeated = await reportAgain({ ...sent, events }, "sent again");
      assertResult(repeated, 201, { accepted: 1, rejected: [] });
      assert.equal(repeated.headers["idempotent-replayed"], "true");
    }
    const item = { key: "a", method: "POST", path: "/metrics/events", idempotencyKey: "sent again" };
    const parameters = { events, sentAt: test.now() + 2 };
    const batch = await test.call("POST /batch", { token, body: { requests: [{ ...item, parameters }] } });
    assert.deepEqual(batch.body.result.responses[0].result, { accepted: 1, rejected: [] });
  });

  it("is a different request if it has other events, or is of another operation with another sentAt", async () => {
    await reportAgain({ events, sentAt: test.now() }, "other events");
    const other = await reportAgain({ events: [{ key: "other" }], sentAt: test.now() }, "other events");
    assertError(other, 409, "IdempotencyKeyReused", 1283, errorRow("IdempotencyKeyReused").message);
    const one = (sentAt: number) =>
      test.call("POST /metrics/events/again", { token, body: { sentAt }, headers: { "Idempotency-Key": "one event" } });
    assert.equal((await one(1)).status, 201);
    assert.equal((await one(2)).status, 409);
  });
});

describe("DELETE /metrics/events/{event}", () => {
  it("answers 200 with the time since the server received the event, regardless of its timestamp, in both spellings", async () => {
    const ids = [
      await newEvent({ timeoutInSeconds: 60 }),
      await newEvent({ timeoutInSeconds: 60, timestamp: 0 }),
      await newEvent(), // not a timed event
    ];
    test.advance(1_234);
    for (const id of ids) assertResult(await end(id), 200, { elaspedTimeInMs: 1_234, elapsedTimeInMs: 1_234 });
  });

  it("answers 404 ItemDoesNotExist for a closed event; exactly one of several concurrent calls succeeds", async () => {
    const id = await newEvent();
    const answers = await Promise.all(Array.from({ length: 30 }, () => end(id)));
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    for (const answer of answers) if (answer.status !== 200) assertNotThere(answer);
    assertNotThere(await end(id));
  });

  it("closes a timed event just before its timeout, and answers 404 after it", async () => {
    const [first, second] = [await newEvent({ timeoutInSeconds: 60 }), await newEvent({ timeoutInSeconds: 60 })];
    test.advance(60_000);
    assertResult(await end(first), 200, { elaspedTimeInMs: 60_000, elapsedTimeInMs: 60_000 });
    test.advance(1);
    assertNotThere(await end(second));
  });

  it("answers 404 to callers other than the event's user or its device; the user may use another device", async () => {
    const [user, other] = [await test.signUp(), await test.signUp()];
    const ofDevice = await newEvent({}, user.deviceToken);
    const ofUser = await newEvent({}, user.token);
    for (const stranger of [other.token, other.deviceToken, token]) {
      assertNotThere(await end(ofDevice, stranger));
      assertNotThere(await end(ofUser, stranger));
    }
    assertNotThere(await end(ofUser, user.deviceToken));
    const body = { username: user.userName, password: user.password };
    const elsewhere = (await test.call("POST /users/login", { token, body })).body.result.accessToken;
    assert.equal((await end(ofUser, elsewhere)).status, 200);
    assert.equal((await end(ofDevice, user.token)).status, 200);
    assertNotThere(await end(test.app.ids.newId("MetricEvent")));
  });

  it("answers 400 for a string that is not the id of an event", async () => {
    assertError(await end("x"), 400, "ParameterIncorrectFormat", 515, "event must be an id.");
    const message = "Incorrect id type, expected MetricEvent.";
    assertError(await end(test.app.ids.newId("Checkin")), 400, "ParameterOutOfRange", 514, message);
  });
});

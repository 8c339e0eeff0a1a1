import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import fc from "fast-check";
import { type Answer, assertError, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { compileParameters } from "./parameters.ts";
import { Type } from "./schema.ts";
import { Flag, Integer, Text } from "./wire.ts";

let test: TestApp;
let user: TestUser;
before(async () => {
  test = await startTestApp();
  user = await test.signUp();
});
after(() => test.close());

function checkIn(body: unknown): Promise<Answer> {
  return test.call("POST /checkins", { token: user.token, body });
}

async function commentOf(body: unknown): Promise<unknown> {
  const answer = await checkIn(body);
  assert.equal(answer.status, 201, answer.text);
  return answer.body.result.comment;
}

/** Registers a device with this uniqueId, given as JSON; returns its stored value and the number of devices. */
async function register(uniqueIdJson: string): Promise<{ uniqueId: string | null | undefined; devices: number }> {
  const application = await test.createApplication();
  const body = `{"appid":"${application.appid}","appkey":"${application.appkey}","platform":"x","uniqueId":${uniqueIdJson}}`;
  assert.equal((await test.call("POST /devices", { body })).status, 201);
  return findDevices(application.appid);
}

async function findDevices(appid: string) {
  const { reads } = test.app.database;
  const rows = await reads.selectFrom("devices").select("unique_id").where("application_id", "=", appid).execute();
  return { uniqueId: rows[0]?.unique_id, devices: rows.length };
}

describe("spec/transport#parameter-names: names", () => {
  it("match case-insensitively in JSON, forms and queries", async () => {
    const { appid, appkey } = test.application;
    const spellings = [
      { appid, appkey, platform: "x", uniqueid: "u" },
      { appID: appid, AppKey: appkey, Platform: "x", UniqueID: "u" },
      { APPID: appid, APPKEY: appkey, PLATFORM: "x", UNIQUEID: "u" },
    ];
    for (const body of spellings) {
      assert.equal((await test.call("POST /devices", { body })).status, 201);
      const headers = { "content-type": "application/x-www-form-urlencoded" };
      const answer = await test.call("POST /devices", { body: `${new URLSearchParams(body)}`, headers });
      assert.equal(answer.status, 201);
    }
    for (const name of ["pageSize", "pagesize", "PAGESIZE", "PageSize", "page%53ize"]) {
      const answer = await test.call(`GET /checkins?${name}=0`, { token: user.token });
      assertError(answer, 400, "ParameterOutOfRange", 514, "pageSize must ask for 1 to 1000 items.");
    }
  });

  it("the documented spelling takes precedence among names that differ in case, then the last name", async () => {
    const location = "1,2";
    assert.equal(await commentOf({ location, comment: "documented", Comment: "b", COMMENT: "c" }), "documented");
    assert.equal(await commentOf({ location, Comment: "b", comment: "documented", COMMENT: "c" }), "documented");
    assert.equal(await commentOf({ location, COMMENT: "b", Comment: "last" }), "last");
    assert.equal(await commentOf({ location, Comment: "b", COMMENT: "last" }), "last");
    assert.equal(await commentOf({ location, comment: null, COMMENT: "given" }), "given");
  });

  it("the last of two equal names takes precedence", async () => {
    assert.equal(await commentOf('{"location":"1,2","comment":"first","comment":"last"}'), "last");
    const { body } = await test.call("GET /checkins?pageSize=0&pageSize=1", { token: user.token });
    assert.equal(body.status, 200);
  });

  it("unknown names and read-only fields are ignored, whatever their values are", async () => {
    const fields = ["id", "created", "lastModified", "userID", "userId", "size", "profilePictureID", "unknown", ""];
    for (const value of ["chk_mine", 0, true, {}, [[]], { deep: [{}] }]) {
      const body = { location: "1,2", ...Object.fromEntries(fields.map((name) => [name, value])) };
      const { result } = (await checkIn(body)).body;
      assert.match(result.id, /^chk_[0-9a-z]{26}$/);
      assert.equal(result.userID, user.id);
      assert.equal(result.created, `/Date(${test.now()})/`);
      assert.deepEqual(Object.keys(result).sort(), ["created", "id", "lastModified", "location", "userID"]);
    }
    const { token } = user;
    const { status } = await test.call("GET /users/me?location=1,2&unknown=%F0%9F%98%80&=&&x", { token });
    assert.equal(status, 200);
  });

  it("the value of an unknown name is not decoded", async () => {
    const { status } = await test.call("GET /users/me?location=%zz", { token: user.token });
    assert.equal(status, 200);
  });

  it("errors name the parameter by its documented spelling", async () => {
    const answer = await checkIn({ LOCATION: "1,2", COMMENT: {} });
    assertError(answer, 400, "ParameterIncorrectFormat", 515, "comment must be a text.");
  });
});

describe("spec/transport#scalars: values", () => {
  it("null and the empty string count as absent", async () => {
    assert.equal(await commentOf({ location: "1,2", comment: null }), undefined);
    assert.equal(await commentOf({ location: "1,2", comment: "" }), undefined);
    for (const location of [null, ""]) {
      assertError(await checkIn({ location }), 400, "ParameterMissingRequiredValue", 513, "location is required.");
    }
  });

  it("a number is accepted as a string, with all digits that were sent", async () => {
    const integers = [
      "0",
      "-7",
      "4711",
      "9007199254740991",
      "9007199254740993",
      "12345678901234567890",
      "12345678901234567891",
      "-98765432109876543210",
      "1".repeat(256),
    ];
    for (const integer of integers) assert.deepEqual(await register(integer), { uniqueId: integer, devices: 1 });
    assert.deepEqual(await register("0.5"), { uniqueId: "0.5", devices: 1 });
    assert.deepEqual(await register("-0"), { uniqueId: "0", devices: 1 });
  });

  it("numbers that are sent or stored with an exponent become decimal strings", async () => {
    const texts = {
      "1e21": `1${"0".repeat(21)}`,
      "-1.25E+22": `-125${"0".repeat(20)}`,
      "1e3": "1000",
      "0.0000001": "0.0000001",
      "-1.5e-7": "-0.00000015",
      "5e-324": `0.${"0".repeat(323)}5`,
      "1e308": `1${"0".repeat(308)}`,
    };
    for (const [number, text] of Object.entries(texts)) {
      const { body } = await checkIn(`{"location":"1,2","comment":${number}}`);
      assert.equal(body.result.comment, text, number);
    }
  });

  it("an integer and the same digits as a string are one uniqueId, and 20-digit integers that differ in the last digit are two", async () => {
    const application = await test.createApplication();
    const { appid, appkey } = application;
    const start = `{"appid":"${appid}","appkey":"${appkey}","platform":"x","uniqueId":`;
    const sent: [uniqueId: string, devices: number][] = [
      ["12345678901234567890", 1],
      ['"12345678901234567890"', 1],
      ["12345678901234567891", 2],
      ["12345678901234567890", 2],
    ];
    for (const [uniqueId, devices] of sent) {
      await test.call("POST /devices", { body: `${start}${uniqueId}}` });
      assert.equal((await findDevices(appid)).devices, devices, uniqueId);
    }
  });

  it("a boolean, an object or an array in place of a string gets 400 ParameterIncorrectFormat", async () => {
    for (const comment of [true, false, {}, [], ["text"], { text: "text" }, [[]]]) {
      const answer = await checkIn({ location: "1,2", comment });
      assertError(answer, 400, "ParameterIncorrectFormat", 515, "comment must be a text.");
    }
  });

  it("a string is accepted as a number if it parses as one", async () => {
    const { token } = user;
    for (const size of ["1", "+1", "%201%20", "1.0", "1e0", "0001"]) {
      assert.equal((await test.call(`GET /checkins?pageSize=${size}`, { token })).body.result?.pageResults.length, 1);
    }
    for (const size of ["one", "1.5", "0x10", "1,0", "NaN", "Infinity", "true", "1n", "--1", "1e"]) {
      const answer = await test.call(`GET /checkins?pageSize=${size}`, { token });
      assertError(answer, 400, "ParameterIncorrectFormat", 515, "pageSize must be an integer.");
    }
  });
});

describe("compileParameters", () => {
  const read = compileParameters(
    Type.Object({
      documentedText: Type.Optional(Text({ maxLength: 20 })),
      number: Type.Optional(Integer({})),
      isSet: Type.Optional(Flag()),
    }),
  );
  const name = fc.oneof(
    { weight: 4, arbitrary: fc.mixedCase(fc.constantFrom("documentedText", "number", "isSet")) },
    { weight: 1, arbitrary: fc.constantFrom("documentedText", "number", "isSet") },
    { weight: 1, arbitrary: fc.constantFrom("__proto__", "constructor", "toString", "documented", "", "ｎumber") },
  );
  const value = fc.constantFrom<unknown>("1", 1, null, undefined);

  it("follows its rules for any names, order and case", () => {
    const pairs = fc.array(fc.tuple(name, value), { maxLength: 12 });
    fc.assert(
      fc.property(pairs, (raw) => {
        const expected: Record<string, unknown> = {};
        for (const [documented, one] of [
          ["documentedText", "1"],
          ["number", 1],
          ["isSet", true],
        ] as const) {
          const isGiven = raw.some(([sent, v]) => sent.toLowerCase() === documented.toLowerCase() && v != null);
          if (isGiven) expected[documented] = one;
        }
        assert.deepEqual(read(raw), expected);
      }),
    );
  });

  it("prefers the documented spelling, and then the last one, among any number of spellings", () => {
    const spelled = fc.tuple(fc.mixedCase(fc.constant("number")), fc.option(fc.integer()));
    fc.assert(
      fc.property(fc.array(spelled, { maxLength: 8 }), (raw) => {
        const given = raw.filter(([, number]) => number !== null);
        const winner = given.findLast(([sent]) => sent === "number") ?? given.at(-1);
        assert.deepEqual(read(raw), winner === undefined ? {} : { number: winner[1] });
      }),
    );
  });

  it("reads booleans from true and false (in any case), 0 and 1, as JSON values or strings", () => {
    const flags: [unknown, boolean][] = [true, "true", "TRUE", "True", " true ", 1, "1", 1n].map((v) => [v, true]);
    flags.push(...[false, "false", "FALSE", "fAlse", 0, "0", -0, 0n].map((v): [unknown, boolean] => [v, false]));
    for (const [sent, isSet] of flags) assert.deepEqual(read([["isset", sent]]), { isSet });
    for (const sent of ["yes", "on", "truth", 2, -1, 0.5, Number.NaN, [], [true], {}, ["1"], "\u0130"]) {
      assert.throws(() => read([["isSet", sent]]), { condition: "ParameterIncorrectFormat" });
    }
  });
});

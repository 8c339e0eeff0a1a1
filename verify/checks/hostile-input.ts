import { group } from "../check.ts";
import { further, missing, specified } from "../errors.ts";
import { expectEqual, expectError, expectNoFault, expectRefused, expectResult, expectThat } from "../expect.ts";
import { sharedDevice, sharedUser, signUp, uniqueName, type World } from "../world.ts";

/** Every text parameter, in a body that is otherwise valid. */
const textParameters = [
  ["POST /devices", "appid"],
  ["POST /devices", "appkey"],
  ["POST /devices", "platform"],
  ["POST /devices", "uniqueId"],
  ["POST /users", "username"],
  ["POST /users", "password"],
  ["POST /users", "email"],
  ["POST /users", "firstName"],
  ["POST /users", "lastName"],
  ["POST /users/login", "username"],
  ["POST /users/login", "password"],
  ["POST /checkins", "location"],
  ["POST /checkins", "comment"],
  ["POST /checkins", "description"],
  ["POST /users/me/identities/verify", "identityId"],
] as const;

/** Sends the operation with one parameter replaced; `value` is raw JSON. */
async function sendWith(world: World, operation: string, parameter: string, value: string) {
  const bodies: Readonly<Record<string, object>> = {
    "POST /devices": { ...world.application, platform: "verify" },
    "POST /users": { username: uniqueName(), password: "correct horse" },
    "POST /users/login": { username: uniqueName(), password: "correct horse" },
    "POST /checkins": { location: "1,2" },
  };
  const token = operation.startsWith("POST /devices") ? undefined : (await sharedUser(world)).token;
  const members = Object.entries({ ...bodies[operation], [parameter]: "replaced" }).map(([name, sent]) =>
    name === parameter ? `${JSON.stringify(name)}:${value}` : `${JSON.stringify(name)}:${JSON.stringify(sent)}`,
  );
  return world.call(operation, { ...(token !== undefined && { token }), body: `{${members.join()}}` });
}

/** JSON values that are not a text, or not one that can be stored. */
const noTexts: Readonly<Record<string, string>> = {
  "an object": '{"a":{"b":1}}',
  "an array": "[1,[2]]",
  "10,000 nested arrays": "[".repeat(10_000) + "]".repeat(10_000),
  "10,000 nested objects": `${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}`,
  "NUL in a text": '"a\\u0000b"',
  "a lone high surrogate": '"a\\ud800"',
  "a lone low surrogate": '"\\udc00b"',
};

const oddValues = [
  ...["true", "false", "0", "-0", "1e400", "-1e400", "1e-400", "1E5", '"NaN"', '"\\u202e"', '"%00"', '"../"'],
];

/** Hostile values (hostile.md "Input"). */
export const hostileInput = group("hostile-input", (it) => {
  for (const [what, value] of Object.entries(noTexts)) {
    for (const [operation, parameter] of textParameters)
      it(`hostile.md 16, 17 · ${what} as ${parameter} in ${operation} is refused`, async (world) => {
        const answer = await sendWith(world, operation, parameter, value);
        const credentials = [
          specified.appIdMalformed,
          specified.appCredentialsInvalid,
          specified.badUserNameOrPassword,
        ];
        if (["appid", "appkey"].includes(parameter) || operation.endsWith("login")) {
          expectError(answer, further.incorrectFormat, ...credentials);
        } else {
          expectError(answer, { ...further.incorrectFormat, message: new RegExp(parameter) });
        }
      });
  }
  for (const value of oddValues)
    it(`hostile.md 16, 17 · ${value} in every text parameter: accepted or refused, never a fault`, async (world) => {
      for (const [operation, parameter] of textParameters) {
        expectNoFault(await sendWith(world, operation, parameter, value));
      }
    });
  it("hostile.md 15 · __proto__, constructor and toString as members set no parameter", async (world) => {
    for (const name of ["__proto__", "constructor", "toString", "prototype"]) {
      const own = `"${name}":{"location":"1,2","comment":"inherited"}`;
      expectError(await world.call("POST /checkins", { by: sharedUser, body: `{${own}}` }), missing("location"));
      const answer = await world.call("POST /checkins", { by: sharedUser, body: `{${own},"location":"1,2"}` });
      expectThat(answer, !("comment" in expectResult(answer, 201)), "no comment");
    }
    const later = await world.call("POST /checkins", { by: sharedUser, body: { location: "1,2" } });
    expectThat(later, !("comment" in expectResult(later, 201)), "no comment in later requests");
  });
  it("hostile.md 15 · __proto__, constructor and toString as query parameters are ignored", async (world) => {
    expectResult(await world.call("GET /checkins?__proto__=1&constructor=2&toString=3&userID=me", { by: sharedUser }));
  });
  for (const text of ["__proto__", "constructor", "toString", "hasOwnProperty"])
    it(`hostile.md 15 · ${text} as a text is ordinary text`, async (world) => {
      const body = { location: "1,2", comment: text, description: text };
      const answer = await world.call("POST /checkins", { by: sharedUser, body });
      const { comment, description } = expectResult(answer, 201);
      expectEqual(answer, "texts", { comment, description }, { comment: text, description: text });
    });
  it("hostile.md 17 · 10,000 levels of nesting in an unknown parameter", async (world) => {
    const body = `{"location":"1,2","x":${"[".repeat(10_000)}${"]".repeat(10_000)}}`;
    expectNoFault(await world.call("POST /checkins", { by: sharedUser, body }));
  });
  it("hostile.md 17 · 10 MB of [: 413 RequestTooLarge, and the refusal reaches the client", async (world) => {
    for (const _ of [1, 2, 3, 4, 5]) {
      const answer = await world.call("POST /checkins", { by: sharedUser, body: "[".repeat(10_000_000) });
      expectError(answer, further.tooLarge, further.incorrectFormat);
    }
  });
  it("hostile.md 17 · 10 MB in chunks, without a length: 413 RequestTooLarge, and the refusal reaches the client", async (world) => {
    const headers = { "Content-Length": undefined, "Transfer-Encoding": "chunked" };
    for (const _ of [1, 2, 3, 4, 5]) {
      const answer = await world.call("POST /checkins", { by: sharedUser, headers, body: "[".repeat(10_000_000) });
      expectError(answer, further.tooLarge, further.incorrectFormat);
    }
  });
  it("hostile.md 17 · Duplicate members", async (world) => {
    const body = '{"location":"1,2","comment":"a","comment":"b","location":"3,4"}';
    expectNoFault(await world.call("POST /checkins", { by: sharedUser, body }));
  });
  for (const location of [
    "1e400,0",
    "0,-1e400",
    "1e-400,0",
    "-0,-0",
    "1e1,1e1",
    `${"1".repeat(400)},0`,
    "0,0".padEnd(5_000, "0"),
  ])
    it(`hostile.md 17 · The location ${location.slice(0, 20)}: accepted or refused, never a fault`, async (world) => {
      const answer = await world.call("POST /checkins", { by: sharedUser, body: { location } });
      expectNoFault(answer);
      if (answer.status < 400) expectThat(answer, !answer.text.includes("null"), "numbers in the location");
    });
  for (const location of [
    { lat: [], lng: {} },
    { lat: { valueOf: 1 }, lng: 1 },
    { lat: true, lng: false },
  ])
    it(`hostile.md 16 · 400 for the location ${JSON.stringify(location)}`, async (world) => {
      expectRefused(await world.call("POST /checkins", { by: sharedUser, body: { location } }));
    });
  it("hostile.md 17 · A number of 1e400 as a text is refused", async (world) => {
    const answer = await world.call("POST /checkins", { by: sharedUser, body: '{"location":"1,2","comment":1e400}' });
    expectRefused(answer);
  });
  it("hostile.md 23 · A line break in a name injects no header", async (world) => {
    const body = { username: `${uniqueName()}\r\nX-Injected: 1`, password: "correct horse" };
    const answer = await world.call("POST /users", { by: sharedDevice, body });
    expectNoFault(answer);
    expectThat(answer, answer.headers["x-injected"] === undefined, "no header of that name");
  });
  it("hostile.md 15 to 23 · The service is still healthy", async (world) => {
    expectResult(await world.call("GET /_/health/ready"));
    const { token } = await signUp(world);
    expectResult(await world.call("POST /checkins", { token, body: { location: "1,2" } }), 201);
  });
});

import { group } from "../check.ts";
import { further, missing } from "../errors.ts";
import { expectEqual, expectError, expectExactly, expectResult, expectThat } from "../expect.ts";
import { registerDevice, sharedDevice, sharedUser, signUp, uniqueName } from "../world.ts";

const place = "48.2082,16.3738";

/** Names and values of parameters (spec/transport#requests). */
export const parameters = group("parameters", (it) => {
  it("spec/transport#parameter-names · Names match case-insensitively: POST /devices, in JSON and in a form", async (world) => {
    const { appid, appkey } = world.application;
    const names = { APPID: appid, AppKey: appkey, PlatForm: "verify", UNIQUEID: uniqueName() };
    expectResult(await world.call("POST /devices", { body: names }), 201);
    const headers = { "Content-Type": "application/x-www-form-urlencoded" };
    expectResult(await world.call("POST /devices", { headers, body: String(new URLSearchParams(names)) }), 201);
  });
  it("spec/transport#parameter-names · Names match case-insensitively: POST /users and POST /users/login", async (world) => {
    const token = await registerDevice(world);
    const credentials = { UserName: uniqueName(), PASSWORD: "correct horse" };
    const created = await world.call("POST /users", { token, body: { ...credentials, FIRSTname: "Ada" } });
    expectEqual(created, "result.firstName", expectResult(created).firstName, "Ada");
    expectResult(await world.call("POST /users/login", { token, body: credentials }));
  });
  it("spec/transport#parameter-names · Names match case-insensitively: query parameters", async (world) => {
    expectError(await world.call("GET /checkins", { by: sharedUser, query: { PAGESIZE: "0" } }), further.outOfRange);
  });
  for (const name of ["identityId", "identityID", "IDENTITYID", "identityid"])
    it(`spec/transport#parameter-names · Names match case-insensitively: ${name}`, async (world) => {
      const answer = await world.call("POST /users/me/identities/verify", {
        by: sharedUser,
        body: { [name]: uniqueName() },
      });
      expectExactly(answer, 1);
    });
  for (const { sent, comment } of [
    { sent: '{"comment":"documented","COMMENT":"other"', comment: "documented" },
    { sent: '{"COMMENT":"other","comment":"documented"', comment: "documented" },
    { sent: '{"COMMENT":"first","Comment":"last"', comment: "last" },
  ])
    it(`spec/transport#parameter-names · Of two spellings the documented one wins, otherwise the last: ${sent}`, async (world) => {
      const answer = await world.call("POST /checkins", { by: sharedUser, body: `${sent},"location":"${place}"}` });
      expectEqual(answer, "result.comment", expectResult(answer, 201).comment, comment);
    });
  it("spec/transport#absent-values · null counts as absent for a required parameter", async (world) => {
    expectError(await world.call("POST /checkins", { by: sharedUser, body: { location: null } }), missing("location"));
  });
  it("spec/transport#absent-values · null counts as absent for optional parameters", async (world) => {
    const body = { location: place, comment: null, description: null };
    const answer = await world.call("POST /checkins", { by: sharedUser, body });
    const result = expectResult(answer, 201);
    expectThat(answer, !("comment" in result) && !("description" in result), "no comment and no description");
  });
  it("spec/transport#unknown-parameters · Unknown parameters are ignored, whatever their value", async (world) => {
    const { token } = await signUp(world);
    const unknown = { foo: { bar: [1, null] }, "": 1, "location ": [], constructor: 1, verify: "x".repeat(5_000) };
    expectResult(await world.call("POST /checkins", { token, body: { ...unknown, location: place } }), 201);
    const query = { foo: "bar", "": "", "a[b]": "c", userID: "me" };
    expectResult(await world.call("GET /checkins", { token, query }));
    expectResult(await world.call("GET /users/me", { token, query }));
    expectResult(await world.call("POST /users/me/logout", { token, body: unknown }));
  });
  it("spec/transport#unknown-parameters · Unknown parameters are ignored: a location on every call", async (world) => {
    const { application, call } = world;
    const body = { ...application, platform: "verify", location: place };
    const { accessToken } = expectResult(await call("POST /devices", { body }), 201);
    const credentials = { username: uniqueName(), password: "correct horse", location: place };
    expectResult(await call("POST /users", { token: accessToken, body: credentials }));
    const user = expectResult(await call("POST /users/login", { token: accessToken, body: credentials }));
    const identity = { identityId: uniqueName(), location: place };
    expectResult(await call("POST /users/me/identities/verify", { token: user.accessToken, body: identity }));
    const query = { location: place, userID: "me" };
    expectResult(await call("GET /checkins", { token: user.accessToken, query }));
    expectResult(await call("POST /users/me/logout", { token: user.accessToken, body: { location: place } }));
  });
  for (const fields of [
    { id: "x", userID: "y", created: "/Date(0)/", lastModified: "/Date(0)/" },
    { id: [], userID: {}, created: true },
  ])
    it(`spec/transport#read-only-fields · Fields that the service sets are ignored: ${JSON.stringify(fields)} in POST /checkins`, async (world) => {
      const { token, id } = await sharedUser(world);
      const answer = await world.call("POST /checkins", { token, body: { location: place, ...fields } });
      const result = expectResult(answer, 201);
      expectEqual(answer, "result.userID", result.userID, id);
      expectThat(answer, result.id !== fields.id && result.created !== fields.created, "values set by the service");
    });
  it("spec/transport#read-only-fields · Fields that the service sets are ignored: POST /users", async (world) => {
    const own = { id: {}, created: 0, lastModified: [], lastLogin: "/Date(0)/", accessToken: "x", isNew: true };
    const body = { ...own, username: uniqueName(), password: "correct horse" };
    const answer = await world.call("POST /users", { by: sharedDevice, body });
    const result = expectResult(answer);
    expectThat(answer, result.accessToken !== "x" && result.lastLogin !== "/Date(0)/", "values set by the service");
    expectEqual(answer, "type of result.id", typeof result.id, "string");
  });
  for (const number of [1234, -7, 0, 48.5, "12345678901234567890"])
    it(`spec/transport#scalars · A number is accepted as its decimal text: a comment of ${number}`, async (world) => {
      const answer = await world.call("POST /checkins", {
        by: sharedUser,
        body: `{"location":"1,2","comment":${number}}`,
      });
      expectEqual(answer, "result.comment", expectResult(answer, 201).comment, String(number));
    });
  it("spec/transport#scalars · A number is accepted as its decimal text: uniqueId, username, password", async (world) => {
    const { application, call } = world;
    const uniqueId = Math.floor(Math.random() * 1e15);
    const token = expectResult(
      await call("POST /devices", { body: { ...application, platform: "verify", uniqueId } }),
      201,
    ).accessToken;
    const username = Math.floor(Math.random() * 1e15);
    const created = await call("POST /users", { token, body: { username, password: "12345" } });
    expectEqual(created, "result.userName", expectResult(created).userName, String(username));
    expectResult(await call("POST /users/login", { token, body: { username: String(username), password: 12345 } }));
  });
  for (const value of [{}, { a: 1 }, [], ["text"]])
    it(`spec/transport#scalars · 400 ParameterIncorrectFormat for ${JSON.stringify(value)} where a text is expected`, async (world) => {
      const answer = await world.call("POST /checkins", { by: sharedUser, body: { location: place, comment: value } });
      expectError(answer, { ...further.incorrectFormat, message: /comment/ });
    });
  for (const name of ["username", "password"])
    it(`spec/errors#error-shape · 400 ParameterMissingRequiredValue for POST /users without ${name}, named in the message`, async (world) => {
      const body = { username: uniqueName(), password: "correct horse", [name]: undefined };
      expectError(await world.call("POST /users", { by: sharedDevice, body }), missing(name));
      expectError(await world.call("POST /users/login", { by: sharedDevice, body }), missing(name));
    });
  it("spec/errors#error-shape · Messages name parameters by their documented spelling", async (world) => {
    const answer = await world.call("POST /checkins", { by: sharedUser, body: { LOCATION: "nowhere" } });
    expectError(answer, { ...further.incorrectFormat, message: /\blocation\b/ });
  });
  it("spec/transport#absent-values · 400 ParameterMissingRequiredValue: an empty text counts as absent", async (world) => {
    const body = { username: "", password: "correct horse" };
    expectError(await world.call("POST /users", { by: sharedDevice, body }), missing("username"));
  });
});

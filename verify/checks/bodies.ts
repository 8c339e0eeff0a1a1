import { group } from "../check.ts";
import { further, missing } from "../errors.ts";
import { expectEqual, expectError, expectResult } from "../expect.ts";
import { sharedDevice, sharedUser, signUp, uniqueName } from "../world.ts";

const form = { "Content-Type": "application/x-www-form-urlencoded" };
const labels = [
  "application/json; charset=utf-8",
  "text/plain",
  "text/plain;charset=UTF-8",
  "application/x-www-form-urlencoded",
  "application/octet-stream",
  "nonsense",
  undefined,
];

/** Request bodies (spec/transport#bodies). */
export const bodies = group("bodies", (it) => {
  it("spec/transport#bodies · Bodies: a form with + and escapes is decoded", async (world) => {
    const body = "location=48.2082%2C16.3738&comment=a+b%26c%3Dd%2B%C3%A9&description=";
    const answer = await world.call("POST /checkins", { by: sharedUser, headers: form, body });
    const { location, comment } = expectResult(answer, 201);
    expectEqual(answer, "result.comment", comment, "a b&c=d+é");
    expectEqual(answer, "result.location", location, { lat: 48.2082, lng: 16.3738 });
  });
  for (const label of labels)
    it(`spec/transport#bodies · Bodies: text that begins with { is JSON with the label ${label ?? "(none)"}`, async (world) => {
      const body = JSON.stringify({ location: "1,2", comment: "a=b&c é" });
      const answer = await world.call("POST /checkins", { by: sharedUser, headers: { "Content-Type": label }, body });
      expectEqual(answer, "result.comment", expectResult(answer, 201).comment, "a=b&c é");
    });
  for (const label of [
    "application/json",
    "application/x-www-form-urlencoded",
    "application/json; charset=utf-8",
    "text/plain",
  ])
    it(`spec/transport#bodies · Bodies: an empty body labelled ${label} has no parameters`, async (world) => {
      const headers = { "Content-Type": label };
      const { token } = await signUp(world);
      expectResult(await world.call("GET /users/me", { token, headers }));
      expectResult(await world.call("GET /users/me", { token, headers: { ...headers, "Content-Length": "0" } }));
      expectError(await world.call("POST /checkins", { token, headers, body: "" }), missing("location"));
      expectResult(await world.call("POST /users/me/logout", { token, headers, body: "" }));
    });
  it("spec/transport#bodies · Bodies: a POST without body, length and label has no parameters", async (world) => {
    const { token } = await signUp(world);
    expectResult(await world.call("POST /users/me/logout", { token, headers: { "Content-Type": undefined } }));
  });
  it("spec/transport#bodies · Bodies: a chunked body works like any other", async (world) => {
    const headers = { "Content-Length": undefined, "Transfer-Encoding": "chunked" };
    const answer = await world.call("POST /checkins", {
      by: sharedUser,
      headers,
      body: { location: "1,2", comment: "x" },
    });
    expectEqual(answer, "result.comment", expectResult(answer, 201).comment, "x");
  });
  it("spec/transport#charsets · Bodies: charset utf-8 is honoured", async (world) => {
    const headers = { "Content-Type": "application/json; charset=UTF-8" };
    const answer = await world.call("POST /checkins", {
      by: sharedUser,
      headers,
      body: { location: "1,2", comment: "é🙂" },
    });
    expectEqual(answer, "result.comment", expectResult(answer, 201).comment, "é🙂");
  });
  for (const label of ["application/json; charset=iso-8859-1", 'application/json;charset="ISO-8859-1"'])
    it(`spec/transport#bodies · Bodies: ${label} is honoured`, async (world) => {
      const body = Buffer.from('{"location":"1,2","comment":"caf\u00e9 \u00ff"}', "latin1");
      const answer = await world.call("POST /checkins", { by: sharedUser, headers: { "Content-Type": label }, body });
      expectEqual(answer, "result.comment", expectResult(answer, 201).comment, "caf\u00e9 \u00ff");
    });
  it("spec/transport#charsets · Bodies: a form in iso-8859-1 is honoured", async (world) => {
    const headers = { "Content-Type": "application/x-www-form-urlencoded; charset=iso-8859-1" };
    const body = Buffer.from("location=1,2&comment=caf\u00e9", "latin1");
    const answer = await world.call("POST /checkins", { by: sharedUser, headers, body });
    expectEqual(answer, "result.comment", expectResult(answer, 201).comment, "caf\u00e9");
  });
  it("spec/transport#charsets · Bodies: escapes in an iso-8859-1 form use that charset", async (world) => {
    const headers = { "Content-Type": "application/x-www-form-urlencoded; charset=iso-8859-1" };
    const answer = await world.call("POST /checkins", { by: sharedUser, headers, body: "location=1,2&comment=caf%E9" });
    expectEqual(answer, "result.comment", expectResult(answer, 201).comment, "caf\u00e9");
  });
  for (const label of ["application/json", "application/json; charset=utf-8", "application/x-www-form-urlencoded"])
    it(`spec/transport#charsets · Bodies: 400 ParameterIncorrectFormat when invalid in the charset of ${label}`, async (world) => {
      const text = label.includes("form") ? "location=1,2&comment=caf\u00e9" : '{"location":"1,2","comment":"\u00e9"}';
      const options = { by: sharedUser, headers: { "Content-Type": label }, body: Buffer.from(text, "latin1") };
      expectError(await world.call("POST /checkins", options), further.incorrectFormat);
    });
  for (const body of [
    ...["{", '{"location":"1,2"', "{location:1}", '{"location":"1,2",}', '{"location":"1,2"}}', "[]", '"text"', "17"],
  ])
    it(`spec/transport#bodies · 400 ParameterIncorrectFormat for the body ${body}`, async (world) => {
      expectError(await world.call("POST /checkins", { by: sharedUser, body }), further.incorrectFormat);
      expectError(await world.call("POST /devices", { body }), further.incorrectFormat);
    });
  it("spec/transport#parameter-sources · GET takes parameters from the query, not from a body", async (world) => {
    expectResult(await world.call("GET /checkins", { by: sharedUser, query: { userID: "me" }, body: { pageSize: 0 } }));
  });
  it("spec/transport#parameter-sources · POST takes parameters from the body, not from the query", async (world) => {
    const { token } = await sharedUser(world);
    const answer = await world.call("POST /checkins", { token, query: { location: "1,2" }, body: {} });
    expectError(answer, missing("location"));
    const device = await sharedDevice(world);
    const query = { username: uniqueName(), password: "correct horse" };
    expectError(await world.call("POST /users", { token: device, query }), missing("username"));
  });
});

import { group } from "../check.ts";
import { further, specified } from "../errors.ts";
import { expectEqual, expectError, expectExactly, expectResult, expectThat } from "../expect.ts";
import { registerDevice, sharedDevice, sharedUser, signUp } from "../world.ts";

const unknownPaths = ["/nothing", "/checkin", "/users/me/nothing", "/v1/users/me", "/service", "/_/nothing"];
const unknownVerbs = [
  "PUT /devices",
  "DELETE /checkins",
  "PATCH /service/ping",
  "PUT /users/me/logout",
  "TRACE /users",
];
const browserOrigin = "https://app.example";

/** The envelope and HTTP basics (spec/transport). */
export const transport = group("transport", (it) => {
  it("spec/transport#envelope · Response envelope: a success has status, result and request_id, and success is true", async (world) => {
    const answer = await world.call("GET /users/me", { by: sharedUser });
    expectResult(answer);
    expectEqual(answer, "success", answer.body.success, true);
    expectEqual(answer, "type of request_id", typeof answer.body.request_id, "string");
  });
  it("spec/transport#envelope · Response envelope: a failure has status, error, errorNumber and request_id, and no result", async ({
    call,
  }) => {
    expectError(await call("GET /users/me"), specified.tokenInvalid);
  });
  it("spec/transport#envelope · Response envelope: request_id is unique per request, also among fifty concurrent ones", async ({
    call,
  }) => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => call("GET /service/ping")));
    for (const answer of answers) expectResult(answer);
    const [first] = answers;
    const ids = new Set(answers.map(({ body }) => body.request_id));
    if (first !== undefined) expectEqual(first, "different request ids", ids.size, 50);
  });
  it("spec/transport#headers · Every request, including GET, may send Content-Type and Accept application/json", async (world) => {
    const headers = { "Content-Type": "application/json", Accept: "application/json" };
    expectResult(await world.call("GET /checkins", { by: sharedUser, headers, query: { userID: "me" } }));
  });
  for (const accept of ["text/html", "*/*", "application/xml", undefined])
    it(`spec/transport#content-type · Content-Type is exactly application/json for any Accept: ${accept ?? "absent"}`, async ({
      call,
    }) => {
      const answer = await call("GET /service/ping", { headers: { Accept: accept } });
      expectResult(answer);
      expectEqual(answer, "Content-Type", answer.headers["content-type"], "application/json");
    });
  it("spec/transport#content-type · Content-Type is exactly application/json on every kind of refusal", async ({
    call,
  }) => {
    const answers = [
      await call("GET /users/me"),
      await call("GET /nothing"),
      await call("POST /devices", { body: "{" }),
      await call("POST /devices", { body: {} }),
      await call("GET /%zz"),
    ];
    for (const answer of answers) {
      expectEqual(answer, "Content-Type", answer.headers["content-type"], "application/json");
      expectThat(answer, answer.status >= 400, "a refusal");
    }
  });
  it("spec/transport#success · No 204 and no empty body: logout answers 200 with a result", async (world) => {
    const { token } = await signUp(world);
    expectResult(await world.call("POST /users/me/logout", { token, body: {} }));
  });
  for (const what of ["no token", "a device token", "a user token", "a bad token", "an empty header", "another scheme"])
    it(`spec/transport#ping · GET /service/ping answers "Pong" with ${what}`, async (world) => {
      const authorizations: Record<string, string | undefined> = {
        "a device token": `Service ${await sharedDevice(world)}`,
        "a user token": `Service ${(await sharedUser(world)).token}`,
        "a bad token": "Service garbage",
        "an empty header": "",
        "another scheme": "Basic dmVyaWZ5OnZlcmlmeQ==",
      };
      const answer = await world.call("GET /service/ping", { headers: { Authorization: authorizations[what] } });
      expectExactly(answer, "Pong");
    });
  for (const path of unknownPaths)
    it(`spec/transport#paths-and-verbs · Unknown path: 404 OperationNotFound for GET ${path}, with or without a token`, async (world) => {
      expectError(await world.call(`GET ${path}`), further.operationNotFound);
      expectError(await world.call(`GET ${path}`, { by: sharedDevice }), further.operationNotFound);
      expectError(await world.call(`POST ${path}`, { by: sharedDevice, body: "{" }), further.operationNotFound);
    });
  for (const operation of unknownVerbs)
    it(`spec/transport#paths-and-verbs · Unknown verb: 404 OperationNotFound for ${operation}`, async (world) => {
      expectError(await world.call(operation, { by: sharedDevice }), further.operationNotFound);
    });
  for (const operation of [
    "POST /devices",
    "GET /users/me",
    "POST /checkins",
    "DELETE /checkins",
    "PATCH /users/me",
    "PUT /metadata",
  ])
    it(`spec/transport#cors · CORS: a preflight for ${operation} is answered without a token`, async ({ call }) => {
      const [method = "", path = ""] = operation.split(" ");
      const answer = await call(`OPTIONS ${path}`, {
        headers: {
          "Content-Type": undefined,
          Origin: browserOrigin,
          "Access-Control-Request-Method": method,
          "Access-Control-Request-Headers": "authorization,content-type",
        },
      });
      expectEqual(answer, "status", answer.status, 204);
      const allowed = (name: string) => String(answer.headers[`access-control-allow-${name}`]).toLowerCase();
      expectThat(answer, ["*", browserOrigin].includes(allowed("origin")), `${browserOrigin} allowed`);
      expectThat(answer, allowed("methods").includes(method.toLowerCase()), `${method} allowed`);
      for (const header of ["authorization", "content-type"]) {
        expectThat(answer, allowed("headers").includes(header), `the header ${header} allowed`);
      }
    });
  for (const operation of [
    "GET /service/ping",
    "GET /users/me",
    "GET /nothing",
    "POST /devices",
    "GET /checkins/%c0%af",
  ])
    it(`spec/transport#cors · CORS: a browser can read the answer to ${operation}`, async ({ call }) => {
      const answer = await call(operation, { headers: { Origin: browserOrigin } });
      const origin = answer.headers["access-control-allow-origin"] ?? "none";
      const isAllowed = ["*", browserOrigin].includes(origin);
      expectThat(answer, isAllowed, `Access-Control-Allow-Origin * or ${browserOrigin}, not ${origin}`);
    });
  it("spec/authentication#authorization-header · The Service scheme is matched case-insensitively", async (world) => {
    const token = await registerDevice(world);
    for (const scheme of ["Service", "service", "SERVICE", "sErViCe"]) {
      const body = { username: "nobody", password: "wrong" };
      const headers = { Authorization: `${scheme} ${token}` };
      // The token was accepted, so the user is what is refused.
      expectError(await world.call("POST /users/login", { headers, body }), specified.badUserNameOrPassword);
    }
  });
});

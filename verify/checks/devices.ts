import { group } from "../check.ts";
import { further, missing, specified } from "../errors.ts";
import {
  expectDate,
  expectEqual,
  expectError,
  expectExactly,
  expectResult,
  expectSameAnswer,
  expectThat,
} from "../expect.ts";
import { registerDevice, sharedDevice, sharedUser, uniqueName, type World } from "../world.ts";

const atOnce = 100;

/** The device of a token. */
async function deviceOf(world: World, token: string) {
  return expectResult(await world.call("GET /devices/current", { token }));
}

async function deviceIdOf(world: World, token: string): Promise<string> {
  return (await deviceOf(world, token)).id;
}

async function register(world: World, parameters: Readonly<Record<string, unknown>> = {}) {
  const body = { ...world.application, platform: "verify", ...parameters };
  return world.call("POST /devices", { body });
}

async function change(world: World, token: string, body: unknown) {
  return world.call("PATCH /devices/current", { token, body });
}

async function reportCrash(world: World, parameters: Readonly<Record<string, unknown>>) {
  return world.call("POST /devices/current/crashreports", { by: sharedDevice, body: parameters });
}

/** All facts that an app may report about its device. */
const reported: Readonly<Record<string, unknown>> = {
  model: "Phone 7",
  osVersion: "19.2",
  appVersion: "3.1.4",
  pushToken: "push/token+==",
  tag: "beta",
  location: { lat: 48.2082, lng: -16.3738 },
  connectionType: "Wifi",
  isProduction: true,
};
const texts = ["model", "osVersion", "appVersion", "pushToken", "tag"];

/** The reported fields of a device. */
function reportedOf(device: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(device).filter(([name]) => name in reported));
}

/** Invalid values for fields of a device, and the expected error. */
const refused: readonly (readonly [name: string, value: unknown, row: keyof typeof further])[] = [
  ...texts.flatMap((name) => [[name, {}, "incorrectFormat"] as const, [name, ["x"], "incorrectFormat"] as const]),
  ["location", "here", "incorrectFormat"],
  ["location", { lat: 1 }, "incorrectFormat"],
  ["location", "90.1,0", "outOfRange"],
  ["location", { lat: 0, lng: -180.5 }, "outOfRange"],
  ["connectionType", "5G", "incorrectFormat"],
  ["connectionType", {}, "incorrectFormat"],
  ["isProduction", "yes", "incorrectFormat"],
  ["isProduction", 2, "incorrectFormat"],
];

/** Devices (spec/devices). */
export const devices = group("devices", (it) => {
  it("spec/devices#register · POST /devices: 201 with accessToken and accessTokenExpires", async (world) => {
    const answer = await register(world, { uniqueId: uniqueName() });
    const { accessToken, accessTokenExpires, serviceRoot, ...others } = expectResult(answer, 201);
    expectThat(answer, typeof accessToken === "string" && accessToken !== "", "an accessToken");
    expectDate(answer, "accessTokenExpires", accessTokenExpires);
    expectEqual(answer, "other fields of the result", others, {});
    const isRegional = serviceRoot === undefined || URL.canParse(serviceRoot);
    expectThat(answer, isRegional, "serviceRoot absent, or a URL");
  });
  it("spec/devices#register · POST /devices: uniqueId is recommended, not required", async (world) => {
    expectResult(await register(world), 201);
  });
  it("spec/devices#register · POST /devices: needs no Authorization header, and ignores an invalid one", async (world) => {
    const body = { ...world.application, platform: "verify" };
    expectResult(await world.call("POST /devices", { token: "stale", body }), 201);
  });
  it("spec/devices#register · POST /devices: the token can create a user", async (world) => {
    const token = expectResult(await register(world), 201).accessToken;
    const body = { username: uniqueName(), password: "correct horse" };
    expectResult(await world.call("POST /users", { token, body }));
  });
  for (const name of ["appid", "appkey", "platform"])
    it(`spec/devices#registration-errors · POST /devices: ${name} is required: 400 ParameterMissingRequiredValue when absent or null`, async (world) => {
      for (const value of [undefined, null, ""]) {
        expectError(await register(world, { [name]: value }), missing(name));
      }
    });
  for (const appid of [
    "nothing",
    "17",
    "app",
    "00000000-0000-0000-0000-000000000000",
    "x".repeat(5_000),
    "__proto__",
    "%00",
  ])
    it(`spec/devices#registration-errors · POST /devices: 401 ParameterOutOfRange for the malformed appid ${appid.slice(0, 40)}`, async (world) => {
      expectError(await register(world, { appid }), specified.appIdMalformed);
    });
  it("spec/devices#registration-errors · POST /devices: 401 ParameterOutOfRange for an id of another kind", async (world) => {
    const { id } = await sharedUser(world);
    expectError(await register(world, { appid: id }), specified.appIdMalformed);
  });
  it("spec/devices#registration-errors · POST /devices: an id of another kind and text that is not an id get identical answers", async (world) => {
    const { id } = await sharedUser(world);
    expectSameAnswer(await register(world, { appid: id }), await register(world, { appid: "nothing" }));
  });
  for (const appkey of ["wrong", "x".repeat(5_000), "__proto__", "null", "1"])
    it(`spec/devices#registration-errors · POST /devices: 401 AuthAppCredentialsInvalid for the wrong key ${appkey.slice(0, 40)}`, async (world) => {
      expectError(await register(world, { appkey }), specified.appCredentialsInvalid);
    });
  it("spec/devices#registration-errors · POST /devices: 401 AuthAppCredentialsInvalid for a key cut short, lengthened or in another case", async (world) => {
    const { appkey } = world.application;
    for (const wrong of [appkey.slice(0, -1), `${appkey}x`, `${appkey}\0`, appkey.toUpperCase(), ` ${appkey}`]) {
      expectError(await register(world, { appkey: wrong }), specified.appCredentialsInvalid);
    }
  });
  it("spec/devices#registration-errors · POST /devices: an unknown application and a wrong key get byte-identical answers", async (world) => {
    const { appid } = world.application;
    const last = appid.endsWith("q") ? "r" : "q";
    const unknown = await register(world, { appid: appid.slice(0, -1) + last });
    expectError(unknown, specified.appCredentialsInvalid);
    expectSameAnswer(unknown, await register(world, { appkey: "wrong" }));
  });
  for (const name of ["appid", "appkey", "platform", "uniqueId"])
    it(`spec/devices#register · POST /devices: an object or an array as ${name} is refused`, async (world) => {
      for (const value of [{}, [], { a: 1 }, ["x"]]) {
        const answer = await register(world, { [name]: value });
        if (name === "appid")
          expectError(answer, specified.appIdMalformed); // required by spec/devices#registration-errors
        else expectError(answer, { ...further.incorrectFormat, message: new RegExp(name) });
      }
    });
  it("spec/devices#register-again · POST /devices: the same uniqueId is the same device registration", async (world) => {
    const uniqueId = uniqueName();
    const first = expectResult(await register(world, { uniqueId }), 201).accessToken;
    const answer = await register(world, { uniqueId, platform: "verify 2" });
    const second = expectResult(answer, 201).accessToken;
    const ids = [await deviceIdOf(world, first), await deviceIdOf(world, second)];
    expectEqual(answer, "device id", ids[1], ids[0]);
  });
  it("spec/transport#scalars · POST /devices: a uniqueId sent as an integer is its decimal text", async (world) => {
    const uniqueId = Math.floor(Math.random() * 1e15);
    const first = expectResult(await register(world, { uniqueId }), 201).accessToken;
    const answer = await register(world, { uniqueId: String(uniqueId) });
    const second = expectResult(answer, 201).accessToken;
    expectEqual(answer, "device id", await deviceIdOf(world, second), await deviceIdOf(world, first));
  });
  it("hostile.md 5 · POST /devices: a hundred concurrent registrations with one uniqueId all succeed", async (world) => {
    const uniqueId = uniqueName();
    const answers = await Promise.all(Array.from({ length: atOnce }, () => register(world, { uniqueId })));
    const tokens = answers.map((answer) => expectResult(answer, 201).accessToken);
    const uses = await Promise.all(tokens.map((token) => world.call("POST /users", { token, body: {} })));
    for (const use of uses) expectError(use, missing("username"));
  });
  it("hostile.md 5 · POST /devices: a hundred concurrent registrations with one uniqueId create one device", async (world) => {
    const uniqueId = uniqueName();
    const answers = await Promise.all(Array.from({ length: atOnce }, () => register(world, { uniqueId })));
    const ids = new Set<string>();
    for (const answer of answers) ids.add(await deviceIdOf(world, expectResult(answer, 201).accessToken));
    const [first] = answers;
    if (first !== undefined) expectEqual(first, "devices", ids.size, 1);
  });
  it("spec/devices#read-and-change-the-device · GET /devices/current: unreported fields are absent", async (world) => {
    const uniqueId = uniqueName();
    const token = expectResult(await register(world, { uniqueId }), 201).accessToken;
    const answer = await world.call("GET /devices/current", { token });
    const { id, created, lastModified, ...others } = expectResult(answer);
    expectThat(answer, typeof id === "string" && id !== "", "an id");
    expectDate(answer, "created", created);
    expectDate(answer, "lastModified", lastModified);
    expectEqual(answer, "other fields", others, { platform: "verify", uniqueId });
  });
  it("spec/devices#read-and-change-the-device · GET /devices/current: with a user token, returns the device on which the user signed in", async (world) => {
    const { token, deviceToken } = await sharedUser(world);
    expectExactly(await world.call("GET /devices/current", { token }), await deviceOf(world, deviceToken));
  });
  it("spec/devices#register · POST /devices: accepts everything that an app can report about its device", async (world) => {
    const token = expectResult(await register(world, reported), 201).accessToken;
    const answer = await world.call("GET /devices/current", { token });
    expectEqual(answer, "fields", reportedOf(expectResult(answer)), reported);
  });
  it("spec/devices#register · POST /devices: names in any case, deviceToken for pushToken, values in every accepted form", async (world) => {
    const sent = { MODEL: 7, devicetoken: "p", location: "-90, 180", connectiontype: "carrier", IsProduction: "0" };
    const token = expectResult(await register(world, sent), 201).accessToken;
    const answer = await world.call("GET /devices/current", { token });
    const location = { lat: -90, lng: 180 };
    const kept = { model: "7", pushToken: "p", location, connectionType: "Carrier", isProduction: false };
    expectEqual(answer, "fields", reportedOf(expectResult(answer)), kept);
  });
  it("spec/devices#register-again · POST /devices: registering again keeps omitted fields, and the earlier token stays valid", async (world) => {
    const uniqueId = uniqueName();
    const first = expectResult(await register(world, { uniqueId, ...reported }), 201).accessToken;
    expectResult(await register(world, { uniqueId, model: "Phone 8", tag: null }), 201);
    const answer = await world.call("GET /devices/current", { token: first });
    expectEqual(answer, "fields", reportedOf(expectResult(answer)), { ...reported, model: "Phone 8" });
  });
  it("spec/devices#read-and-change-the-device · PATCH /devices/current: 200 and the device; omitted fields keep their values", async (world) => {
    const token = await registerDevice(world);
    for (const [name, value] of Object.entries(reported)) expectResult(await change(world, token, { [name]: value }));
    const answer = await change(world, token, {});
    expectEqual(answer, "fields", reportedOf(expectResult(answer)), reported);
    const { lastModified: _, ...device } = expectResult(answer);
    const { lastModified: __, ...read } = await deviceOf(world, token);
    expectEqual(answer, "GET /devices/current", read, device);
  });
  it("spec/devices#read-and-change-the-device · PATCH /devices/current: the empty text clears a text, null changes nothing", async (world) => {
    const token = expectResult(await register(world, reported), 201).accessToken;
    const all = (value: unknown) => Object.fromEntries(texts.map((name) => [name, value]));
    const kept = await change(world, token, all(null));
    expectEqual(kept, "fields", reportedOf(expectResult(kept)), reported);
    const cleared = await change(world, token, all(""));
    const { location, connectionType, isProduction } = reported;
    expectEqual(cleared, "fields", reportedOf(expectResult(cleared)), { location, connectionType, isProduction });
  });
  it("spec/devices#read-and-change-the-device · PATCH /devices/current: sending the whole device back changes nothing, whatever id it contains", async (world) => {
    const token = expectResult(await register(world, { uniqueId: uniqueName(), ...reported }), 201).accessToken;
    const { lastModified: _, ...device } = await deviceOf(world, token);
    for (const set of [{}, { id: {}, created: [], lastModified: "x", platform: "y", uniqueId: "z" }]) {
      const answer = await change(world, token, { ...device, ...set });
      const { lastModified: __, ...changed } = expectResult(answer);
      expectEqual(answer, "result", changed, device);
    }
  });
  it("spec/devices#read-and-change-the-device · PATCH /devices/current: concurrent changes of different fields lose nothing", async (world) => {
    const token = await registerDevice(world);
    const changes = Object.entries(reported).map(([name, value]) => change(world, token, { [name]: value }));
    for (const answer of await Promise.all(changes)) expectResult(answer);
    const answer = await world.call("GET /devices/current", { token });
    expectEqual(answer, "fields", reportedOf(expectResult(answer)), reported);
  });
  for (const [name, value, row] of refused)
    it(`spec/devices#register · A device with ${JSON.stringify(value)} as ${name}: 400 ${further[row].error}`, async (world) => {
      const expected = { ...further[row], message: new RegExp(name) };
      expectError(await register(world, { [name]: value }), expected);
      expectError(await change(world, await sharedDevice(world), { [name]: value }), expected);
    });
  it("spec/devices#send-a-crash-report · POST /devices/current/crashreports: 201 with the report", async (world) => {
    const { location, tag } = reported;
    const sent = { stackTrace: "Error\n\tat main", message: "no such thing", methodName: "main", location, tag };
    const answer = await reportCrash(world, sent);
    const { id, created, lastModified: _, ...others } = expectResult(answer, 201);
    expectThat(answer, typeof id === "string" && id !== "", "an id");
    expectDate(answer, "created", created);
    expectEqual(answer, "other fields", others, sent);
    const bare = await reportCrash(world, { stackTrace: "Error", message: null });
    const shown = Object.keys(expectResult(bare, 201)).filter((name) => name in sent);
    expectEqual(bare, "fields that were sent", shown, ["stackTrace"]);
  });
  it("spec/devices#send-a-crash-report · POST /devices/current/crashreports: 400 ParameterMissingRequiredValue without a stackTrace", async (world) => {
    for (const stackTrace of [undefined, null, ""]) {
      expectError(await reportCrash(world, { stackTrace, message: "m" }), missing("stackTrace"));
    }
  });
});

import { each, type Group } from "../check.ts";
import { further, missing, specified } from "../errors.ts";
import { expectDate, expectEqual, expectError, expectResult, expectSameAnswer, expectThat } from "../expect.ts";
import { registerDevice, sharedDevice, sharedUser, uniqueName, type World } from "../world.ts";

const atOnce = 100;

/** The device that holds a token. */
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
  const token = await sharedDevice(world);
  return world.call("POST /devices/current/crashreports", { token, body: parameters });
}

/** All that an app may tell of its device. */
const told: Readonly<Record<string, unknown>> = {
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

/** The fields of a device that an app may tell. */
function toldOf(device: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(device).filter(([name]) => name in told));
}

/** Values that no field of a device may have, and what is wrong with them. */
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

/** Devices (service.md "POST /devices", surface.md section 4). */
export const devices: Group = {
  name: "devices",
  checks: {
    "service.md · POST /devices: 201 with accessToken and accessTokenExpires": async (world) => {
      const answer = await register(world, { uniqueId: uniqueName() });
      const { accessToken, accessTokenExpires, serviceRoot, ...others } = expectResult(answer, 201);
      expectThat(answer, typeof accessToken === "string" && accessToken !== "", "an accessToken");
      expectDate(answer, "accessTokenExpires", accessTokenExpires);
      expectEqual(answer, "other fields of the result", others, {});
      const isRegional = serviceRoot === undefined || URL.canParse(serviceRoot);
      expectThat(answer, isRegional, "serviceRoot absent, or a URL");
    },
    "service.md · POST /devices: uniqueId is recommended, not required": async (world) => {
      expectResult(await register(world), 201);
    },
    "service.md · POST /devices: needs no Authorization, and takes no notice of a bad one": async (world) => {
      const body = { ...world.application, platform: "verify" };
      expectResult(await world.call("POST /devices", { token: "stale", body }), 201);
    },
    "service.md · POST /devices: the token allows to create a user": async (world) => {
      const token = expectResult(await register(world), 201).accessToken;
      const body = { username: uniqueName(), password: "correct horse" };
      expectResult(await world.call("POST /users", { token, body }));
    },
    ...each(
      ["appid", "appkey", "platform"],
      (name) =>
        `service.md · POST /devices: ${name} is required: 400 ParameterMissingRequiredValue when absent or null`,
      async (world, name) => {
        for (const value of [undefined, null, ""]) {
          expectError(await register(world, { [name]: value }), missing(name));
        }
      },
    ),
    ...each(
      ["nothing", "17", "app", "00000000-0000-0000-0000-000000000000", "x".repeat(5_000), "__proto__", "%00"],
      (appid) => `service.md · POST /devices: 401 ParameterOutOfRange for the malformed appid ${appid.slice(0, 40)}`,
      async (world, appid) => expectError(await register(world, { appid }), specified.appIdMalformed),
    ),
    "service.md · POST /devices: 401 ParameterOutOfRange for an id of another kind": async (world) => {
      const { id } = await sharedUser(world);
      expectError(await register(world, { appid: id }), specified.appIdMalformed);
    },
    "service.md · POST /devices: an id of another kind and no id at all are told apart by nothing": async (world) => {
      const { id } = await sharedUser(world);
      expectSameAnswer(await register(world, { appid: id }), await register(world, { appid: "nothing" }));
    },
    ...each(
      ["wrong", "x".repeat(5_000), "__proto__", "null", "1"],
      (appkey) => `service.md · POST /devices: 401 AuthAppCredentialsInvalid for the wrong key ${appkey.slice(0, 40)}`,
      async (world, appkey) => expectError(await register(world, { appkey }), specified.appCredentialsInvalid),
    ),
    "service.md · POST /devices: 401 AuthAppCredentialsInvalid for a key cut short, lengthened or in another case":
      async (world) => {
        const { appkey } = world.application;
        for (const wrong of [appkey.slice(0, -1), `${appkey}x`, `${appkey}\0`, appkey.toUpperCase(), ` ${appkey}`]) {
          expectError(await register(world, { appkey: wrong }), specified.appCredentialsInvalid);
        }
      },
    "service.md · POST /devices: an unknown application and a wrong key are the same answer to the byte": async (
      world,
    ) => {
      const { appid } = world.application;
      const last = appid.endsWith("q") ? "r" : "q";
      const unknown = await register(world, { appid: appid.slice(0, -1) + last });
      expectError(unknown, specified.appCredentialsInvalid);
      expectSameAnswer(unknown, await register(world, { appkey: "wrong" }));
    },
    ...each(
      ["appid", "appkey", "platform", "uniqueId"],
      (name) => `surface.md 1 · POST /devices: an object or an array as ${name} is refused`,
      async (world, name) => {
        for (const value of [{}, [], { a: 1 }, ["x"]]) {
          const answer = await register(world, { [name]: value });
          if (name === "appid")
            expectError(answer, specified.appIdMalformed); // as service.md has it
          else expectError(answer, { ...further.incorrectFormat, message: new RegExp(name) });
        }
      },
    ),
    "service.md · POST /devices: the same uniqueId is the same device registration": async (world) => {
      const uniqueId = uniqueName();
      const first = expectResult(await register(world, { uniqueId }), 201).accessToken;
      const answer = await register(world, { uniqueId, platform: "verify 2" });
      const second = expectResult(answer, 201).accessToken;
      const ids = [await deviceIdOf(world, first), await deviceIdOf(world, second)];
      expectEqual(answer, "device id", ids[1], ids[0]);
    },
    "surface.md 1 · POST /devices: a uniqueId sent as an integer is its decimal text": async (world) => {
      const uniqueId = Math.floor(Math.random() * 1e15);
      const first = expectResult(await register(world, { uniqueId }), 201).accessToken;
      const answer = await register(world, { uniqueId: String(uniqueId) });
      const second = expectResult(answer, 201).accessToken;
      expectEqual(answer, "device id", await deviceIdOf(world, second), await deviceIdOf(world, first));
    },
    "hostile.md 5 · POST /devices: a hundred registrations at once with one uniqueId all succeed": async (world) => {
      const uniqueId = uniqueName();
      const answers = await Promise.all(Array.from({ length: atOnce }, () => register(world, { uniqueId })));
      const tokens = answers.map((answer) => expectResult(answer, 201).accessToken);
      const uses = await Promise.all(tokens.map((token) => world.call("POST /users", { token, body: {} })));
      for (const use of uses) expectError(use, missing("username"));
    },
    "hostile.md 5 · POST /devices: a hundred registrations at once with one uniqueId are one device": async (world) => {
      const uniqueId = uniqueName();
      const answers = await Promise.all(Array.from({ length: atOnce }, () => register(world, { uniqueId })));
      const ids = new Set<string>();
      for (const answer of answers) ids.add(await deviceIdOf(world, expectResult(answer, 201).accessToken));
      const [first] = answers;
      if (first !== undefined) expectEqual(first, "devices", ids.size, 1);
    },
    "surface.md 4 · GET /devices/current: what was not told is absent": async (world) => {
      const uniqueId = uniqueName();
      const token = expectResult(await register(world, { uniqueId }), 201).accessToken;
      const answer = await world.call("GET /devices/current", { token });
      const { id, created, lastModified, ...others } = expectResult(answer);
      expectThat(answer, typeof id === "string" && id !== "", "an id");
      expectDate(answer, "created", created);
      expectDate(answer, "lastModified", lastModified);
      expectEqual(answer, "other fields", others, { platform: "verify", uniqueId });
    },
    "surface.md 4 · GET /devices/current: a user token shows the device on which the user signed in": async (world) => {
      const { token, deviceToken } = await sharedUser(world);
      const answer = await world.call("GET /devices/current", { token });
      expectEqual(answer, "result", expectResult(answer), await deviceOf(world, deviceToken));
    },
    "surface.md 4 · POST /devices: takes all that an app tells of its device": async (world) => {
      const token = expectResult(await register(world, told), 201).accessToken;
      const answer = await world.call("GET /devices/current", { token });
      expectEqual(answer, "fields", toldOf(expectResult(answer)), told);
    },
    "surface.md 1 · POST /devices: names in any case, deviceToken for pushToken, values in all their forms": async (
      world,
    ) => {
      const sent = { MODEL: 7, devicetoken: "p", location: "-90, 180", connectiontype: "carrier", IsProduction: "0" };
      const token = expectResult(await register(world, sent), 201).accessToken;
      const answer = await world.call("GET /devices/current", { token });
      const location = { lat: -90, lng: 180 };
      const kept = { model: "7", pushToken: "p", location, connectionType: "Carrier", isProduction: false };
      expectEqual(answer, "fields", toldOf(expectResult(answer)), kept);
    },
    "surface.md 4 · POST /devices: registering again keeps what is not sent, and the earlier token stays good": async (
      world,
    ) => {
      const uniqueId = uniqueName();
      const first = expectResult(await register(world, { uniqueId, ...told }), 201).accessToken;
      expectResult(await register(world, { uniqueId, model: "Phone 8", tag: null }), 201);
      const answer = await world.call("GET /devices/current", { token: first });
      expectEqual(answer, "fields", toldOf(expectResult(answer)), { ...told, model: "Phone 8" });
    },
    "surface.md 3 · PATCH /devices/current: 200 and the device; fields not sent stay": async (world) => {
      const token = await registerDevice(world);
      for (const [name, value] of Object.entries(told)) expectResult(await change(world, token, { [name]: value }));
      const answer = await change(world, token, {});
      expectEqual(answer, "fields", toldOf(expectResult(answer)), told);
      const { lastModified: _, ...device } = expectResult(answer);
      const { lastModified: __, ...read } = await deviceOf(world, token);
      expectEqual(answer, "GET /devices/current", read, device);
    },
    "surface.md 1 · PATCH /devices/current: the empty text clears a text, null does nothing": async (world) => {
      const token = expectResult(await register(world, told), 201).accessToken;
      const all = (value: unknown) => Object.fromEntries(texts.map((name) => [name, value]));
      const kept = await change(world, token, all(null));
      expectEqual(kept, "fields", toldOf(expectResult(kept)), told);
      const cleared = await change(world, token, all(""));
      const { location, connectionType, isProduction } = told;
      expectEqual(cleared, "fields", toldOf(expectResult(cleared)), { location, connectionType, isProduction });
    },
    "surface.md 1 · PATCH /devices/current: a device sent back whole changes nothing, whatever it says of its id":
      async (world) => {
        const token = expectResult(await register(world, { uniqueId: uniqueName(), ...told }), 201).accessToken;
        const { lastModified: _, ...device } = await deviceOf(world, token);
        for (const set of [{}, { id: {}, created: [], lastModified: "x", platform: "y", uniqueId: "z" }]) {
          const answer = await change(world, token, { ...device, ...set });
          const { lastModified: __, ...changed } = expectResult(answer);
          expectEqual(answer, "result", changed, device);
        }
      },
    "surface.md 4 · PATCH /devices/current: changes of different fields at once lose nothing": async (world) => {
      const token = await registerDevice(world);
      const changes = Object.entries(told).map(([name, value]) => change(world, token, { [name]: value }));
      for (const answer of await Promise.all(changes)) expectResult(answer);
      const answer = await world.call("GET /devices/current", { token });
      expectEqual(answer, "fields", toldOf(expectResult(answer)), told);
    },
    ...each(
      refused,
      ([name, value, row]) =>
        `surface.md 2 · A device's ${name} is no ${JSON.stringify(value)}: 400 ${further[row].error}`,
      async (world, [name, value, row]) => {
        const expected = { ...further[row], message: new RegExp(name) };
        expectError(await register(world, { [name]: value }), expected);
        expectError(await change(world, await sharedDevice(world), { [name]: value }), expected);
      },
    ),
    "surface.md 4 · POST /devices/current/crashreports: 201 with the report": async (world) => {
      const { location, tag } = told;
      const sent = { stackTrace: "Error\n\tat main", message: "no such thing", methodName: "main", location, tag };
      const answer = await reportCrash(world, sent);
      const { id, created, lastModified: _, ...others } = expectResult(answer, 201);
      expectThat(answer, typeof id === "string" && id !== "", "an id");
      expectDate(answer, "created", created);
      expectEqual(answer, "other fields", others, sent);
      const bare = await reportCrash(world, { stackTrace: "Error", message: null });
      const shown = Object.keys(expectResult(bare, 201)).filter((name) => name in sent);
      expectEqual(bare, "fields that were sent", shown, ["stackTrace"]);
    },
    "surface.md 4 · POST /devices/current/crashreports: 400 ParameterMissingRequiredValue without a stackTrace": async (
      world,
    ) => {
      for (const stackTrace of [undefined, null, ""]) {
        expectError(await reportCrash(world, { stackTrace, message: "m" }), missing("stackTrace"));
      }
    },
  },
};

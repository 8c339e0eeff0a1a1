import { each, type Group, Skip } from "../check.ts";
import { further, missing, specified } from "../errors.ts";
import { expectDate, expectEqual, expectError, expectResult, expectSameAnswer, expectThat } from "../expect.ts";
import { sharedUser, uniqueName, type World } from "../world.ts";

const atOnce = 100;

/** The id of the device that holds a token. Skips where the deployment does not tell. */
async function deviceIdOf(world: World, token: string): Promise<string> {
  const answer = await world.call("GET /devices/current", { token });
  if (answer.status === 404) throw new Skip("needs GET /devices/current to see which device a token belongs to");
  return expectResult(answer).id;
}

async function register(world: World, parameters: Readonly<Record<string, unknown>> = {}) {
  const body = { ...world.application, platform: "verify", ...parameters };
  return world.call("POST /devices", { body });
}

/** Registration (service.md "POST /devices"). */
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
        for (const wrong of [appkey.slice(0, -1), `${appkey}x`, appkey.toUpperCase(), ` ${appkey}`]) {
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
          if (name === "appid") expectError(answer, further.incorrectFormat, specified.appIdMalformed);
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
  },
};

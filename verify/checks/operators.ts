import { group } from "../check.ts";
import { further } from "../errors.ts";
import { expectError, expectThat } from "../expect.ts";
import { openapiOfOperators, operationsOf } from "../openapi.ts";
import { sharedDevice, sharedUser, uniqueName, type World } from "../world.ts";

const callers: Readonly<Record<string, (world: World) => Promise<string | undefined>>> = {
  "no token": async () => undefined,
  "a device token": async (world) => `Service ${await sharedDevice(world)}`,
  "a user token": async (world) => `Service ${(await sharedUser(world)).token}`,
  "a user token as Bearer": async (world) => `Bearer ${(await sharedUser(world)).token}`,
  "an application key": async ({ application }) => `Service ${application.appkey}`,
  "an application's credentials as Basic": async ({ application: { appid, appkey } }) =>
    `Basic ${Buffer.from(`${appid}:${appkey}`).toString("base64")}`,
  "a made-up token": async () => `Service ${uniqueName("ro_")}`,
};

const signIn = "POST /_/api/sessions";

const wrongSignIns: Readonly<Record<string, object>> = {
  "an unknown name": { name: uniqueName("nobody"), password: "correct horse battery" },
  "the name of the first operator": { name: "owner", password: uniqueName("wrong") },
  "an empty password": { name: "owner", password: "" },
  "a query as a name": { name: "' or ''='", password: "' or ''='" },
};

/** The operator API, as far as it can be checked without an operator (spec/operators#operator-tokens). */
export const operators = group("operators", (it) => {
  for (const [caller, authorizationOf] of Object.entries(callers))
    it(`spec/operators#operator-tokens · everything under /_/api answers AuthFailed to ${caller}`, async (world) => {
      const document = await openapiOfOperators(world);
      const below = operationsOf(document.body).filter((operation) => operation.includes(" /_/api/"));
      const operations = below.filter((operation) => operation !== signIn); // sign-in is where the token comes from
      expectThat(document, operations.length > 0, "operations under /_/api");
      const Authorization = await authorizationOf(world);
      for (const operation of operations) {
        const filled = operation.replace("{appid}", world.application.appid).replaceAll(/\{\w+\}/g, "verify");
        const options = { headers: { Authorization }, ...(!filled.startsWith("GET") && { body: {} }) };
        expectError(await world.call(filled, options), further.noOperator);
      }
    });
  for (const [what, body] of Object.entries(wrongSignIns))
    it(`hostile.md 6 · signing in as an operator with ${what} gets the same answer as any wrong password`, async (world) => {
      expectError(await world.call(signIn, { body }), further.noOperator);
    });
});

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { valuesOf } from "../../test/rounds.ts";
import { parametersOf, routesWithBody, startValidCalls, type ValidCalls } from "../../test/valid-calls.ts";

/** hostile.md 16 for every operation: the tests read the route table, so they cover new operations automatically. */

let calls: ValidCalls;
before(async () => {
  calls = await startValidCalls();
});
after(() => calls.close());

/** Valid calls that are refused. */
const refusals: Readonly<Record<string, string>> = {
  createOperatorSession: "AuthFailed", // the name and password of the body do not exist
  sendPasswordReset: "ParameterOutOfRange", // the user has no address
  requestEmailCode: "ParameterIncorrectFormat", // its email is an arbitrary string
  verifyEmail: "ParameterOutOfRange", // there is no code
  createWebhook: "ParameterOutOfRange", // its url is an arbitrary string
  changeWebhook: "ItemDoesNotExist", // there is no webhook
  rotateWebhookSecret: "ItemDoesNotExist",
  resumeWebhook: "ItemDoesNotExist",
  redeliverWebhook: "ItemDoesNotExist",
  createEventStream: "ParameterIncorrectFormat", // subscriptions stand in place of its other conditions
  changeCrashGroup: "ParameterOutOfRange", // two of its parameters belong to different states
};

const names = ["__proto__", "constructor", "toString"];

describe("every parameter of every operation (hostile.md 16)", () => {
  it("is accepted or refused as a client error if it is a number in a body, and counts as absent if it is null", async () => {
    const numbers = ["0", "-1", "0.5", "123456789012345678901", "1e300"];
    let turn = 0;
    for (const route of routesWithBody(calls.test)) {
      for (const [name] of parametersOf(route)) {
        turn += 1;
        const check = async (json: string) => {
          const { status, body } = await calls.call(route, calls.pathOf(route), calls.bodyWith(route, name, json));
          assert.ok(status < 500, `${route.operation} ${name}: ${json}`);
          if (json !== "null") return;
          const isRequired = route.parameters?.required.includes(name) === true;
          const usual = isRequired ? "ParameterMissingRequiredValue" : refusals[route.operation];
          assert.equal(body.error, usual, `${route.operation} ${name}`);
        };
        await Promise.all(["null", ...valuesOf(numbers, turn)].map(check)); // some operations are slow
      }
    }
  });

  it("is accepted or refused as a client error for any value in the query", async () => {
    const values = ["", "%00", "%ff", "%ED%A0%80", "[object%20Object]", "NaN", "1e400", "-0", "null", "true", ...names];
    let turn = 0;
    for (const route of calls.test.app.routes.filter(({ method }) => method === "GET")) {
      for (const [name] of parametersOf(route)) {
        turn += 1;
        const queries = values.map((value) => `${name}=${value}`);
        queries.push(`${name}[]=1`, `${name}[a]=1`, `${name}=1&${name}=2`, `${name}`);
        // One after the other: a caller may not have many exports at once.
        for (const query of valuesOf(queries, turn)) {
          const { status } = await calls.call(route, `${calls.pathOf(route)}?${query}`);
          assert.ok(status < 500, `${route.operation} ${query}`);
        }
      }
    }
  });
});

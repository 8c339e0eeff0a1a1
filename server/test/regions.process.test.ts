import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { assertError, assertResult } from "./harness.ts";
import { createRegions, type TestRegion } from "./regions.ts";
import { killRunningServers } from "./running-server.ts";

/** Two real deployments with databases of their own, and a third one that is out of reach (surface.md section 14). */

let main: TestRegion;
let eu: TestRegion;
let remove: () => Promise<void>;
let application: { readonly appid: string; readonly appkey: string };
before(async () => {
  const made = await createRegions(["main", "eu", "us"]);
  ({ main, eu } = made.regions);
  remove = made.remove;
  await Promise.all([main.start(), eu.start()]);
  application = JSON.parse(await main.printed("apps", "create", "--name", "Remote", "--region", "eu", "--json"));
});
after(async () => {
  killRunningServers();
  await remove();
});

const device = { platform: "test", uniqueId: "the one device", location: { lat: 48.2, lng: 16.3 } };
const wrongKey = "The application id or the application key is wrong. Check the values of appid and appkey.";

describe("an application of a remote region", () => {
  it("registers devices at the main region, which answers with serviceRoot, and at its own", async () => {
    for (const region of [main, eu]) {
      const answer = await region.call("POST /devices", { body: { ...application, ...device } });
      const { accessToken, accessTokenExpires } = answer.body.result;
      assertResult(answer, 201, { accessToken, accessTokenExpires, serviceRoot: eu.root });
      assert.match(accessToken, /^eu\./);
      assert.equal(
        (await eu.call("GET /devices/current", { token: accessToken })).body.result.uniqueId,
        device.uniqueId,
      );
    }
  });

  it("is refused with a wrong key, and with wrong parameters, as at home", async () => {
    for (const region of [main, eu]) {
      const wrong = await region.call("POST /devices", { body: { ...application, appkey: "rk_wrong", platform: "x" } });
      assertError(wrong, 401, "AuthAppCredentialsInvalid", 261, wrongKey);
    }
  });

  it("its tokens are refused by the main region with serviceRoot, and those of main by its own", async () => {
    const { body } = await main.call("POST /devices", { body: { ...application, ...device } });
    const token = body.result.accessToken;
    const refused = await main.call("GET /devices/current", { token });
    const { request_id } = refused.body;
    assert.deepEqual(refused.body, {
      status: 401,
      error: "AuthAccessTokenInvalid",
      errorNumber: 261,
      message: "Incorrect token type.",
      serviceRoot: eu.root,
      request_id,
      success: false,
    });
  });
});

describe("a region that is out of reach", () => {
  it("is ServiceUnavailable with Retry-After, and an application is not half made there", async () => {
    const { code, stdout, stderr } = await main.run("apps", "create", "--name", "Nowhere", "--region", "us");
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, /The region us is out of reach/);
    assert.doesNotMatch(await main.printed("apps", "list"), /us/);
  });
});

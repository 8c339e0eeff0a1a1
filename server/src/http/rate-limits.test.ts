import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Answer, assertError, startTestApp, type TestApp } from "../../test/harness.ts";
import { dataPart, download, png, upload } from "../../test/uploads.ts";
import type { NewApplication } from "../applications/applications.store.ts";
import { type ApplicationSettings, updateApplicationSettings } from "../tenancy/application-settings.ts";

let test: TestApp;
before(async () => {
  test = await startTestApp();
});
after(() => test.close());

type Limits = NonNullable<ApplicationSettings["limits"]>;

async function limited(limits: Limits, app = test): Promise<NewApplication> {
  const application = await app.createApplication();
  await limit(application, limits, app);
  return application;
}

async function limit({ appid }: NewApplication, limits: Limits, app = test): Promise<void> {
  await app.app.database.write(({ queries }) => updateApplicationSettings(appid, { oidc: {}, limits }, queries));
}

/** As many statuses as calls, one after the other. */
async function statuses(count: number, call: () => Promise<Answer>): Promise<number[]> {
  const found: number[] = [];
  for (let n = 0; n < count; n++) found.push((await call()).status);
  return found;
}

function assertLimited(answer: Answer, retryAfter: number, name: string): void {
  assertError(
    answer,
    429,
    "RateLimitExceeded",
    1282,
    "Too many calls. Try again after the time that Retry-After names.",
  );
  assert.equal(answer.headers["retry-after"], String(retryAfter));
  assert.match(String(answer.headers["ratelimit"]), new RegExp(`^"${name}";r=0;t=\\d+$`));
  assert.match(String(answer.headers["ratelimit-policy"]), new RegExp(`^"${name}";q=\\d+;w=\\d+$`));
}

describe("limits of a caller", () => {
  it("429 RateLimitExceeded for the call above the burst; Retry-After tells exactly when the next is taken", async () => {
    const application = await limited({ caller: { perSecond: 0.5, burst: 3 } });
    const token = await test.registerDevice(application);
    const call = () => test.call("GET /devices/current", { token });
    assert.deepEqual(await statuses(3, call), [200, 200, 200]);
    assertLimited(await call(), 2, "caller");
    test.advance(1_999);
    assertLimited(await call(), 1, "caller");
    test.advance(1);
    assert.deepEqual(await statuses(2, call), [200, 429]);
    test.advance(3_600_000);
    assert.deepEqual(await statuses(4, call), [200, 200, 200, 429]);
  });
});

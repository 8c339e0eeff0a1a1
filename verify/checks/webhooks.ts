import { setTimeout as delay } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import { type Check, group, Skip } from "../check.ts";
import type { Answer } from "../client.ts";
import { type ErrorRow, further } from "../errors.ts";
import { expectDate, expectEqual, expectError, expectResult, expectThat } from "../expect.ts";
import { Failure } from "../failure.ts";
import type { Delivery, Receiver } from "../receiver.ts";
import { signUp, uniqueName, type World } from "../world.ts";

const webhooksMax = 20;
const testsPerMinute = 6;
const quietMs = 1_000;

/** Public, so that registrations accept it. No event is sent there: see `silent`. */
const publicUrl = "https://1.1.1.1/rollcall-verify";
/** The log has no event of this type. */
const silent = { url: publicUrl, types: ["webhook.test"] };
/** No name server knows it, so no server answers. */
const unknownUrl = "https://receiver.invalid/hook";

/** The webhooks of a check, which are deleted after it. */
interface Webhooks {
  readonly world: World;
  /** Where their deliveries arrive. @throws Skip without a receiver that the deployment can reach */
  readonly receiver: Receiver;
  ask(call: string, body?: object): Promise<Answer>;
  create(body?: object): Promise<Answer["body"]>;
  /** Registers one that must be refused. */
  expectRefused(body: object, row: ErrorRow): Promise<void>;
}

/** Runs a check as the operator, and deletes the webhooks that it has registered. */
function operated(check: (webhooks: Webhooks) => Promise<void>): Check {
  return async (world) => {
    const { operatorToken } = world;
    if (operatorToken === undefined) throw new Skip("needs --operator-token");
    const root = `/_/api/applications/${world.application.appid}/webhooks`;
    const made: string[] = [];
    const ask: Webhooks["ask"] = (call, body) => {
      const [method, path = ""] = call.split(/ (.*)/s);
      return world.call(`${method} ${root}${path}`, { token: operatorToken, body });
    };
    async function register(body: object): Promise<Answer> {
      const answer = await ask("POST ", { ...silent, name: uniqueName(), ...body });
      if (answer.status === 201) made.push(answer.body.result.id);
      return answer;
    }
    try {
      await check({
        world,
        ask,
        get receiver() {
          if (world.receiver === undefined) throw new Skip("needs --receiver-url");
          return world.receiver;
        },
        create: async (body = {}) => expectResult(await register(body), 201),
        expectRefused: async (body, row) => expectError(await register(body), row),
      });
    } finally {
      for (const id of made) await ask(`DELETE /${id}`);
    }
  };
}

async function checkIn(world: World): Promise<string> {
  const { token } = await signUp(world);
  return expectResult(await world.call("POST /checkins", { token, body: { location: "1,2" } }), 201).id;
}

async function findDelivery({ receiver }: Webhooks, objectId: string, path = ""): Promise<Delivery> {
  const found = await receiver.find(({ body }) => body?.data?.objectID === objectId);
  if (found !== undefined) return found;
  throw new Failure({ request: `a delivery to ${receiver.url}${path}` }, `the event of ${objectId}`, "none");
}

/** @throws Failure unless the delivery is signed with this secret */
function expectSigned({ text, headers }: Delivery, secret: string): void {
  try {
    new Webhook(secret).verify(text, headers as Record<string, string>);
  } catch (error) {
    throw new Failure({ request: `a delivery: ${text}` }, "a signature of Standard Webhooks", String(error));
  }
}

const malformedUrls: readonly string[] = [
  ...["http://1.1.1.1/", "ftp://1.1.1.1/", "https://user:secret@1.1.1.1/", "https://a@1.1.1.1/", "//1.1.1.1/"],
  ...["https://1.1.1.1/#part", "https://1.1.1.1:80/", "https://1.1.1.1:22/", "nothing", "https://"],
];

/** No setting opens these. */
const closedUrls: readonly string[] = [
  ...["https://169.254.169.254/latest/meta-data/", "https://0xa9fea9fe/", "https://[::ffff:169.254.169.254]/"],
  ...["https://[fe80::1]/", "https://[fd00:ec2::254]/", "https://168.63.129.16/"],
];

/** Each in some notation; `WEBHOOK_NETWORKS` may open them. */
const internalUrls: readonly string[] = [
  ...["https://127.1/", "https://127.0.0.1/", "https://0x7f000001/", "https://2130706433/", "https://0177.0.0.1/"],
  ...["https://0/", "https://localhost/", "https://①②⑦.0.0.1/", "https://[::1]/", "https://[::]/"],
  ...["https://10.0.0.1/", "https://172.16.0.1/", "https://192.168.0.1/", "https://100.64.0.1/", "https://192.0.2.1/"],
  ...["https://198.18.0.1/", "https://224.0.0.1/", "https://240.0.0.1/", "https://255.255.255.255/"],
  ...["https://[::ffff:10.0.0.1]/", "https://[64:ff9b::10.0.0.1]/", "https://[2002:a00:1::]/", "https://[fc00::1]/"],
  ...["https://[2001:0:7f00:1::]/", "https://[::127.0.0.1]/", "https://[2001:db8::1]/", "https://[ff02::1]/"],
];

const outOfRange: Readonly<Record<string, object>> = {
  "no types": { types: [] },
  "51 types": { types: Array.from({ length: 51 }, () => "*") },
  "concurrency 17": { concurrency: 17 },
  "timeoutMs 999": { timeoutMs: 999 },
  "perSecond 1,001": { perSecond: 1_001 },
  "a name of 10 KB": { name: "x".repeat(10_000) },
  "a url of 2,049 characters": { url: `${publicUrl}?${"x".repeat(2_049 - publicUrl.length - 1)}` },
  "11 headers": { headers: Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`x-${index}`, "1"])) },
  "a line break in a header": { headers: { "x-shop": "1\r\nhost: example.org" } },
  "the header webhook-signature": { headers: { "webhook-signature": "v1,x" } },
  "the header Host": { headers: { Host: "example.org" } },
  "the header Transfer-Encoding": { headers: { "transfer-encoding": "chunked" } },
  "the header Rollcall-Attempt": { headers: { "Rollcall-Attempt": "1" } },
};

const incorrect: Readonly<Record<string, object>> = {
  "an unknown type": { types: ["nothing.created"] },
  "a kind without a pattern": { types: ["checkin"] },
  "an unknown format": { format: "xml" },
};

/** Webhooks (spec/webhooks); deliveries are checked where the deployment reaches this machine. */
export const webhooks = group("webhooks", (register) => {
  const it = (title: string, check: (webhooks: Webhooks) => Promise<void>) => register(title, operated(check));
  it("spec/webhooks#create-a-webhook · POST …/webhooks: the secret is in the first answer, and in no other", async ({
    ask,
    create,
  }) => {
    const { secret, ...rest } = await create({ headers: { Authorization: "Bearer hush" } });
    const answer = await ask(`GET /${rest.id}`);
    expectEqual(answer, "the webhook", expectResult(answer), rest);
    expectThat(answer, /^whsec_[A-Za-z0-9+/]{43}=$/.test(secret), "a secret of 32 bytes");
    expectThat(answer, !answer.text.includes("hush"), "no values of headers");
    expectEqual(answer, "headers", rest.headers, ["authorization"]);
    const { format, concurrency, timeoutMs, perSecond, trueLocations, state, behind } = rest;
    const defaults = { format, concurrency, timeoutMs, perSecond, trueLocations, state, behind };
    const expected = { format: "standard", concurrency: 4, timeoutMs: 15_000, perSecond: 100 };
    const standing = { trueLocations: false, state: "active", behind: { events: 0 } };
    expectEqual(answer, "defaults", defaults, { ...expected, ...standing });
    const { pageResults } = expectResult(await ask("GET ?pageSize=100"));
    const ids = pageResults.map(({ id }: { id: string }) => id);
    expectThat(answer, ids.includes(rest.id), "the webhook in the list");
  });
  it("spec/webhooks#create-a-webhook · POST …/webhooks: the 21st of an application is RequestTooLarge", async ({
    ask,
    create,
    expectRefused,
  }) => {
    const { pageResults } = expectResult(await ask("GET ?pageSize=100"));
    for (let count = pageResults.length; count < webhooksMax; count += 1) await create();
    await expectRefused({}, further.tooLarge);
  });
  for (const [what, body] of Object.entries(outOfRange))
    it(`spec/webhooks#headers · POST …/webhooks with ${what} is ParameterOutOfRange`, async ({ expectRefused }) => {
      await expectRefused(body, further.outOfRange);
    });
  for (const [what, body] of Object.entries(incorrect))
    it(`spec/webhooks#create-a-webhook · POST …/webhooks with ${what} is ParameterIncorrectFormat`, async ({
      expectRefused,
    }) => {
      await expectRefused(body, further.incorrectFormat);
    });
  for (const url of [...malformedUrls, ...closedUrls])
    it(`spec/webhooks#urls · POST …/webhooks: ${url} is ParameterOutOfRange`, async ({ expectRefused }) => {
      await expectRefused({ url }, further.outOfRange);
    });
  for (const url of internalUrls)
    it(`spec/webhooks#urls · POST …/webhooks: the internal ${url} is ParameterOutOfRange`, async ({
      expectRefused,
      world,
    }) => {
      if (world.receiver !== undefined) throw new Skip("the deployment reaches the receiver in an internal network");
      await expectRefused({ url }, further.outOfRange);
    });
  it("spec/webhooks#urls · PATCH …/webhooks/{webhookId}: a new url is judged like the first, and the old one stays", async ({
    ask,
    create,
  }) => {
    const { id } = await create();
    expectError(await ask(`PATCH /${id}`, { url: "https://169.254.169.254/" }), further.outOfRange);
    const answer = await ask(`GET /${id}`);
    expectEqual(answer, "url", expectResult(answer).url, publicUrl);
  });
  it("spec/webhooks#change-a-webhook · PATCH and DELETE …/webhooks/{webhookId}", async ({ ask, create }) => {
    const { id, secret: _ } = await create();
    const changed = await ask(`PATCH /${id}`, { name: "Shop", types: ["WebHook.*"], concurrency: 1 });
    const { name, types, concurrency, secret } = expectResult(changed);
    expectEqual(
      changed,
      "fields",
      { name, types, concurrency, secret },
      {
        ...{ name: "Shop", types: ["webhook.*"], concurrency: 1, secret: undefined },
      },
    );
    expectEqual(changed, "result", expectResult(await ask(`DELETE /${id}`)), true);
    for (const call of [`GET /${id}`, `DELETE /${id}`, `GET /${id}/deliveries`, `POST /${id}/pause`]) {
      expectError(await ask(call, call.startsWith("POST") ? {} : undefined), further.itemDoesNotExist);
    }
  });
  it("spec/webhooks#rotate-the-secret · POST …/rotate-secret: another secret, shown once; two are good at most", async ({
    ask,
    create,
  }) => {
    const { id, secret } = await create();
    const answer = await ask(`POST /${id}/rotate-secret`, { overlapHours: 2 });
    const rotated = expectResult(answer);
    expectThat(answer, /^whsec_/.test(rotated.secret) && rotated.secret !== secret, "another secret");
    expectDate(answer, "previousEnds", rotated.previousEnds);
    expectResult(await ask(`POST /${id}/rotate-secret`, {}));
    const read = await ask(`GET /${id}`);
    expectEqual(read, "number of secrets", expectResult(read).secrets.length, 2);
    expectThat(read, !read.text.includes("whsec_"), "no secret");
    expectError(await ask(`POST /${id}/rotate-secret`, { overlapHours: 169 }), further.outOfRange);
  });
  it("spec/webhooks#pause-and-resume · POST …/pause, …/resume: the state says so", async ({ ask, create }) => {
    const { id } = await create();
    const paused = await ask(`POST /${id}/pause`, {});
    expectEqual(paused, "state", expectResult(paused).state, "paused");
    const resumed = await ask(`POST /${id}/resume`, { from: "now" });
    expectEqual(resumed, "state", expectResult(resumed).state, "active");
    expectError(await ask(`POST /${id}/resume`, { from: "yesterday" }), further.incorrectFormat);
  });
  it("spec/webhooks#test-a-webhook · POST …/test: says that nothing answered, and is RateLimitExceeded the seventh time", async ({
    ask,
    create,
  }) => {
    const { id } = await create({ url: unknownUrl });
    for (let count = 0; count < testsPerMinute; count += 1) {
      const answer = await ask(`POST /${id}/test`, {});
      const { status, error } = expectResult(answer);
      expectThat(answer, status === undefined && typeof error === "string", "an error and no status");
    }
    expectError(await ask(`POST /${id}/test`, {}), further.rateLimitExceeded);
  });
  it("spec/webhooks#deliveries · GET …/deliveries: none yet; an unknown state is ParameterIncorrectFormat", async ({
    ask,
    create,
  }) => {
    const { id } = await create();
    const answer = await ask(`GET /${id}/deliveries`);
    expectEqual(answer, "deliveries", expectResult(answer).pageResults, []);
    expectError(await ask(`GET /${id}/deliveries?state=lost`), further.incorrectFormat);
    expectError(
      await ask(`POST /${id}/deliveries/${id.replace("whk_", "whd_")}/redeliver`, {}),
      further.itemDoesNotExist,
    );
  });
  it("spec/webhooks#envelope · a delivery is a CloudEvent that Standard Webhooks libraries verify", async (webhooks) => {
    const hook = { url: webhooks.receiver.url, types: ["checkin.*"], headers: { "X-Shop": "7" } };
    const { secret } = await webhooks.create(hook);
    const id = await checkIn(webhooks.world);
    const delivery = await findDelivery(webhooks, id);
    expectSigned(delivery, secret);
    const { headers, body, text } = delivery;
    const expectedBody = { specversion: "1.0", type: "checkin.created", subject: id, time: body.timestamp };
    const isWhole =
      Object.entries(expectedBody).every(([name, value]) => body[name] === value) &&
      body.id === headers["webhook-id"] &&
      /^\d{20}$/.test(body.sequence) &&
      body.data.object?.id === id;
    const areSent =
      headers["content-type"] === "application/json" &&
      headers["x-shop"] === "7" &&
      headers["rollcall-attempt"] === "1" &&
      /^Rollcall\//.test(`${headers["user-agent"]}`);
    if (isWhole && areSent) return;
    throw new Failure({ request: JSON.stringify(headers) }, "the envelope and the headers of an event", text);
  });
  it("spec/webhooks#rotate-the-secret · during a rotation either secret verifies", async (webhooks) => {
    const { id, secret } = await webhooks.create({ url: webhooks.receiver.url, types: ["checkin.*"] });
    const rotated = expectResult(await webhooks.ask(`POST /${id}/rotate-secret`, { overlapHours: 1 }));
    const delivery = await findDelivery(webhooks, await checkIn(webhooks.world));
    for (const each of [secret, rotated.secret]) expectSigned(delivery, each);
  });
  it("spec/webhooks#pause-and-resume · a paused webhook gets its events after the resume", async (webhooks) => {
    const { id } = await webhooks.create({ url: webhooks.receiver.url, types: ["checkin.*"] });
    expectResult(await webhooks.ask(`POST /${id}/pause`, {}));
    const event = await checkIn(webhooks.world);
    await delay(quietMs);
    const isSent = webhooks.receiver.deliveries.some(({ body }) => body?.data?.objectID === event);
    const read = await webhooks.ask(`GET /${id}`);
    expectThat(read, !isSent, "no delivery during the pause");
    expectEqual(read, "behind.events", expectResult(read).behind.events, 1);
    expectResult(await webhooks.ask(`POST /${id}/resume`, {}));
    await findDelivery(webhooks, event);
  });
  it("spec/webhooks#redeliver · a redelivery has the same webhook-id, and says that it is one", async (webhooks) => {
    const { id } = await webhooks.create({ url: webhooks.receiver.url, types: ["checkin.*"] });
    const first = await findDelivery(webhooks, await checkIn(webhooks.world));
    const eventId = `${first.headers["webhook-id"]}`;
    const [delivery] = await untilListed(webhooks, id, eventId);
    expectResult(await webhooks.ask(`POST /${id}/deliveries/${delivery.id}/redeliver`, {}), 201);
    const again = await webhooks.receiver.find(
      ({ headers }) => headers["webhook-id"] === eventId && headers["rollcall-replay"] === "true",
    );
    if (again === undefined) throw new Failure({ request: eventId }, "a redelivery", "none");
  });
  it("spec/webhooks#test-a-webhook · POST …/test: answers what the receiver said, also for a paused webhook", async ({
    ask,
    create,
    receiver,
  }) => {
    const { id, secret } = await create({ url: receiver.url });
    expectResult(await ask(`POST /${id}/pause`, {}));
    const answer = await ask(`POST /${id}/test`, {});
    const { ms, ...result } = expectResult(answer);
    expectEqual(answer, "result", result, { status: 200, response: "thanks" });
    expectThat(answer, ms >= 0, "ms");
    const delivery = await receiver.find(({ body }) => body?.type === "webhook.test" && body.subject === id);
    if (delivery === undefined) throw new Failure(answer, "a webhook.test", "none");
    expectSigned(delivery, secret);
  });
});

/** Results are stored a little after the receiver has answered. */
async function untilListed({ ask, receiver }: Webhooks, id: string, eventId: string): Promise<Answer["body"][]> {
  let found: Answer["body"][] = [];
  for (let tries = 0; found.length === 0 && tries < 100; tries += 1) {
    if (tries > 0) await delay(100);
    found = expectResult(await ask(`GET /${id}/deliveries?eventID=${eventId}&state=delivered`)).pageResults;
  }
  if (found.length > 0) return found;
  throw new Failure({ request: `deliveries to ${receiver.url}` }, `a delivery of ${eventId}`, "none");
}

import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { type Answer, startTestApp, type TestApp, type TestOperator } from "../../test/harness.ts";

let test: TestApp;
let owner: TestOperator;
let editor: TestOperator;
let viewer: TestOperator;
let root: string;
/** What the name servers of the test answer. */
const names: Record<string, readonly string[] | "silent"> = {};
before(async () => {
  test = await startTestApp(
    { WEBHOOK_NETWORKS: "10.9.0.0/16,fd12::/16" },
    {
      lookUp: async (name) => {
        const found = names[name] ?? [];
        return found === "silent" ? new Promise(() => {}) : found;
      },
    },
  );
  owner = await test.createOperator("owner 2");
  editor = await test.createOperator("editor", "editor");
  viewer = await test.createOperator("viewer", "viewer");
});
beforeEach(async () => {
  root = await newRoot();
});
after(() => test.close());

async function newRoot(): Promise<string> {
  return `/_/api/applications/${(await test.createApplication()).appid}/webhooks`;
}

function ask(call: string, body?: object, { token } = editor): Promise<Answer> {
  return test.call(call, { token, ...(body && { body }) });
}

async function create(body: object = {}, operator = editor, at = root): Promise<Answer> {
  return ask(`POST ${at}`, { url: "https://1.1.1.1/hook", types: ["*"], ...body }, operator);
}

async function created(body: object = {}, operator = editor) {
  const { status, body: answer, text } = await create(body, operator);
  assert.equal(status, 201, text);
  return answer.result;
}

function assertRefused({ status, body, text }: Answer, expected: number, error: string): void {
  assert.deepEqual([status, body.error], [expected, error], text);
}

function assertOutOfRange(answer: Answer, parameter: string): void {
  assertRefused(answer, 400, "ParameterOutOfRange");
  assert.equal(answer.body.parameter, parameter);
}

describe("webhooks of an application", () => {
  // spec/webhooks#create-a-webhook
  it("are created with a secret that is shown once, and is in no other response and not in the database", async () => {
    const { secret, ...rest } = await created({ name: "Shop", headers: { Authorization: "Bearer hush" } });
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    assert.deepEqual(rest.headers, ["authorization"]);
    assert.deepEqual([rest.format, rest.concurrency, rest.timeoutMs, rest.perSecond], ["standard", 4, 15_000, 100]);
    assert.deepEqual([rest.state, rest.behind, rest.trueLocations], ["active", { events: 0 }, false]);
    const { body, text } = await ask(`GET ${root}/${rest.id}`, undefined, viewer);
    assert.deepEqual(body.result, rest);
    assert.ok(!text.includes("hush"));
    const listed = await ask(`GET ${root}`, undefined, viewer);
    assert.deepEqual(listed.body.result.pageResults, [rest]);
    const stored = JSON.stringify(await test.app.database.reads.selectFrom("webhooks").selectAll().execute());
    assert.ok(!stored.includes("hush") && !stored.includes(secret.slice("whsec_".length)));
    const audit = await ask("GET /_/api/audit?action=createWebhook");
    assert.equal(audit.body.result.pageResults[0].target, rest.id);
    assert.ok(!audit.text.includes("hush") && !audit.text.includes(secret));
  });

  it("are limited to 20, even with the same URL", async () => {
    for (let count = 0; count < 20; count += 1) await created();
    assertRefused(await create(), 413, "RequestTooLarge");
  });

  it("have validated types, formats and bounds", async () => {
    for (const types of [[], Array.from({ length: 51 }, () => "*")]) {
      assertOutOfRange(await create({ types }), "types");
    }
    for (const types of [["nothing.created"], ["checkin"], [7], ["checkin.*", "x.*"]]) {
      assertRefused(await create({ types }), 400, "ParameterIncorrectFormat");
    }
    assertRefused(await create({ format: "xml" }), 400, "ParameterIncorrectFormat");
    for (const [name, value] of Object.entries({
      concurrency: 17,
      timeoutMs: 999,
      perSecond: 0,
      name: "x".repeat(257),
    })) {
      assertOutOfRange(await create({ [name]: value }), name);
    }
    assert.deepEqual((await created({ types: ["CheckIn.*", "user.DELETED"] })).types, ["checkin.*", "user.deleted"]);
  });

  // spec/webhooks#read-a-webhook
  it("exist only for their own application and for operators", async () => {
    const { id } = await created();
    const other = await newRoot();
    for (const path of [`${other}/${id}`, `${other}/${id}/deliveries`]) {
      assertRefused(await ask(`GET ${path}`), 404, "ItemDoesNotExist");
    }
    assertRefused(await create({}, viewer), 403, "ObjectPermissionDenied");
    const jane = await test.signUp();
    assert.equal((await test.call(`GET ${root}`, { token: jane.token })).status, 401);
  });

  // spec/webhooks#change-a-webhook
  it("are changed and deleted", async () => {
    const { id, secret: _, ...before } = await created({ name: "Old", headers: { "x-a": "1" } });
    test.advance(1_000);
    const { body } = await ask(`PATCH ${root}/${id}`, { name: "", headers: {}, types: ["user.*"], timeoutMs: 2_000 });
    const { name: __, ...rest } = { ...before, id };
    const expected = {
      ...rest,
      headers: [],
      types: ["user.*"],
      timeoutMs: 2_000,
      lastModified: body.result.lastModified,
    };
    assert.deepEqual(body.result, expected);
    assert.notEqual(body.result.lastModified, before.lastModified);
    assert.equal((await ask(`DELETE ${root}/${id}`)).body.result, true);
    assertRefused(await ask(`GET ${root}/${id}`), 404, "ItemDoesNotExist");
    assertRefused(await ask(`DELETE ${root}/${id}`), 404, "ItemDoesNotExist");
  });

  // spec/webhooks#rotate-the-secret
  it("have at most two secrets after a rotation", async () => {
    const { id, secret } = await created();
    const first = await ask(`POST ${root}/${id}/rotate-secret`, { overlapHours: 1 });
    assert.notEqual(first.body.result.secret, secret);
    assert.equal(first.body.result.previousEnds, `/Date(${test.now() + 3_600_000})/`);
    await ask(`POST ${root}/${id}/rotate-secret`, {});
    assert.equal((await ask(`GET ${root}/${id}`)).body.result.secrets.length, 2);
    const last = await ask(`POST ${root}/${id}/rotate-secret`, { overlapHours: 0 });
    assert.deepEqual(Object.keys(last.body.result), ["secret"]);
    assert.equal((await ask(`GET ${root}/${id}`)).body.result.secrets.length, 1);
    assertOutOfRange(await ask(`POST ${root}/${id}/rotate-secret`, { overlapHours: 169 }), "overlapHours");
  });

  // spec/webhooks#pause-and-resume
  it("are paused and resumed", async () => {
    const { id } = await created();
    assert.equal((await ask(`POST ${root}/${id}/pause`, {})).body.result.state, "paused");
    for (const body of [{}, { from: "now" }]) {
      assert.equal((await ask(`POST ${root}/${id}/resume`, body)).body.result.state, "active");
    }
    assertRefused(await ask(`POST ${root}/${id}/resume`, { from: "then" }), 400, "ParameterIncorrectFormat");
  });

  // spec/webhooks#true-locations
  it("send true locations only if an owner allows it; then only owners change their URL", async () => {
    assertRefused(await create({ trueLocations: true }), 403, "ObjectPermissionDenied");
    const { id } = await created({ trueLocations: true }, owner);
    for (const body of [{ url: "https://1.1.1.1/" }, { headers: {} }, { trueLocations: false }]) {
      assertRefused(await ask(`PATCH ${root}/${id}`, body), 403, "ObjectPermissionDenied");
    }
    assert.equal((await ask(`PATCH ${root}/${id}`, { name: "Free", trueLocations: true })).status, 200);
    assert.equal((await ask(`PATCH ${root}/${id}`, { url: "https://1.1.1.1/" }, owner)).status, 200);
    const audit = await ask("GET /_/api/audit?action=createWebhook&refused=false");
    assert.equal(audit.body.result.pageResults[0].details.trueLocations, true);
  });
});

// spec/webhooks#urls
describe("the URL of a webhook (events.md E12)", () => {
  const refused = [
    ...[
      "http://1.1.1.1/",
      "ftp://1.1.1.1/",
      "https://1.1.1.1:80/",
      "https://1.1.1.1:1023/",
      "1.1.1.1",
      "https:///",
      "https://",
    ],
    ...["https://a@1.1.1.1/", "https://a:b@1.1.1.1/", "https://@1.1.1.1/", "https://1.1.1.1/#a", "https://1.1.1.1/a b"],
    ...[
      "https://127.1/",
      "https://0x7f000001/",
      "https://2130706433/",
      "https://0177.0.0.1/",
      "https://[::1]/",
      "https://0/",
    ],
    ...["https://[::ffff:10.0.0.1]/", "https://[64:ff9b::7f00:1]/", "https://[2002:7f00:1::]/"],
    ...[
      "https://[2001:0:101:101:0:0:f5ff:fffe]/",
      "https://169.254.169.254/",
      "https://[fe80::1]/",
      "https://[fd00:ec2::254]/",
    ],
    ...[
      "https://10.0.0.1/",
      "https://192.168.1.1/",
      "https://100.64.0.1/",
      "https://localhost/",
      "https://mixed.example/",
    ],
    ...["https://１２７.0.0.1/", "https://127。0。0。1/", "https:\\\\127.0.0.1\\", "http://unknown.example/"],
  ];
  for (const url of refused) {
    it(`is refused: ${url}`, async () => {
      names["mixed.example"] = ["1.1.1.1", "10.0.0.1"];
      names["localhost"] = ["127.0.0.1", "::1"];
      assertOutOfRange(await create({ url }), "url");
    });
  }

  it("has up to 2,048 characters", async () => {
    assertOutOfRange(await create({ url: `https://1.1.1.1/${"x".repeat(2_048)}` }), "url");
  });

  it("may lead to public addresses, and into WEBHOOK_NETWORKS by http and any port", async () => {
    Object.assign(names, { "public.example": ["1.1.1.1", "2606:4700:4700::1111"], "inner.example": ["10.9.0.1"] });
    for (const url of ["https://public.example/", "https://public.example:8443/", "https://0x01010101/"])
      await created({ url });
    for (const url of ["http://10.9.1.2:8080/", "https://inner.example:80/", "http://[fd12::1]/"])
      await created({ url });
    for (const url of ["http://public.example/", "http://10.8.0.1/"]) assertOutOfRange(await create({ url }), "url");
  });

  it("is accepted when its name does not resolve, or name servers do not respond", async () => {
    names["silent.example"] = "silent";
    for (const url of ["https://unknown.example/", "https://silent.example/"]) await created({ url });
    assertOutOfRange(await create({ url: "http://silent.example/" }), "url");
  });

  it("is validated when it is changed", async () => {
    const { id } = await created();
    assertOutOfRange(await ask(`PATCH ${root}/${id}`, { url: "https://127.0.0.1/" }), "url");
  });
});

// spec/webhooks#headers
describe("the headers of a webhook (events.md E19)", () => {
  const wrong: Record<string, object> = {
    "a line break in a value": { "x-a": "1\r\nhost: b" },
    "a line feed in a value": { "x-a": "1\n2" },
    "a line break in a name": { "x-a\r\nb": "1" },
    "an empty name": { "": "1" },
    "a name of 10 KB": { ["x".repeat(10_240)]: "1" },
    "a value of 10 KB": { "x-a": "x".repeat(10_240) },
    "webhook-signature": { "Webhook-Signature": "v1,x" },
    "rollcall-attempt": { "rollcall-attempt": "1" },
    "Content-Type": { "content-type": "text/plain" },
    "Content-Length": { "Content-Length": "1" },
    Host: { host: "a" },
    Connection: { connection: "keep-alive" },
    "Transfer-Encoding": { "transfer-encoding": "chunked" },
    Cookie: { cookie: "a=b" },
    "a number": { "x-a": 1 },
    "one name twice": { "x-a": "1", "X-A": "2" },
    "eleven headers": Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`x-${index}`, "1"])),
  };
  for (const [what, headers] of Object.entries(wrong)) {
    it(`are refused: ${what}`, async () => assertOutOfRange(await create({ headers }), "headers"));
  }
});

describe("deliveries of a webhook", () => {
  // spec/webhooks#deliveries
  it("are listed and filtered; viewers do not see responses", async () => {
    const { id } = await created();
    const appid = root.split("/")[4] ?? "";
    const deliveries = [];
    for (const state of ["delivered", "dead", "refused"] as const) {
      const row = {
        application_id: appid,
        webhook_id: id,
        id: test.app.ids.newId("WebhookDelivery"),
        event_id: test.app.ids.newId("Event"),
        type: "checkin.created",
        ...{ log: "", position: 0, attempt: 1, state },
        ...{ status: 200, ms: 12, error: null, response: "thanks", is_replay: 0 },
        created_at: test.now(),
        next_attempt_at: null,
      };
      await test.app.database.write(({ queries }) => queries.insertInto("webhook_deliveries").values(row).execute());
      deliveries.push(row);
    }
    const all = await ask(`GET ${root}/${id}/deliveries`);
    assert.deepEqual(
      all.body.result.pageResults.map((each: { id: string }) => each.id),
      deliveries.map((each) => each.id).reverse(),
    );
    assert.equal(all.body.result.pageResults[0].response, "thanks");
    const dead = await ask(`GET ${root}/${id}/deliveries?state=dead`, undefined, viewer);
    const { id: deadId, event_id: eventID } = deliveries[1] ?? {};
    const createdDate = `/Date(${test.now()})/`;
    const shown = {
      id: deadId,
      eventID,
      type: "checkin.created",
      attempt: 1,
      state: "dead",
      status: 200,
      ms: 12,
      created: createdDate,
    };
    assert.deepEqual(dead.body.result.pageResults, [shown]);
    assert.equal((await ask(`GET ${root}/${id}/deliveries?eventID=${eventID}`)).body.result.pageResults.length, 1);
    assert.equal((await ask(`GET ${root}/${id}/deliveries?type=user.changed`)).body.result.pageResults.length, 0);
    assertRefused(await ask(`GET ${root}/${id}/deliveries?state=lost`), 400, "ParameterIncorrectFormat");
    // spec/webhooks#redeliver
    assertRefused(await ask(`POST ${root}/${id}/deliveries/${deadId}/redeliver`, {}), 404, "ItemDoesNotExist");
    assert.deepEqual((await ask(`POST ${root}/${id}/redeliver`, {})).body.result, { accepted: 0 });
  });
});

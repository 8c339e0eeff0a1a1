import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import fc from "fast-check";
import { startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { rounds } from "../../test/rounds.ts";

/** Random programs of calls: a batch must have the same effect as separate calls. */

let test: TestApp;
before(async () => {
  test = await startTestApp();
});
after(() => test.close());

/** A call. `{{…}}` in it refers to the response of an earlier call of the program. */
interface Step {
  readonly method: string;
  readonly path: string;
  readonly parameters?: Readonly<Record<string, unknown>>;
}
// biome-ignore lint/suspicious/noExplicitAny: envelopes of every shape
type Envelope = any;

const text = fc.constantFrom("a", "b", "", "x".repeat(4_001), "\u{1F44D}", "\\{{");
const earlier = fc.nat({ max: 11 }).map((step) => `{{${step}.result.id}}`);
const bag = fc.oneof(
  fc.constant("/metadata/me"),
  earlier.map((id) => `/metadata/${id}`),
);
const location = fc.constantFrom("1,2", "{{0.result.location}}", "91,0", "-33.5,151.25");

const steps: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: fc.record({ location, comment: text }).map((p) => call("POST", "/checkins", p)), weight: 5 },
  fc.tuple(earlier, text).map(([id, comment]) => call("PATCH", `/checkins/${id}`, { comment })),
  earlier.map((id) => call("DELETE", `/checkins/${id}`)),
  earlier.map((id) => call("GET", `/checkins/${id}`)),
  fc.constantFrom("", "created", "bad").map((sortOrder) => call("GET", "/checkins?pageSize=3", { sortOrder })),
  text.map((firstName) => call("PATCH", "/users/me", { firstName })),
  fc.constant(call("GET", "/users/me")),
  fc.constantFrom("n1", "n2").map((name) => call("POST", "/users", { username: `@ ${name}`, password: "pass word" })),
  fc
    .tuple(fc.constantFrom("n1", "n2"), fc.constantFrom("pass word", "wrong"))
    .map(([name, password]) => call("POST", "/users/login", { username: `@ ${name}`, password })),
  fc
    .constantFrom("crm", "a%2Fb", "%ff")
    .map((name) => call("POST", `/users/me/identities/${name}`, { identityId: "@" })),
  fc.constantFrom("crm", "a%2Fb").map((name) => call("DELETE", `/users/me/identities/${name}?identityId=@`)),
  fc.constant(call("GET", "/users/me/identities")),
  fc.tuple(bag, text).map(([path, value]) => call("PUT", `${path}/k`, { value, location: "1,2" })),
  fc.tuple(bag, text).map(([path, value]) => call("PUT", path, { values: { k: 7, l: { m: [value, null] } } })),
  fc.tuple(bag, fc.constantFrom(1, -0.5, "x")).map(([path, delta]) => call("POST", `${path}/k/increment`, { delta })),
  bag.map((path) => call("DELETE", `${path}/k`)),
  fc.tuple(bag, fc.constantFrom("", "/k")).map(([path, key]) => call("GET", `${path}${key}`)),
  text.map((value) => call("POST", "/metrics/events/k", { value, timeoutInSeconds: 9 })),
  text.map((key) => call("POST", "/metrics/events", { events: [{ key }, { key: "k", value: 1 }] })),
  earlier.map((id) => call("DELETE", `/metrics/events/${id}`)),
  fc.constant(call("POST", "/users/me/logout")),
  fc.constantFrom("/nowhere", "/batch", "/users/usr_1").map((path) => call("GET", path)),
);

function call(method: string, path: string, parameters?: Step["parameters"]): Step {
  return { method, path, ...(parameters && { parameters }) };
}

/** Unique user names for each of the two users. */
function programOf(program: readonly Step[], name: string): Step[] {
  return JSON.parse(JSON.stringify(program).replaceAll("@", name));
}

function isFailed({ success }: Envelope): boolean {
  return success !== true;
}

/** Resolves references; undefined if one does not resolve. */
function resolve<T>(value: T, answered: readonly Envelope[]): T | undefined {
  let isResolved = true;
  const put = JSON.stringify(value)
    .replaceAll(/"\{\{(\d+)\.result\.location\}\}"/g, (_, step) => JSON.stringify(found(Number(step), "location")))
    .replaceAll(/\{\{(\d+)\.result\.id\}\}/g, (_, step) => found(Number(step), "id") as string) // ids are strings
    .replaceAll("\\\\{{", "{{");
  function found(step: number, name: string): unknown {
    const envelope = answered[step];
    const member = envelope !== undefined && !isFailed(envelope) ? envelope.result?.[name] : undefined;
    if (member === undefined) isResolved = false;
    return member ?? "";
  }
  return isResolved ? JSON.parse(put) : undefined;
}

/** Runs the program one call at a time. */
async function oneByOne(program: readonly Step[], { token }: TestUser): Promise<Envelope[]> {
  const answered: Envelope[] = [];
  for (const step of program) {
    const resolved = resolve(step, answered);
    if (resolved === undefined) {
      answered.push({ status: 424 });
      continue;
    }
    const { method, path, parameters } = resolved;
    const given = Object.entries(parameters ?? {}).map(
      ([name, value]) => `${name}=${encodeURIComponent(String(value))}`,
    );
    const isGet = method === "GET";
    const query = isGet && given.length > 0 ? `${path.includes("?") ? "&" : "?"}${given.join("&")}` : "";
    const body = isGet ? undefined : parameters;
    answered.push((await test.call(`${method} ${path}${query}`, { token, body })).body);
  }
  return answered;
}

async function inBatch(program: readonly Step[], { token }: TestUser, mode: string): Promise<Envelope[]> {
  const answer = await test.call("POST /batch", { token, body: { requests: program, mode, references: true } });
  assert.equal(answer.status, 200, answer.text);
  return answer.body.result.responses.map(({ key: _, ...envelope }: Envelope) => envelope);
}

/** Reads everything that the program can change. */
async function stateOf(user: TestUser, name: string): Promise<unknown> {
  const body = { username: user.userName, password: user.password };
  const again = (await test.call("POST /users/login", { token: user.deviceToken, body })).body.result;
  const token = again.accessToken;
  const paths = ["/users/me", "/checkins?userID=me", "/users/me/identities", "/metadata/me"];
  const found = await Promise.all(paths.map((path) => test.call(`GET ${path}`, { token })));
  const users = await Promise.all(
    ["n1", "n2"].map((each) => test.call(`GET /users?userName=${encodeURIComponent(`${name} ${each}`)}`, { token })),
  );
  return [...found, ...users].map(({ body: { result } }) => result);
}

/** Normalizes ids, tokens and names, so that equal programs have equal results. */
function normalized(value: unknown, name: string): unknown {
  const ids = new Map<string, string>();
  const plain = JSON.stringify(value)
    .replaceAll(new RegExp(name, "gi"), "NAME")
    .replaceAll(/"(request_id|accessToken|currentToken|nextToken|previousToken)":"[^"]*"/g, '"$1":""')
    .replaceAll(/[a-z]{3}_[0-9a-z]{26}/g, (id) => {
      if (!ids.has(id)) ids.set(id, `id ${ids.size}`);
      return ids.get(id) ?? "";
    });
  return JSON.parse(plain);
}

function outcomes(answered: readonly Envelope[]): unknown[] {
  return answered.map((each) => (each.status === 424 ? 424 : each));
}

let count = 0;
async function twoUsers(): Promise<[TestUser, string][]> {
  count += 1;
  const names = [`left${count}x`, `right${count}x`];
  return Promise.all(names.map(async (name): Promise<[TestUser, string]> => [await test.signUp(name), name]));
}

const programs = fc.array(steps, { minLength: 1, maxLength: 12 });

// spec/batch#batch-items
describe("a batch has the same effect as separate calls", () => {
  it("independent: the batch returns the same envelopes and stores the same state", async () => {
    await fc.assert(
      fc.asyncProperty(programs, async (program) => {
        const [[left, leftName], [right, rightName]] = (await twoUsers()) as [[TestUser, string], [TestUser, string]];
        const alone = await oneByOne(programOf(program, leftName), left);
        const batch = await inBatch(programOf(program, rightName), right, "independent");
        assert.deepEqual(normalized(outcomes(batch), rightName), normalized(outcomes(alone), leftName));
        const states = [await stateOf(right, rightName), await stateOf(left, leftName)];
        assert.deepEqual(normalized(states[0], rightName), normalized(states[1], leftName));
      }),
      { numRuns: rounds(40) },
    );
  });

  it("sequential: the batch has the same effect up to the first failure, and none after it", async () => {
    await fc.assert(
      fc.asyncProperty(programs, async (program) => {
        const [[left, leftName], [right, rightName]] = (await twoUsers()) as [[TestUser, string], [TestUser, string]];
        const batch = await inBatch(programOf(program, rightName), right, "sequential");
        const failure = batch.findIndex(isFailed);
        const length = failure === -1 ? program.length : failure + 1;
        const alone = await oneByOne(programOf(program.slice(0, length), leftName), left);
        const run = outcomes(batch.slice(0, length));
        assert.deepEqual(normalized(run, rightName), normalized(outcomes(alone), leftName));
        for (const { status } of batch.slice(length)) assert.equal(status, 424);
        const states = [await stateOf(right, rightName), await stateOf(left, leftName)];
        assert.deepEqual(normalized(states[0], rightName), normalized(states[1], leftName));
      }),
      { numRuns: rounds(25) },
    );
  });

  it("atomic: the batch has the same effect if all calls succeed, and otherwise none", async () => {
    await fc.assert(
      fc.asyncProperty(programs, async (program) => {
        const [[left, leftName], [right, rightName]] = (await twoUsers()) as [[TestUser, string], [TestUser, string]];
        const alone = await oneByOne(programOf(program, leftName), left);
        const before = await stateOf(right, rightName);
        const batch = await inBatch(programOf(program, rightName), right, "atomic");
        const first = alone.findIndex(isFailed);
        if (first === -1) {
          assert.deepEqual(normalized(batch, rightName), normalized(alone, leftName));
          const states = [await stateOf(right, rightName), await stateOf(left, leftName)];
          assert.deepEqual(normalized(states[0], rightName), normalized(states[1], leftName));
        } else {
          const failed = batch.map((envelope, index) => (index === first ? envelope : envelope.status));
          const expected = alone.map((envelope, index) => (index === first ? envelope : 424));
          assert.deepEqual(
            normalized(outcomes([failed[first]]), rightName),
            normalized(outcomes([expected[first]]), leftName),
          );
          assert.ok(batch.every(({ status }, index) => index === first || status === 424));
          assert.deepEqual(normalized(await stateOf(right, rightName), rightName), normalized(before, rightName));
        }
      }),
      { numRuns: rounds(40) },
    );
  });
});

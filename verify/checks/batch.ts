import { group } from "../check.ts";
import type { Answer } from "../client.ts";
import { further, missing } from "../errors.ts";
import { expectEqual, expectError, expectResult, expectThat } from "../expect.ts";
import { otherUser, sharedDevice, sharedUser, signUp, type TestUser, type World } from "../world.ts";

interface Item {
  readonly key?: string;
  readonly method: string;
  readonly path: string;
  readonly parameters?: unknown;
}

const ping: Item = { method: "GET", path: "/service/ping" };
const nowhere: Item = { method: "GET", path: "/nowhere" };

function checkIn(comment: string, key?: string): Item {
  return {
    ...(key !== undefined && { key }),
    method: "POST",
    path: "/checkins",
    parameters: { location: "1,2", comment },
  };
}

function post(world: World, { token }: Pick<TestUser, "token">, body: unknown): Promise<Answer> {
  return world.call("POST /batch", { token, body });
}

/** Runs a batch and expects these outcomes: the error of each item, or its status. */
async function run(
  world: World,
  user: Pick<TestUser, "token">,
  body: { requests: unknown; mode?: string; references?: unknown },
  outcomes: readonly unknown[],
): Promise<{ answer: Answer; responses: Answer["body"][] }> {
  const answer = await post(world, user, body);
  const { responses } = expectResult(answer, 200);
  expectThat(answer, Array.isArray(responses), "responses, an array");
  const received = responses.map(({ error, status }: Answer["body"]) => error ?? status);
  expectEqual(answer, "outcomes of the items", received, outcomes);
  return { answer, responses };
}

async function commentsOf(world: World, { token }: TestUser): Promise<string[]> {
  const answer = await world.call("GET /checkins", { token, query: { userID: "me", sortOrder: "created" } });
  return expectResult(answer).pageResults.map(({ comment }: { comment: string }) => comment);
}

/** Batch requests (spec/batch). */
export const batch = group("batch", (it) => {
  it("spec/batch#batch-responses · Each response is the item's key and its own full envelope, in request order", async (world) => {
    const user = await sharedUser(world);
    const requests = [{ ...ping, key: "b" }, { ...nowhere, key: "a" }, checkIn("batched", "c")];
    const { answer, responses } = await run(world, user, { requests }, [200, "OperationNotFound", 201]);
    const [first, second, third] = responses;
    expectEqual(answer, "keys", [first.key, second.key, third.key], ["b", "a", "c"]);
    expectEqual(answer, "members of a success", Object.keys(first).toSorted(), successMembers);
    expectEqual(answer, "result", [first.result, third.result.comment], ["Pong", "batched"]);
    expectEqual(answer, "members of a failure", [second.status, second.errorNumber, second.success], [404, 516, false]);
    const ids = new Set([answer.body.request_id, ...responses.map(({ request_id }) => request_id)]);
    expectEqual(answer, "request ids", ids.size, 4);
  });
  it("spec/batch#batch-responses · An item without a key has its index as key", async (world) => {
    const { answer, responses } = await run(world, await sharedUser(world), { requests: [ping, ping] }, [200, 200]);
    const found = responses.map(({ key }) => String(key));
    expectEqual(answer, "keys", found, ["0", "1"]);
  });
  it("spec/batch#batch-requests · requests may be a text that holds the array, in double or single quotes", async (world) => {
    for (const quote of ['"', "'"]) {
      const requests = JSON.stringify([{ Key: "k", METHOD: "GET", Path: "/service/ping" }]).replaceAll('"', quote);
      const { answer, responses } = await run(world, await sharedUser(world), { requests }, [200]);
      expectEqual(answer, "key", responses[0].key, "k");
    }
  });
  it("spec/transport#tunnelled-verbs · Every verb works in a batch; parameters are the body, or the query of a GET", async (world) => {
    const user = await signUp(world);
    const { responses } = await run(world, user, { requests: [checkIn("old"), checkIn("gone")] }, [201, 201]);
    const [kept, gone] = responses.map(({ result }) => result.id);
    const requests = [
      { method: "PATCH", path: `/checkins/${kept}`, parameters: { comment: "new" } },
      { method: "delete", path: `/checkins/${gone}` },
      { method: "GET", path: "/checkins", parameters: { comment: "new" } },
      { method: "GET", path: "/checkins?comment=old" },
    ];
    const listed = await run(world, user, { requests }, [200, 200, 200, 200]);
    const counts = listed.responses.slice(2).map(({ result }) => result.pageResults.length);
    expectEqual(listed.answer, "found", counts, [1, 0]);
  });
  it("spec/batch#modes · independent, the default: a failure does not stop the other items", async (world) => {
    const user = await signUp(world);
    await run(world, user, { requests: [checkIn("1"), nowhere, checkIn("2")] }, [201, "OperationNotFound", 201]);
    const comments = await commentsOf(world, user);
    expectEqual(
      { request: "GET /checkins" } as Answer, // only its request is printed
      "check-ins",
      comments.length,
      2,
    );
  });
  it("spec/batch#modes · sequential: stops at the first failure, and the rest are BatchItemNotRun 424", async (world) => {
    const user = await signUp(world);
    const body = { requests: [checkIn("1"), nowhere, checkIn("2")], mode: "sequential" };
    const { answer, responses } = await run(world, user, body, [201, "OperationNotFound", "BatchItemNotRun"]);
    expectEqual(answer, "the last", [responses[2].status, responses[2].errorNumber], [424, 1286]);
    expectEqual(answer, "check-ins", await commentsOf(world, user), ["1"]);
  });
  it("spec/batch#modes · atomic: after a failure no item has an effect, and all others are BatchItemNotRun", async (world) => {
    const user = await signUp(world);
    const body = { requests: [checkIn("1"), nowhere, checkIn("2")], mode: "atomic" };
    const { answer } = await run(world, user, body, ["BatchItemNotRun", "OperationNotFound", "BatchItemNotRun"]);
    expectEqual(answer, "check-ins", await commentsOf(world, user), []);
    await run(world, user, { requests: [checkIn("1"), checkIn("2")], mode: "atomic" }, [201, 201]);
    expectEqual(answer, "check-ins", await commentsOf(world, user), ["1", "2"]);
  });
  it("spec/batch#references · references: a later item can use an earlier result, with its type or inside a text", async (world) => {
    const user = await signUp(world);
    const again = { location: "{{first.result.location}}", comment: "as {{first.result.comment}} \\{{" };
    const requests = [
      checkIn("one", "first"),
      { key: "second", method: "POST", path: "/checkins", parameters: again },
      { method: "GET", path: "/checkins/{{second.result.id}}" },
    ];
    const { answer, responses } = await run(world, user, { requests, references: true }, [201, 201, 200]);
    const { location, comment } = responses[2].result;
    expectEqual(answer, "result", [location, comment], [{ lat: 1, lng: 2 }, "as one {{"]);
  });
  it("spec/batch#references · without references: true braces are plain text", async (world) => {
    const text = "{{first.result.id}} \\{{";
    const { answer, responses } = await run(world, await sharedUser(world), { requests: [checkIn(text)] }, [201]);
    expectEqual(answer, "comment", responses[0].result.comment, text);
  });
  it("hostile.md 29 · References to later, failed and unknown items, and malformed ones: BatchItemNotRun", async (world) => {
    const requests = [
      { ...nowhere, key: "failed" },
      ...["{{later.result.id}}", "{{failed.status}}", "{{nobody.result.id}}", "{{", "{{}}"].map((text) =>
        checkIn(text),
      ),
      checkIn("fine", "later"),
    ];
    const notRun = Array(5).fill("BatchItemNotRun");
    const outcomes = ["OperationNotFound", ...notRun, 201];
    await run(world, await sharedUser(world), { requests, references: true }, outcomes);
  });
  it("hostile.md 29 · A batch in a batch: OperationNotFound, in any spelling", async (world) => {
    const paths = ["/batch", "/batch/", "/%62atch", "//batch"];
    const requests = paths.map((path) => ({ method: "POST", path, parameters: { requests: [ping] } }));
    await run(world, await sharedUser(world), { requests }, Array(4).fill("OperationNotFound"));
  });
  it("spec/batch#batch-requests · 200 items are run, 201 are RequestTooLarge, zero is ParameterOutOfRange", async (world) => {
    const user = await sharedUser(world);
    await run(world, user, { requests: Array(200).fill(ping) }, Array(200).fill(200));
    expectError(await post(world, user, { requests: Array(201).fill(ping) }), further.tooLarge);
    expectError(await post(world, user, { requests: [] }), further.outOfRange);
    expectError(await post(world, user, {}), missing("requests"));
    expectError(await post(world, user, { requests: [ping], mode: "some" }), further.incorrectFormat);
  });
  it("hostile.md 28 · Each item is authorized: with a device token it gets what a device may have", async (world) => {
    const token = await sharedDevice(world);
    const requests = [{ method: "GET", path: "/devices/current" }, checkIn("no user")];
    await run(world, { token }, { requests }, [200, "AuthUserAccessTokenRequired"]);
  });
  it("hostile.md 14 · An item cannot see another user's private check-in", async (world) => {
    const { responses } = await run(world, await sharedUser(world), { requests: [checkIn("private")] }, [201]);
    const path = `/checkins/${responses[0].result.id}`;
    const requests = ["GET", "PATCH", "DELETE"].map((method) => ({ method, path }));
    await run(world, await otherUser(world), { requests }, Array(3).fill("ItemDoesNotExist"));
  });
});

const successMembers = ["key", "request_id", "result", "status", "success"];

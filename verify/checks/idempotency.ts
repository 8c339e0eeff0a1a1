import { group } from "../check.ts";
import type { Answer } from "../client.ts";
import { further } from "../errors.ts";
import { expectEqual, expectError, expectResult, expectSameAnswer, expectThat } from "../expect.ts";
import { otherUser, registerDevice, sharedUser, signUp, type TestUser, uniqueName, type World } from "../world.ts";

function call(world: World, operation: string, user: Pick<TestUser, "token">, key: string, body?: unknown) {
  const options = { token: user.token, headers: { "Idempotency-Key": key } };
  return world.call(operation, body === undefined ? options : { ...options, body });
}

function checkIn(world: World, user: Pick<TestUser, "token">, key: string, comment = "once"): Promise<Answer> {
  return call(world, "POST /checkins", user, key, { location: "1,2", comment });
}

async function countCheckins(world: World, { token }: TestUser): Promise<number> {
  return expectResult(await world.call("GET /checkins", { token, query: { userID: "me" } })).pageResults.length;
}

function expectReplayed(answer: Answer, first: Answer): void {
  expectSameAnswer(answer, first);
  expectThat(answer, answer.body.request_id !== first.body.request_id, "a new request_id");
  expectEqual(answer, "Idempotent-Replayed", answer.headers["idempotent-replayed"], "true");
}

/** Idempotency keys (spec/idempotency). */
export const idempotency = group("idempotency", (it) => {
  it("spec/idempotency#replays · A repeat gets the first response with Idempotent-Replayed: true, and nothing is done twice", async (world) => {
    const user = await signUp(world);
    const key = uniqueName("key");
    const first = await checkIn(world, user, key);
    expectResult(first, 201);
    expectEqual(first, "Idempotent-Replayed", first.headers["idempotent-replayed"], undefined);
    expectReplayed(await checkIn(world, user, key), first);
    expectEqual(first, "check-ins", await countCheckins(world, user), 1);
  });
  it("spec/idempotency#replays · Concurrent repeats are done once too", async (world) => {
    const user = await signUp(world);
    const key = uniqueName("key");
    const answers = await Promise.all(Array.from({ length: 10 }, () => checkIn(world, user, key)));
    const ids = new Set(answers.map((answer) => expectResult(answer, 201).id));
    const [first] = answers;
    if (first !== undefined) expectEqual(first, "different check-ins", ids.size, 1);
  });
  it("spec/idempotency#stored-responses · A refusal is replayed too", async (world) => {
    const user = await sharedUser(world);
    const key = uniqueName("key");
    const first = await call(world, "POST /checkins", user, key, { location: "91,0" });
    expectError(first, further.outOfRange);
    expectReplayed(await call(world, "POST /checkins", user, key, { location: "91,0" }), first);
  });
  it("spec/idempotency#replays · Another body, path or verb: IdempotencyKeyReused 409", async (world) => {
    const user = await sharedUser(world);
    const key = uniqueName("key");
    const { id } = expectResult(await checkIn(world, user, key), 201);
    for (const answer of [
      await checkIn(world, user, key, "another"),
      await call(world, `PATCH /checkins/${id}`, user, key, { comment: "x" }),
      await call(world, `DELETE /checkins/${id}`, user, key),
    ]) {
      expectError(answer, further.keyReused);
    }
  });
  it("hostile.md 14 · Keys belong to the caller: another user or device has its own", async (world) => {
    const key = uniqueName("key");
    const first = await checkIn(world, await sharedUser(world), key);
    const other = await checkIn(world, await otherUser(world), key);
    expectThat(other, expectResult(first, 201).id !== expectResult(other, 201).id, "a separate check-in");
    const tokens = [await registerDevice(world), await registerDevice(world)];
    for (const [index, token] of tokens.entries()) {
      const answer = await call(world, "PATCH /devices/current", { token }, key, { tag: `${index}` });
      expectEqual(answer, "tag", expectResult(answer).tag, `${index}`);
    }
  });
  it("spec/idempotency#keys · Keys have 1 to 255 characters, else ParameterOutOfRange; POST /devices ignores them", async (world) => {
    const user = await sharedUser(world);
    expectResult(await checkIn(world, user, uniqueName().padEnd(255, "x")), 201);
    const tooLong = "x".repeat(256);
    expectError(await checkIn(world, user, tooLong), further.outOfRange);
    const body = { ...world.application, platform: "verify" };
    const headers = { "Idempotency-Key": tooLong };
    expectResult(await world.call("POST /devices", { body, headers }), 201);
  });
  it("spec/idempotency#keyed-batches · An item of a batch may have an idempotencyKey, which is the same key as in a single call", async (world) => {
    const user = await signUp(world);
    const idempotencyKey = uniqueName("key");
    const item = {
      method: "POST",
      path: "/checkins",
      parameters: { location: "1,2", comment: "once" },
      idempotencyKey,
    };
    const batch = await world.call("POST /batch", { token: user.token, body: { requests: [item, item] } });
    const [first, second] = expectResult(batch).responses;
    expectEqual(batch, "the second", second.result, first.result);
    const alone = await checkIn(world, user, idempotencyKey);
    expectEqual(alone, "alone", expectResult(alone, 201), first.result);
    expectEqual(alone, "check-ins", await countCheckins(world, user), 1);
  });
});

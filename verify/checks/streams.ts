import type { StreamMessage } from "../../testkit/stream-messages.ts";
import { type Check, group, type It, Skip } from "../check.ts";
import { further, specified } from "../errors.ts";
import { expectDate, expectEqual, expectError, expectResult, isObject } from "../expect.ts";
import { Failure } from "../failure.ts";
import type { OpenStream } from "../open-stream.ts";
import { logIn, otherUser, registerDevice, sharedUser, signUp, type TestUser, type World } from "../world.ts";

const endMsMax = 10_000;
const heartbeatSecondsMax = 60;
const deviceStreams = 10;

/** Runs a check, and closes the streams that it has opened, whatever its outcome. */
function closing(check: (world: World) => Promise<void>): Check {
  return async (world) => {
    const open: OpenStream[] = [];
    const openStream: World["openStream"] = async (path, options) => {
      const stream = await world.openStream(path, options);
      open.push(stream);
      return stream;
    };
    try {
      await check({ ...world, openStream });
    } finally {
      for (const stream of open) stream.close();
    }
  };
}

/** A stream that has said that it is ready. */
async function listen(world: World, { token }: Pick<TestUser, "token">, query = "") {
  const stream = await world.openStream(`/events/stream${query}`, { token });
  const ready = (await stream.until("ready", ({ event }) => event === "ready")).at(-1);
  return { stream, ready };
}

async function checkIn(world: World, { token }: Pick<TestUser, "token">, body: object = {}): Promise<string> {
  return expectResult(await world.call("POST /checkins", { token, body: { location: "1,2", ...body } }), 201).id;
}

const isEvent = ({ event, data }: StreamMessage) => event === "" && data !== undefined;
const isAbout = (id: string) => (message: StreamMessage) => isEvent(message) && message.data.objectID === id;

function expectThat({ request, text }: OpenStream, isKept: boolean, expected: string): void {
  if (!isKept) throw new Failure({ request }, expected, text);
}

async function expectBye(stream: OpenStream, reason: string): Promise<void> {
  const [bye] = (await stream.until(`bye ${reason}`, ({ event }) => event === "bye", endMsMax)).slice(-1);
  expectThat(stream, bye?.data?.reason === reason, `bye with the reason ${reason}`);
  expectThat(stream, (bye?.retryMs ?? 0) > 0, "retry with bye");
  await stream.ended(endMsMax);
}

async function makeTicket(world: World, { token }: Pick<TestUser, "token">, body: object = {}): Promise<string> {
  const answer = await world.call("POST /events/streams", { token, body });
  const { url, expires } = expectResult(answer, 201);
  expectDate(answer, "expires", expires);
  const query = /\/events\/stream(\?ticket=[^&\s]+)$/.exec(url)?.[1];
  expectEqual(answer, "url", query !== undefined, true);
  return `/events/stream${query}`;
}

const tokenEnds: Readonly<Record<string, (world: World, user: TestUser) => Promise<void>>> = {
  "a logout": async (world, { token }) => {
    expectResult(await world.call("POST /users/me/logout", { token, body: {} }));
  },
  "the deletion of the user": async (world, { token, password }) => {
    expectResult(await world.call("DELETE /users/me", { token, body: { password } }));
  },
};

const refused: Readonly<Record<string, string>> = {
  "21 subscriptions": `?subscriptions=${encodeURIComponent(JSON.stringify(Array.from({ length: 21 }, () => ({}))))}`,
  "a subscription in a subscription": `?subscriptions=${encodeURIComponent('[{"subscriptions": []}]')}`,
  "subscriptions that are no array": `?subscriptions=${encodeURIComponent("{}")}`,
  "subscriptions beside another filter": `?subscriptions=${encodeURIComponent("[{}]")}&types=*`,
  "an unknown type": "?types=nothing.created",
  "a type of operation": "?types=application.*",
  "an altered after": "?after=nothing",
};

/** Streams (spec/streams). */
export const streams = group("streams", (register) => {
  const it: It = (title, check) => register(title, closing(check));
  it("spec/streams#open-a-stream · GET /events/stream: nothing may store, compress or delay the response", async (world) => {
    const { token } = await sharedUser(world);
    const headers = { "Accept-Encoding": "gzip, br" };
    const stream = await world.openStream("/events/stream", { token, headers });
    expectThat(stream, stream.status === 200, "status 200");
    const { headers: received } = stream;
    expectThat(stream, received["content-type"] === "text/event-stream", "text/event-stream");
    expectThat(stream, received["cache-control"] === "no-store, no-transform", "no-store, no-transform");
    expectThat(stream, received["x-accel-buffering"] === "no", "X-Accel-Buffering: no");
    expectThat(stream, received["content-encoding"] === undefined, "no Content-Encoding");
    await stream.until("ready", ({ event }) => event === "ready");
  });
  it("spec/streams#messages · GET /events/stream: retry comes first, then ready with the cursor", async (world) => {
    const stream = await world.openStream("/events/stream", { token: (await sharedUser(world)).token });
    const [first, ready, ...others] = await stream.until("ready", ({ event }) => event === "ready");
    const retryMs = first?.retryMs ?? 0;
    expectThat(stream, retryMs >= 1_000 && retryMs <= 5_000, "retry between 1,000 and 5,000");
    expectThat(stream, others.length === 0 && /^[^%\s]{1,200}$/.test(ready?.id ?? ""), "ready with an id");
    const { cursor, isResumed, heartbeatSeconds } = ready?.data ?? {};
    const isWhole = cursor === ready?.id && isResumed === false && heartbeatSeconds > 0;
    expectThat(stream, isWhole, "cursor, isResumed false and heartbeatSeconds");
  });
  it("spec/streams#messages · GET /events/stream: an event has the form of the pull, in one line without a name", async (world) => {
    const owner = await signUp(world);
    const { currentToken } = expectResult(await world.call("GET /events", { token: owner.token }));
    const { stream } = await listen(world, owner);
    const id = await checkIn(world, owner, { comment: "one\ntwo" });
    const message = (await stream.until("the event", isAbout(id))).at(-1);
    const pulled = await world.call(`GET /events?after=${currentToken}`, { token: owner.token });
    expectEqual(pulled, "events", expectResult(pulled).pageResults, [message?.data]);
    expectThat(stream, message?.id !== undefined && message.id !== "", "an id with the event");
  });
  it("spec/events#views · GET /events/stream: others receive what they may read, and nothing of a private check-in", async (world) => {
    const [owner, other] = [await signUp(world), await otherUser(world)];
    const { stream } = await listen(world, other, `?userID=${owner.id}`);
    const hidden = await checkIn(world, owner);
    const shared = await checkIn(world, owner, { readPermissions: "App" });
    await stream.until("the shared check-in", isAbout(shared));
    expectResult(await world.call(`DELETE /checkins/${hidden}`, { token: owner.token }));
    expectResult(await world.call(`DELETE /checkins/${shared}`, { token: owner.token }));
    await stream.until("its deletion", isAbout(shared));
    expectThat(stream, !stream.text.includes(hidden), `nothing of ${hidden}`);
  });
  it("spec/streams#heartbeats · GET /events/stream: a quiet stream sends an id in time, without data", async (world) => {
    const user = await signUp(world);
    const { stream, ready } = await listen(world, user, `?objectID=${user.id}`);
    const seconds = Number(ready?.data.heartbeatSeconds);
    if (seconds > heartbeatSecondsMax) throw new Skip(`the deployment sends one in ${seconds} seconds`);
    const isHeartbeat = ({ id, data }: StreamMessage) => id !== undefined && data === undefined;
    await stream.until("a heartbeat", isHeartbeat, (seconds + 10) * 1_000);
  });
  it("spec/streams#subscriptions · GET /events/stream: an event that fits two subscriptions is sent once", async (world) => {
    const owner = await signUp(world);
    const wanted = [{ types: "checkin.*" }, { types: "checkin.created" }, { types: "user.changed" }];
    const { stream } = await listen(world, owner, `?subscriptions=${encodeURIComponent(JSON.stringify(wanted))}`);
    const first = await checkIn(world, owner);
    expectResult(await world.call("PUT /metadata/me/layout", { token: owner.token, body: { value: 1 } }), 201);
    const second = await checkIn(world, owner);
    const told = (await stream.until("the second check-in", isAbout(second))).filter(isEvent);
    const ids = told.map(({ data }) => data.objectID);
    expectThat(stream, ids.join() === [first, second].join(), "each check-in once, and no metadata");
  });
  for (const what of Object.keys(refused))
    it(`spec/streams#subscriptions · GET /events/stream: ${what} is ParameterIncorrectFormat in the envelope`, async (world) => {
      expectError(await world.call(`GET /events/stream${refused[what]}`, { by: sharedUser }), further.incorrectFormat);
    });
  it("spec/streams#open-a-stream · GET /events/stream: a batch cannot contain it", async (world) => {
    const requests = [{ method: "GET", path: "/events/stream" }];
    const answer = await world.call("POST /batch", { token: (await sharedUser(world)).token, body: { requests } });
    expectEqual(answer, "the item", expectResult(answer).responses[0].error, "OperationNotFound");
  });
  it("spec/streams#resume · GET /events/stream: a client that comes back gets what it missed in order, and goes on", async (world) => {
    const owner = await signUp(world);
    const { stream } = await listen(world, owner, "?types=checkin.*");
    const seen = await checkIn(world, owner);
    await stream.until("the first event", isAbout(seen));
    const headers = { "Last-Event-ID": stream.lastId };
    stream.close();
    const missed = [await checkIn(world, owner), await checkIn(world, owner)];
    const path = "/events/stream?types=checkin.*&after=nothing"; // the header wins
    const again = await world.openStream(path, { token: owner.token, headers });
    const ready = (await again.until("ready", ({ event }) => event === "ready")).at(-1);
    expectThat(again, ready?.data.isResumed === true, "isResumed true");
    const last = await checkIn(world, owner);
    const told = (await again.until("the event of now", isAbout(last))).filter(isEvent);
    const ids = told.map(({ data }) => data.objectID).filter((id) => id !== seen); // the last one may come again
    expectThat(again, ids.join() === [...missed, last].join(), `events of ${[...missed, last].join(", ")}`);
  });
  it("spec/streams#reset-a-stream · GET /events/stream: a Last-Event-ID that does not open is a reset", async (world) => {
    const { token } = await sharedUser(world);
    const stream = await world.openStream("/events/stream", { token, headers: { "Last-Event-ID": "nothing" } });
    const messages = await stream.until("reset", ({ event }) => event === "reset");
    const [ready, reset] = messages.slice(-2);
    expectThat(stream, ready?.event === "ready" && ready.data.isResumed === false, "ready before reset");
    expectThat(stream, reset?.data.reason === "cursor" && reset.id === ready?.id, "the reason cursor, and an id");
  });
  it("spec/events#cursors · GET /events/stream: a cursor of another application is refused, as Last-Event-ID a reset", async (world) => {
    if (world.otherApplication === undefined) throw new Skip("needs --other-appid");
    const elsewhere = await registerDevice(world, world.otherApplication);
    const { currentToken } = expectResult(await world.call("GET /events", { token: elsewhere }));
    const { token } = await sharedUser(world);
    const path = `/events/stream?after=${currentToken}`;
    expectError(await world.call(`GET ${path}`, { token }), further.incorrectFormat);
    const headers = { "Last-Event-ID": currentToken };
    const stream = await world.openStream("/events/stream", { token, headers });
    const reset = (await stream.until("reset", ({ event }) => event === "reset")).at(-1);
    expectThat(stream, reset?.data.reason === "cursor", "the reason cursor");
  });
  for (const [what, endToken] of Object.entries(tokenEnds))
    it(`spec/streams#revoked-tokens · GET /events/stream: ${what} ends the stream`, async (world) => {
      const user = await signUp(world);
      const { stream } = await listen(world, user);
      await endToken(world, user);
      await expectBye(stream, "tokenEnded");
    });
  it("spec/streams#revoked-tokens · GET /events/stream: nothing that is written after a logout is sent", async (world) => {
    const user = await signUp(world);
    const other = { ...user, token: await logIn(world, user) };
    const { stream } = await listen(world, user);
    expectResult(await world.call("POST /users/me/logout", { token: user.token, body: {} }));
    const later = await checkIn(world, other);
    await expectBye(stream, "tokenEnded");
    expectThat(stream, !stream.text.includes(later), `nothing of ${later}`);
  });
  it("spec/streams#tickets · POST /events/streams: its url opens streams without a token, again and again", async (world) => {
    const owner = await signUp(world);
    const path = await makeTicket(world, owner, { types: "checkin.*" });
    for (let count = 0; count < 2; count += 1) {
      const stream = await world.openStream(path);
      await stream.until("ready", ({ event }) => event === "ready");
      expectThat(stream, stream.headers["referrer-policy"] === "no-referrer", "Referrer-Policy: no-referrer");
      const id = await checkIn(world, owner);
      await stream.until("the event", isAbout(id));
    }
  });
  it("spec/streams#tickets · GET /events/stream: an altered ticket is AuthSignatureInvalid", async (world) => {
    const path = await makeTicket(world, await sharedUser(world));
    for (const altered of [`${path.slice(0, -12)}${"x".repeat(12)}`, "/events/stream?ticket=nothing"]) {
      expectError(await world.call(`GET ${altered}`), further.signatureInvalid);
    }
  });
  it("spec/streams#tickets · GET /events/stream: a ticket ends with the session of its token", async (world) => {
    const user = await signUp(world);
    const path = await makeTicket(world, user);
    const stream = await world.openStream(path);
    await stream.until("ready", ({ event }) => event === "ready");
    expectResult(await world.call("POST /users/me/logout", { token: user.token, body: {} }));
    await expectBye(stream, "tokenEnded");
    expectError(await world.call(`GET ${path}`), { ...specified.tokenInvalid, message: "any" });
  });
  it("spec/streams#tickets · POST /events/streams: parameters of more than 2 KiB are RequestTooLarge", async (world) => {
    const subscriptions = Array.from({ length: 20 }, () => ({ types: "checkin.created,".repeat(10).slice(0, -1) }));
    expectError(
      await world.call("POST /events/streams", { by: sharedUser, body: { subscriptions } }),
      further.tooLarge,
    );
  });
  it("spec/streams#limits-of-streams · GET /events/stream: the eleventh of a device is refused, on a ticket with busy", async (world) => {
    const user = await signUp(world);
    const path = await makeTicket(world, user);
    for (let count = 0; count < deviceStreams; count += 1) await listen(world, user);
    const answer = await world.call("GET /events/stream", { token: user.token, isImpatient: true });
    expectError(answer, further.rateLimitExceeded);
    const seconds = Number(answer.headers["retry-after"]);
    expectEqual(answer, "Retry-After of 5 to 60", seconds >= 5 && seconds <= 60, true);
    const stream = await world.openStream(path);
    expectThat(stream, stream.status === 200, "status 200");
    const bye = (await stream.until("bye", ({ event }) => event === "bye")).at(-1);
    expectThat(stream, isObject(bye?.data) && bye.data["reason"] === "busy", "the reason busy");
    expectThat(stream, (bye?.retryMs ?? 0) >= 5_000 && (bye?.retryMs ?? 0) <= 60_000, "retry of 5 to 60 seconds");
  });
});

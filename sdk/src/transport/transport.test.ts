import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { inspect } from "node:util";
import { plainCall, principalOf, readCall, refusal, success, writeCall } from "../../test/answers.ts";
import { createSimulatedClock } from "../../test/simulated-clock.ts";
import { ItemAlreadyExists } from "../generated/errors.ts";
import type { AnyCall } from "../wire/call.ts";
import { define } from "../wire/define.ts";
import {
  AbortedError,
  ConfigurationError,
  ConnectionError,
  RollcallError,
  ServiceError,
  TimeoutError,
  UnexpectedAnswer,
} from "../wire/errors.ts";
import { createInterceptors } from "./interceptors.ts";
import type { CallOptions, TransportOptions } from "./options.ts";
import { createTransport } from "./transport.ts";

type Reply = Response | "cut" | "silence";

/** A transport whose network gives these replies, the last one again and again. */
function startTransport(replies: readonly Reply[], options: TransportOptions = {}) {
  const clock = createSimulatedClock();
  const requests: { url: string; init: RequestInit; headers: Headers; at: number }[] = [];
  const interceptors = createInterceptors();
  const given: TransportOptions = {
    clock,
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    ...options,
    fetch: async (url, init = {}) => {
      const reply = replies[Math.min(requests.length, replies.length - 1)];
      requests.push({ url: String(url), init, headers: new Headers(init.headers), at: clock.now() });
      if (reply === "silence") return new Promise(() => {});
      if (reply === "cut" || reply === undefined) throw new TypeError("fetch failed");
      return reply.clone();
    },
  };
  const transport = createTransport(given, { interceptors });
  const send = (call: AnyCall, options = {}) => transport.send(call, principalOf("token"), options);
  const fail = (call: AnyCall, options = {}) =>
    clock.settle(send(call, options)).then(
      () => assert.fail("the call succeeded"),
      (error: unknown) => {
        assert.ok(error instanceof RollcallError, String(error));
        return error;
      },
    );
  return { clock, requests, transport, interceptors, send, fail };
}

describe("the transport", () => {
  it("sends a call with its token, its key and its encoded parameters", async () => {
    const { clock, requests, send } = startTransport([
      success({ id: "chk_1", created: "/Date(5)/", comment: "/Date(5)/" }),
    ]);
    const sent = send(writeCall);
    assert.deepEqual(await clock.settle(sent), { id: "chk_1", created: new Date(5), comment: "/Date(5)/" });
    const [request] = requests;
    assert.equal(request?.url, "https://service.example/checkins");
    assert.equal(request.headers.get("authorization"), "Service token");
    assert.equal(request.headers.get("content-type"), "application/json");
    assert.match(request.headers.get("idempotency-key") ?? "", /^[0-9a-f]{8}-[0-9a-f]{4}-4/);
    assert.equal(request.init.body, '{"location":"48.2,16.37","comment":"secret words"}');
    assert.equal(request.init.credentials, "omit");
    const { status, requestId, replayed, attempts } = await sent.meta;
    assert.deepEqual([status, requestId, replayed, attempts], [200, "req_1", false, 1]);
  });

  it("retries a keyed write byte for byte, with its key, until it gets a response", async () => {
    const { clock, requests, send } = startTransport([
      "cut",
      "silence",
      success({ id: "chk_1" }, { "Idempotent-Replayed": "true" }),
    ]);
    const sent = send(writeCall);
    await clock.settle(sent);
    assert.equal(requests.length, 3);
    assert.equal(
      new Set(requests.map(({ init, headers }) => `${init.body} ${headers.get("idempotency-key")}`)).size,
      1,
    );
    assert.deepEqual([(await sent.meta).attempts, (await sent.meta).replayed], [3, true]);
  });

  it("uses an idempotency key that the caller provides", async () => {
    const { clock, requests, send } = startTransport([success(true)]);
    await clock.settle(send(writeCall, { idempotencyKey: "mine" }));
    assert.equal(requests[0]?.headers.get("idempotency-key"), "mine");
  });

  it("never retries a write without a key after a time-out, and reports that it may have been applied", async () => {
    const { requests, fail } = startTransport(["cut"]);
    const error = await fail(plainCall);
    assert.ok(error instanceof ConnectionError);
    assert.deepEqual([error.outcome, error.isRetryable, error.attempts, requests.length], ["unknown", false, 1, 1]);
  });

  const table: [reply: Reply, read: number, keyed: number, plain: number][] = [
    ["cut", 4, 4, 1],
    ["silence", 3, 3, 1], // the third attempt uses up the time of the call
    [new Response("<html>", { headers: { "content-type": "text/html" } }), 4, 4, 1],
    [new Response("", { status: 302 }), 4, 4, 1],
    [new Response("log in", { status: 511 }), 4, 4, 1],
    [refusal(429, "RateLimitExceeded"), 4, 4, 4],
    [refusal(503, "ServiceUnavailable"), 4, 4, 1],
    [new Response("", { status: 503 }), 4, 4, 1],
    [new Response("", { status: 502 }), 4, 4, 1],
    [new Response("", { status: 504 }), 4, 4, 1],
    [new Response("", { status: 408 }), 4, 4, 1],
    [new Response("", { status: 425 }), 4, 4, 1],
    [refusal(500, "InternalError"), 2, 2, 1],
    [new Response("", { status: 500 }), 1, 1, 1],
    [refusal(400, "ParameterOutOfRange"), 1, 1, 1],
    [refusal(403, "AuthUserAccountDisabled"), 1, 1, 1],
    [refusal(404, "ItemDoesNotExist"), 1, 1, 1],
    [refusal(409, "ItemAlreadyExists"), 1, 1, 1],
    [refusal(413, "RequestTooLarge"), 1, 1, 1],
    [refusal(424, "BatchItemNotRun"), 1, 1, 1],
    [new Response("", { status: 404 }), 1, 1, 1],
  ];
  for (const [reply, ...attempts] of table) {
    const name =
      typeof reply === "string" ? reply : `${reply.status} ${reply.headers.get("content-type") ?? "without type"}`;
    it(`attempts reads, keyed and plain writes ${attempts.join(", ")} times for ${name}`, async () => {
      const counts = [];
      for (const call of [readCall, writeCall, plainCall]) {
        const { requests, fail } = startTransport([reply]);
        const error = await fail(call);
        counts.push(requests.length);
        assert.equal(error.attempts, requests.length);
      }
      assert.deepEqual(counts, attempts);
    });
  }

  it("reports with each failure whether the write may have been applied", async () => {
    const outcomes = async (replies: readonly Reply[]) => [
      (await startTransport(replies).fail(readCall)).outcome,
      (await startTransport(replies).fail(writeCall)).outcome,
    ];
    assert.deepEqual(await outcomes(["cut"]), ["none", "unknown"]);
    assert.deepEqual(await outcomes([refusal(503, "ServiceUnavailable")]), ["none", "unknown"]);
    assert.deepEqual(await outcomes([refusal(429, "RateLimitExceeded")]), ["none", "none"]);
    assert.deepEqual(await outcomes([refusal(409, "ItemAlreadyExists")]), ["none", "none"]);
    assert.deepEqual(await outcomes(["cut", refusal(409, "ItemAlreadyExists")]), ["none", "none"]);
    assert.deepEqual(await outcomes(["cut", refusal(403, "AuthUserAccountDisabled")]), ["none", "unknown"]);
    assert.deepEqual(await outcomes(["cut", refusal(401, "AuthAccessTokenInvalid")]), ["none", "unknown"]);
  });

  it("describes the response of a proxy without quoting it in the message", async () => {
    const page = new Response("<html>Welcome to the hotel", { headers: { "content-type": "text/html" } });
    const error = await startTransport([page]).fail(readCall, { retry: false });
    assert.ok(error instanceof UnexpectedAnswer);
    assert.deepEqual([error.status, error.snippet], [200, "<html>Welcome to the hotel"]);
    assert.doesNotMatch(error.message, /hotel/);
  });

  it("names the host and the failure code when there is no response, and nothing that may be secret", async () => {
    const cause = Object.assign(new Error("connect 10.0.0.1 of https://ada:secret@service"), { code: "ECONNREFUSED" });
    const failures: [thrown: unknown, message: string][] = [
      [new TypeError("fetch failed", { cause }), "no answer from service.example (ECONNREFUSED)"], // Node.js
      [
        Object.assign(new Error("secret"), { code: "ConnectionRefused" }),
        "no answer from service.example (ConnectionRefused)",
      ],
      [new TypeError("Failed to fetch https://service.example?secret"), "no answer from service.example"], // a browser
      ["a text", "no answer from service.example"],
      [Object.assign(new Error("secret"), { code: 20 }), "no answer from service.example"],
    ];
    for (const [thrown, message] of failures) {
      const transport = createTransport({ retry: false, fetch: () => Promise.reject(thrown) });
      await assert.rejects(transport.send(readCall, principalOf("token")), {
        name: "ConnectionError",
        message: `getCheckin: ConnectionError: ${message}`,
        cause: thrown,
      });
    }
  });

  it("has no empty explanation in an error that the service does not explain", async () => {
    const envelope = { status: 403, error: "AuthBadUsernameOrPassword", request_id: "req_3", success: false };
    const error = await startTransport([Response.json(envelope, { status: 403 })]).fail(writeCall);
    assert.equal(error.message, "createCheckin: AuthBadUsernameOrPassword: request req_3");
  });

  it("includes name, number and request id in an error of the service", async () => {
    const error = await startTransport([refusal(409, "ItemAlreadyExists")]).fail(writeCall);
    assert.ok(error instanceof ServiceError);
    assert.deepEqual(
      [error.name, error.status, error.errorNumber, error.requestId],
      ["ItemAlreadyExists", 409, 1, "req_2"],
    );
    assert.equal(error.message, "createCheckin: ItemAlreadyExists: No. (request req_2)");
    assert.deepEqual(error.call, { operation: "createCheckin", method: "POST", path: "/checkins" });
    assert.match(error.stack ?? "", /^ItemAlreadyExists: createCheckin: .*\n(.*\n)*.*transport\.test\.ts/);
    assert.equal(error.constructor, ItemAlreadyExists);
  });

  it("waits as long as the service asks, but never longer than the call may take", async () => {
    const { requests, fail } = startTransport([refusal(429, "RateLimitExceeded", { "Retry-After": "10" })]);
    await fail(readCall);
    const waits = requests.map(({ at }, index) => at - (requests[index - 1]?.at ?? at));
    assert.deepEqual(waits, [0, 10_500, 10_500, 10_500]);
    const long = startTransport([refusal(429, "RateLimitExceeded", { "Retry-After": "3600" })]); // no year
    const error = await long.fail(readCall);
    assert.deepEqual([long.requests.length, error.retryAfterMs, error.isRetryable], [1, 3_600_000, true]);
  });

  it("stops retrying when the client's retry budget is used up, and regains one retry in five seconds", async () => {
    const { clock, requests, send, fail } = startTransport(["cut"]);
    const calls = Array.from({ length: 10 }, () => send(readCall));
    await clock.settle(Promise.allSettled(calls));
    assert.equal(requests.length, 20);
    assert.equal((await fail(readCall)).attempts, 1);
    await clock.advance(5_000);
    assert.equal((await fail(readCall)).attempts, 2);
    assert.equal((await fail(readCall)).attempts, 1);
    await clock.advance(86_400_000);
    await clock.settle(Promise.allSettled(Array.from({ length: 10 }, () => send(readCall))));
    assert.equal((await fail(readCall)).attempts, 1);
  });

  it("regains one retry per ten successes, up to ten retries", async () => {
    const replies = [...Array<Reply>(20).fill("cut"), ...Array<Reply>(10).fill(success(true)), "cut" as const];
    const { clock, send, fail } = startTransport(replies);
    await clock.settle(Promise.allSettled(Array.from({ length: 10 }, () => send(readCall))));
    for (let call = 0; call < 10; call += 1) await clock.settle(send(readCall));
    assert.equal((await fail(readCall)).attempts, 2);
    const many = startTransport([...Array<Reply>(200).fill(success(true)), "cut"]);
    for (let call = 0; call < 200; call += 1) await many.clock.settle(many.send(readCall));
    await many.clock.settle(Promise.allSettled(Array.from({ length: 20 }, () => many.send(readCall))));
    assert.equal(many.requests.length, 200 + 20 + 10);
  });

  it("has a retry budget also after the clock was set back", async () => {
    const { clock, send, fail } = startTransport(["cut"]);
    await clock.settle(Promise.allSettled(Array.from({ length: 10 }, () => send(readCall))));
    await clock.advance(-86_400_000);
    assert.equal((await fail(readCall)).attempts, 1);
    await clock.advance(50_000);
    assert.equal((await fail(readCall)).attempts, 4);
  });

  it("rejects a call when its time-out expires", async () => {
    const { clock, fail } = startTransport(["silence"]);
    const startedAt = clock.now();
    const error = await fail(writeCall, { timeoutMs: 5000 });
    assert.ok(error instanceof TimeoutError);
    assert.deepEqual([error.limit, error.outcome, clock.now() - startedAt], ["total", "unknown", 5000]);
  });

  it("rejects a call immediately when the app aborts it, whichever step is pending", async () => {
    for (const reply of ["silence", refusal(429, "RateLimitExceeded", { "Retry-After": "60" })] as const) {
      const { clock, send } = startTransport([reply]);
      const abort = new AbortController();
      const sent = send(writeCall, { signal: abort.signal });
      await clock.advance(1);
      const before = clock.now();
      abort.abort("enough");
      const error = await sent.catch((error: unknown) => error);
      assert.ok(error instanceof AbortedError);
      assert.deepEqual([error.name, error.cause, clock.now()], ["AbortError", "enough", before]);
    }
  });

  it("aborts no other request when the app aborts a completed call", async () => {
    const { clock, requests, send } = startTransport([success(true), "silence"]);
    const abort = new AbortController();
    await clock.settle(send(readCall, { signal: abort.signal }));
    const pending = send(readCall);
    await clock.advance(1);
    abort.abort();
    assert.deepEqual([requests.length, requests[1]?.init.signal?.aborted], [2, false]);
    await assert.rejects(clock.settle(pending), TimeoutError);
  });

  it("retries a timed-out attempt with a request that is not aborted", async () => {
    const { clock, requests, send } = startTransport([success(true), "silence", success(true)]);
    await clock.settle(send(readCall));
    await clock.settle(send(readCall));
    await clock.settle(send(readCall));
    const isAborted = requests.slice(1).map(({ init }) => init.signal?.aborted);
    assert.deepEqual(isAborted, [true, false, false]);
  });

  it("sends no request when the signal is already aborted", async () => {
    const { requests, fail } = startTransport([success(true)]);
    const error = await fail(writeCall, { signal: AbortSignal.abort() });
    assert.deepEqual([error.name, error.outcome, requests.length], ["AbortError", "none", 0]);
  });

  it("rejects all calls when the client is closed, and refuses further calls", async () => {
    const { clock, transport, send, fail } = startTransport(["silence"]);
    const sent = send(writeCall);
    await clock.advance(1);
    transport.close();
    await assert.rejects(sent, { name: "AbortError", outcome: "unknown" });
    const error = await fail(writeCall);
    assert.deepEqual([error.name, error.outcome], ["AbortError", "none"]);
  });

  it("refuses headers that the client sets itself", async () => {
    for (const name of ["Authorization", "content-type", "Idempotency-Key"]) {
      const { requests, fail } = startTransport([success(true)]);
      assert.ok((await fail(writeCall, { headers: { [name]: "x" } })) instanceof ConfigurationError);
      assert.equal(requests.length, 0);
    }
  });

  it("refuses invalid input before any request, without quoting the value of a header", async () => {
    const circular: Record<string, unknown> = {};
    circular["self"] = circular;
    const at = (path: string): AnyCall => ({ ...readCall, path });
    const refused: [call: AnyCall, options: CallOptions, message: RegExp][] = [
      [writeCall, { idempotencyKey: "import-\u0439" }, /headers and keys/],
      [writeCall, { idempotencyKey: "two\nlines" }, /headers and keys/],
      [readCall, { headers: { "x-secret": "hidden\u0439" } }, /headers and keys/],
      [readCall, { headers: { "not a name": "1" } }, /headers and keys/],
      [{ ...writeCall, parameters: { value: 5n } }, {}, /BigInt/],
      [{ ...writeCall, parameters: { value: circular } }, {}, /circular/],
      [at("/checkins/"), {}, /ids and keys must not be missing/],
      [at("/users/../metadata"), {}, /ids and keys must not be missing/],
    ];
    for (const [call, options, message] of refused) {
      const { requests, fail } = startTransport([success(true)]);
      const error = await fail(call, options);
      assert.ok(error instanceof ConfigurationError, `${error}`);
      assert.match(error.message, message);
      assert.deepEqual([error.outcome, error.attempts, error.call?.operation], ["none", 0, call.operation.id]);
      assert.ok(!/hidden/.test(inspect(error)));
      assert.equal(requests.length, 0);
    }
    for (const id of ["", ".", "..", undefined, null, { id: "chk_1" }])
      assert.equal(define("getCheckin", "GET /checkins/{checkinId}")(id).path.slice(0, 10), "/checkins/");
  });

  it("never sends a write without its key, also where the app's own is empty", async () => {
    const { clock, requests, send } = startTransport([success(true)]);
    await clock.settle(send(writeCall, { idempotencyKey: "" })); // the service refuses it
    assert.equal(requests[0]?.headers.get("idempotency-key"), "");
  });

  it("completes a call even when the logger or a progress listener fails", async (context) => {
    const reported = context.mock.method(console, "error", () => {});
    const broken = () => {
      throw new Error("listener");
    };
    const logger = { debug: broken, info: broken, warn: broken, error: broken };
    const { clock, send, requests } = startTransport(["cut", success({ id: "chk_1" })], { logger });
    assert.deepEqual(await clock.settle(send(writeCall, { onProgress: broken })), { id: "chk_1" });
    assert.equal(requests.length, 2);
    assert.equal(reported.mock.callCount(), 3);
  });

  it("retries a call once with the credentials that replace invalid ones", async () => {
    const { clock, transport, requests } = startTransport([refusal(401, "AuthAccessTokenInvalid"), success(true)]);
    const dead: string[] = [];
    const principal = {
      ...principalOf("old"),
      replace: async ({ token }: { token: string }) => {
        dead.push(token);
        return { root: "https://other.example", token: "new" };
      },
    };
    await clock.settle(transport.send(writeCall, principal));
    assert.deepEqual(dead, ["old"]);
    assert.deepEqual(
      requests.map(({ url, headers }) => `${url} ${headers.get("authorization")}`),
      ["https://service.example/checkins Service old", "https://other.example/checkins Service new"],
    );
    const twice = startTransport([refusal(401, "AuthAccessTokenInvalid")]);
    await assert.rejects(twice.clock.settle(twice.transport.send(writeCall, principal)), {
      name: "AuthAccessTokenInvalid",
    });
    assert.equal(twice.requests.length, 2);
  });

  it("treats an invalid token as the success of a logout whose response was lost", async () => {
    const logout = { ...writeCall, operation: { ...writeCall.operation, id: "logoutUser" } };
    const { clock, send, requests } = startTransport(["cut", refusal(401, "AuthAccessTokenInvalid")]);
    assert.equal(await clock.settle(send(logout)), undefined);
    assert.equal(requests.length, 2);
    const error = await startTransport([refusal(401, "AuthAccessTokenInvalid")]).fail(logout);
    assert.equal(error.name, "AuthAccessTokenInvalid");
  });

  it("holds back the calls of a principal while the service refuses them, and then sends one of them first", async () => {
    const busy = refusal(503, "ServiceUnavailable", { "Retry-After": "10" });
    const { clock, send, requests } = startTransport([busy, success(1), success(2)]);
    const first = send(readCall);
    await clock.advance(1);
    const others = Array.from({ length: 5 }, () => send(readCall));
    await clock.advance(9999);
    assert.equal(requests.length, 1);
    await clock.settle(Promise.all([first, ...others]));
    assert.equal(requests.length, 7);
    const late = await startTransport([busy]);
    await late.fail(readCall, { retry: false });
    const error = await late.fail(readCall, { timeoutMs: 5000 });
    assert.deepEqual(
      [error.name, error.attempts, error.outcome, late.requests.length],
      ["ServiceUnavailable", 0, "none", 1],
    );
  });

  it("does not delay calls of other principals when an address is limited", async () => {
    const limited = refusal(429, "RateLimitExceeded", { "Retry-After": "10", RateLimit: '"address";r=0;t=10' });
    const { fail, requests } = startTransport([limited]);
    await fail(readCall, { retry: false });
    await fail(readCall, { retry: false });
    assert.equal(requests.length, 2);
  });

  it("passes requests to interceptors without their token, and sends the headers that interceptors add", async () => {
    const { clock, interceptors, send, requests } = startTransport(["cut", success({ id: "chk_1" })]);
    const seen: string[] = [];
    interceptors.add({
      async call({ operation, headers, context }, next) {
        seen.push(`${operation.id} ${headers.get("authorization")} ${context}`);
        headers.set("x-of-call", "1");
        return next();
      },
      async attempt({ attempt, headers }, next) {
        seen.push(`${attempt} ${headers.get("authorization")} ${headers.get("x-of-call")}`);
        headers.set("Authorization", "Service stolen");
        headers.set("x-of-attempt", `${attempt}`);
        return next();
      },
    });
    await clock.settle(send(writeCall, { context: "mine" }));
    assert.deepEqual(seen, ["createCheckin null mine", "1 [secret] 1", "2 [secret] 1"]);
    assert.deepEqual(
      requests.map(({ headers }) => `${headers.get("authorization")} ${headers.get("x-of-attempt")}`),
      ["Service token 1", "Service token 2"],
    );
    interceptors.clear();
    await clock.settle(send(writeCall));
    assert.equal(seen.length, 3);
  });

  it("lets an interceptor return a response without sending a request", async () => {
    const { clock, interceptors, send, requests } = startTransport([success(1)]);
    interceptors.add({ call: async () => "own" });
    assert.equal(await clock.settle(send(readCall)), "own");
    assert.equal(requests.length, 0);
  });

  it("adds a signature after the token", async () => {
    const { clock, transport, send, requests } = startTransport([success(1)]);
    transport.sign((method, path) => `signed:${method}:${path}`);
    await clock.settle(send({ ...readCall, parameters: { size: 1 } }));
    assert.equal(requests[0]?.headers.get("authorization"), "Service token signed:GET:/checkins/chk_1");
    assert.equal(requests[0]?.url, "https://service.example/checkins/chk_1?size=1");
  });

  it("sends PATCH and DELETE within a batch when a proxy passes only GET and POST", async () => {
    const change = {
      ...writeCall,
      operation: { ...writeCall.operation, id: "changeCheckin", method: "PATCH" as const },
    };
    const items = (item: object) => success({ responses: [item] });
    const done = { key: "0", status: 200, result: { id: "chk_1" }, request_id: "req_9", success: true };
    const { clock, send, requests } = startTransport([items(done)], { methods: "get-post" });
    const sent = send(change);
    assert.deepEqual(await clock.settle(sent), { id: "chk_1" });
    assert.equal((await sent.meta).requestId, "req_9");
    const [request] = requests;
    assert.deepEqual([request?.url, request?.init.method], ["https://service.example/batch", "POST"]);
    const [item] = JSON.parse(String(request?.init.body)).requests;
    assert.deepEqual([item.method, item.path, item.parameters.location], ["PATCH", "/checkins", "48.2,16.37"]);
    assert.equal(typeof item.idempotencyKey, "string");
    assert.equal(request?.headers.get("idempotency-key"), null);
    const failed = { status: 404, error: "ItemDoesNotExist", errorNumber: 769, request_id: "r", success: false };
    const error = await startTransport([items(failed)], { methods: "get-post" }).fail(change);
    assert.equal(error.name, "ItemDoesNotExist");
  });

  it("writes no parameter, token or key to logs or errors", async () => {
    const lines: string[] = [];
    const log = (message: string, fields: object) => void lines.push(`${message} ${JSON.stringify(fields)}`);
    const logger = { debug: log, info: log, warn: log, error: log };
    const { fail, requests } = startTransport(["cut", refusal(503, "ServiceUnavailable")], { logger });
    const error = await fail(writeCall);
    const printed = `${lines.join("\n")} ${error.message} ${JSON.stringify(error.call)}`;
    const fields = { operation: "createCheckin", attempt: 2, status: 503, requestId: "req_2" };
    const line = `attempt of a call ${JSON.stringify({ ...fields, error: "ServiceUnavailable", ms: 0 })}`;
    assert.ok(lines.includes(line), lines.join("\n"));
    for (const secret of ["secret words", "token", "48.2", requests[0]?.headers.get("idempotency-key") ?? ""]) {
      assert.ok(!printed.includes(secret), secret);
    }
  });
});

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { Agent } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CallOptions, type Answer as HttpAnswer, send as sendTo } from "../../testkit/http.ts";
import { type App, buildApp } from "../src/app/app.ts";
import type { ServiceOverrides } from "../src/app/create-services.ts";
import { insertApplication, type NewApplication } from "../src/applications/applications.store.ts";
import { insertOperatorSession } from "../src/auth/operator-sessions.ts";
import { type Config, loadConfig } from "../src/config/config.ts";
import { createLog } from "../src/config/log.ts";
import type { OperatorRole } from "../src/config/roles.ts";
import { conditionsOf } from "../src/contract/route.ts";
import { migrate } from "../src/db/migrate.ts";
import { createClock } from "../src/lib/clock.ts";
import { type ErrorCondition, errorCatalogue } from "../src/lib/errors.ts";
import { newOperator } from "../src/operators/operators.new.ts";
import { insertOperator } from "../src/operators/operators.store.ts";
import { copyTestDatabase } from "./databases.ts";

/** A response: the status, the headers and the parsed envelope. */
export type Answer = Omit<HttpAnswer, "bytes">;

export type { CallOptions };

/** Reuses connections, which saves a fourth of the processor time in tests with thousands of calls. */
export const keepAlive = new Agent({ keepAlive: true });

/** A real server on a real port with its own database, and a clock that the test moves. */
export interface TestApp {
  readonly app: App;
  readonly config: Config;
  readonly url: string;
  readonly port: number;
  readonly application: NewApplication;
  /** The log entries, parsed. */
  readonly logLines: readonly Record<string, unknown>[];
  /** Moves the clock; may be negative. */
  advance(ms: number): void;
  now(): number;
  /** Makes an HTTP call (`"GET /users/me"`). Fails the test if the route does not declare the response. */
  call(operation: string, options?: CallOptions): Promise<Answer>;
  createApplication(name?: string): Promise<NewApplication>;
  /** Creates an operator with a session; an owner by default. */
  createOperator(name?: string, role?: OperatorRole): Promise<TestOperator>;
  /** Registers a device of the default or another application. */
  registerDevice(application?: NewApplication): Promise<string>;
  /** Creates a user with a token. */
  signUp(userName?: string, application?: NewApplication): Promise<TestUser>;
  close(): Promise<void>;
}

export interface TestOperator {
  readonly id: string;
  readonly name: string;
  readonly role: OperatorRole;
  readonly password: string;
  readonly token: string;
}

export interface TestUser {
  readonly id: string;
  readonly userName: string;
  readonly password: string;
  readonly token: string;
  readonly deviceToken: string;
}

/** Cheap hashes, because few tests depend on the cost of passwords. */
const cheapHashing = { PASSWORD_HASH_MEMORY_KIB: "8", PASSWORD_HASH_PASSES: "1" };

/** A longer timeout than the default, because a call may wait for the database on a busy machine. */
const patientWithDatabase = { DATABASE_TIMEOUT_MS: "60000" };

/** Without limits of new devices, because the clock of tests stands still in their first minute. */
const newDevicesUnlimited = { RATE_LIMIT_NEW_DEVICES_PER_SECOND: "0" };

/** For tests of the default limits of a deployment. */
export const newDevicesByDefault = { RATE_LIMIT_NEW_DEVICES_PER_SECOND: "" };

/**
 * Starts a server on the engine of TEST_DATABASE_URL, SQLite by default. Tests do not depend on the engine.
 *
 * @param settings environment variables that override the defaults; DATABASE_URL shares another app's database
 * @param overrides replace the DNS, the folder of the built console, and the limits of webhooks
 */
export async function startTestApp(
  settings: Readonly<Record<string, string>> = {},
  overrides: Pick<ServiceOverrides, "lookUp" | "consoleFolder" | "webhookBounds"> = {},
): Promise<TestApp> {
  const dataDir = mkdtempSync(join(tmpdir(), "rollcall-test-"));
  const database = settings["DATABASE_URL"] === undefined ? await copyTestDatabase(dataDir) : undefined;
  const config = loadConfig({
    ROLLCALL_SECRET: "a secret for tests that is long enough",
    DATA_DIR: dataDir,
    LOG_LEVEL: "info",
    PORT: "0",
    DATABASE_URL: database?.url ?? "",
    ...cheapHashing,
    ...patientWithDatabase,
    ...newDevicesUnlimited,
    ...settings,
  });

  let wall = Date.now();
  const logText: string[] = [];
  const logLines: Record<string, unknown>[] = [];
  const app = await buildApp(config, {
    ...overrides,
    clock: createClock(
      () => wall,
      () => 0,
    ),
    log: createLog(config.logLevel, { write: (line) => void logText.push(line) }),
  });
  await migrate(app.database);
  const port = await app.transport.listen(config.host, config.port);

  let count = 0;
  async function createApplication(name = "Test"): Promise<NewApplication> {
    return app.database.write(({ queries }) => insertApplication(name, app, queries));
  }
  const application = await createApplication();

  async function call(operation: string, options: CallOptions = {}): Promise<Answer> {
    const [method = "GET", path = "/"] = operation.split(/ (.*)/);
    const answer = await send(port, method, path, options);
    checkDeclared(app, method, path, answer);
    return answer;
  }

  async function registerDevice(of: NewApplication = application): Promise<string> {
    const answer = await call("POST /devices", { body: { ...of, platform: "test" } });
    return answer.body.result.accessToken;
  }

  return {
    app,
    config,
    url: `http://127.0.0.1:${port}`,
    port,
    application,
    get logLines() {
      for (const line of logText.splice(0)) logLines.push(JSON.parse(line));
      return [...logLines];
    },
    advance(ms) {
      wall += ms;
    },
    now: () => wall,
    call,
    createApplication,
    async createOperator(name = `operator ${++count}`, role = "owner") {
      const { row, password } = await newOperator({ name, role }, app);
      const token = app.operatorTokens.issue();
      const session = { at: wall, expiresAt: wall + config.operatorSessionMs };
      await app.database.write(async ({ queries }) => {
        assert.ok(await insertOperator(row, queries), `the name ${name} is taken`);
        await insertOperatorSession(row.id, token, session, queries);
      });
      return { id: row.id, name, role, password, token };
    },
    registerDevice,
    async signUp(userName = `user ${++count}`, of = application) {
      const deviceToken = await registerDevice(of);
      const password = "correct horse";
      const answer = await call("POST /users", { token: deviceToken, body: { username: userName, password } });
      return { id: answer.body.result.id, userName, password, token: answer.body.result.accessToken, deviceToken };
    },
    async close() {
      await app.close(0);
      await database?.drop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Settings for tests that move the clock by months, in which operators stay signed in. */
export const longSessions = { OPERATOR_SESSION_MS: "315360000000", OPERATOR_IDLE_MS: "315360000000" };

/** Sends one request, on a new connection unless there is an agent. */
export function send(port: number, method: string, path: string, options: CallOptions = {}): Promise<Answer> {
  return sendTo({ port }, method, path, options);
}

/** A connection on which a test sends arbitrary bytes. */
export interface RawConnection {
  write(bytes: string | Buffer): void;
  /** Closes the sending side, and still receives. */
  finish(): void;
  /** Waits for the next response; undefined after the server has closed. Rejects after a minute. */
  receive(): Promise<Answer | undefined>;
  close(): void;
}

export function openRaw(port: number): RawConnection {
  const socket = connect(port, "127.0.0.1");
  let received = ""; // only the length is read while a body arrives, so that its parts are not concatenated per chunk
  let head: { readonly status: number; readonly headers: Record<string, string>; readonly bytes: number } | undefined;
  let isClosed = false;
  let wake = () => {};
  socket.on("data", (chunk: Buffer) => {
    received += chunk.toString("latin1");
    wake();
  });
  socket.on("error", () => {}); // a reset counts as a close
  socket.on("close", () => {
    isClosed = true;
    wake();
  });

  function readHead(): typeof head {
    const headEnd = received.indexOf("\r\n\r\n");
    if (headEnd === -1) return undefined;
    const [statusLine = "", ...lines] = received.slice(0, headEnd).split("\r\n");
    const headers = Object.fromEntries(lines.map((line) => line.toLowerCase().split(": ", 2)));
    return { status: Number(statusLine.split(" ")[1]), headers, bytes: headEnd + 4 };
  }

  function takeAnswer(): Answer | undefined {
    head ??= readHead();
    if (head === undefined) return undefined;
    const { status, headers, bytes } = head;
    const end = bytes + Number(headers["content-length"] ?? 0);
    if (received.length < end) return undefined;
    const text = Buffer.from(received.slice(bytes, end), "latin1").toString("utf8");
    received = received.slice(end);
    head = undefined;
    const body = headers["content-type"] === "application/json" ? JSON.parse(text) : undefined;
    return { status, headers, text, body };
  }

  return {
    write: (bytes) => void socket.write(bytes),
    finish: () => void socket.end(),
    close: () => void socket.destroy(),
    async receive() {
      const deadline = Date.now() + 60_000;
      for (;;) {
        const answer = takeAnswer();
        if (answer !== undefined || isClosed) return answer;
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        wake = resolve;
        const hang = setTimeout(() => {
          socket.destroy();
          reject(new Error("the server neither responds nor closes the connection"));
        }, deadline - Date.now());
        await promise;
        clearTimeout(hang);
      }
    },
  };
}

/** Asserts a complete success response: this status, this result, a request id, and no other members. */
export function assertResult(answer: Answer, status: number, result: unknown): void {
  const { request_id } = answer.body;
  assert.match(request_id, requestIdPattern);
  assert.deepEqual(answer.body, { status, result, request_id, success: true });
  assert.equal(answer.status, status);
}

/**
 * Asserts a complete error response: these values, a request id, and no other members; no message without the argument.
 */
export function assertError(
  answer: Answer,
  status: number,
  error: string,
  errorNumber: number,
  message?: string,
): void {
  const { parameter, retryAfterSeconds, problems, ...body } = answer.body;
  const { request_id } = body;
  assert.match(request_id, requestIdPattern);
  const text = message === undefined ? {} : { message: withReason(message, body.message) };
  assert.deepEqual(body, { status, error, errorNumber, ...text, request_id, success: false });
  assert.equal(answer.status, status);
  if (parameter !== undefined) assert.ok(errorsOfParameters.has(error) && parameter.length <= 300, parameter);
  if (problems !== undefined) assert.equal(error, "ParameterOutOfRange");
  assert.equal(retryAfterSeconds !== undefined, status === 429 || status === 503, "only with 429 and 503");
}

/** The errors that name the invalid parameter (spec/errors#error-details). */
const errorsOfParameters: ReadonlySet<string> = new Set([
  ...["ParameterMissingRequiredValue", "ParameterOutOfRange", "ParameterIncorrectFormat"],
  ...["ItemAlreadyExists", "RequestTooLarge"],
]);

/**
 * The message for a refused token (spec/authentication#refusal-messages); `caller.test.ts` checks the sentence after
 * it.
 */
const tokenRefused = "Incorrect token type.";
/** Messages that details may follow: the verbs of the path, the position in the body. */
const detailed = [tokenRefused, "There is no such operation.", "The body is not valid JSON."];

function withReason(expected: string, message: unknown): unknown {
  const isReason = detailed.includes(expected) && `${message}`.startsWith(expected.slice(0, -1));
  return isReason ? message : expected;
}

const requestIdPattern = /^[\w-]{8,64}$/;

/** Throws for a response that the route does not declare. */
function checkDeclared(app: App, method: string, path: string, { status, body }: Answer): void {
  const candidates = declarationsOf(app).get(shapeOf(method, path)) ?? [];
  const found = candidates.find((each) => matches(each.path, path));
  if (found === undefined || body === undefined || found.successes.includes(status)) return;
  const declared = found
    .conditions()
    .some((condition) => errorCatalogue[condition].status === status && errorCatalogue[condition].error === body.error);
  if (!declared) throw new Error(`${method} ${found.path} answered ${status} ${body.error}, which it does not declare`);
  if (status === 500) throw new Error(`${method} ${path} answered 500`);
}

/** The declared responses of an operation. */
interface Declaration {
  readonly method: string;
  readonly path: string;
  readonly successes: readonly number[];
  readonly conditions: () => readonly ErrorCondition[];
}

const declarations = new WeakMap<App, Map<string, Declaration[]>>();

/** The declarations by method and number of segments, because comparing a path with all of them is slow. */
function declarationsOf(app: App): Map<string, Declaration[]> {
  return declarations.getOrInsertComputed(app, () => {
    const ofRoutes = app.routes.map((route): Declaration => {
      const { method, path, status, mayCreate } = route;
      return { method, path, successes: mayCreate ? [status, 201] : [status], conditions: () => conditionsOf(route) };
    });
    const ofEndpoints = app.endpoints
      .flatMap(({ operations }) => operations)
      .map(({ method, path, status, errors }) => ({ method, path, successes: [status], conditions: () => errors }));
    return Map.groupBy([...ofRoutes, ...ofEndpoints], ({ method, path }) => shapeOf(method, path));
  });
}

/** The key of a path: its method and number of segments. */
function shapeOf(method: string, path: string): string {
  return `${method} ${path.split("?", 1)[0]?.split("/").length}`;
}

const patterns = new Map<string, RegExp>();

function matches(pattern: string, path: string): boolean {
  const expression = patterns.getOrInsertComputed(pattern, () => {
    const escaped = pattern.replaceAll(/[.*+?^$()|[\]\\]/g, "\\$&").replaceAll(/\{\w+\}/g, "[^/]+");
    return new RegExp(`^${escaped}(\\?.*)?$`);
  });
  return expression.test(path);
}

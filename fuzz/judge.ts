import type { Answer } from "./connection.ts";
import type { DeclaredAnswer, Operation } from "./document.ts";
import { type Envelope, type Fault, isEnvelope, parse, rowOf } from "./envelopes.ts";
import { disabledEverywhere, judgeAccess } from "./judge.access.ts";
import { judgeBytes, judgeHeaders, judgeMessage } from "./judge.surface.ts";
import type { Markers } from "./markers.ts";
import type { Plan } from "./plan.ts";

export interface JudgeServices {
  readonly markers: Markers;
  /** The operation that a request reaches. */
  resolve(method: string, path: string): Operation | undefined;
}

/** In processor time of the server, which another program on the machine does not prolong. */
const processorMsMax = 5_000;
/** A call that waits longer, without computing, waits for what will not happen. */
const answerMsMax = 30_000;
/** Pictures are decoded at the lowest priority, with a timeout of a minute. */
const pictureMsMax = 65_000;

/** Compares responses with their OpenAPI declarations and with the invariants of every response. */
export function createJudge({ markers, resolve }: JudgeServices) {
  const requestIds = new Set<string>();
  const firstReplies = new Map<string, string>();

  /** @param processorMs what the server used, for all calls, between request and response; NaN if it is unknown */
  function judge(plan: Plan, answer: Answer, processorMs: number): Fault[] {
    const [path = ""] = plan.target.split(/[?#]/, 1);
    const isUpload = path.startsWith("/files/uploads");
    const method = isUpload && plan.override !== undefined ? plan.override.trim().toUpperCase() : plan.method;
    const operation = plan.isBroken ? plan.operation : resolve(method, path);
    return [
      ...judgeTime(plan, answer, processorMs),
      ...judgeHeaders(answer),
      ...judgeLeaks(plan, answer),
      ...judgeReplay(plan, answer),
      ...(plan.isBroken ? judgeBroken(plan, answer) : judgeProper(plan, operation, answer)),
    ];
  }

  function judgeLeaks(plan: Plan, answer: Answer): Fault[] {
    if (plan.isSigned) return []; // a signed URL is enough to read
    const caller = plan.isAuthentic ? plan.caller : undefined;
    const text = `${[...answer.headers.values()].join("\n")}\n${answer.text.replaceAll(storedIds, "")}`;
    const leaks = markers.findLeaks(text, plan.bytes.toString("latin1"), caller);
    return leaks.map(({ what, text: leaked }) => ({
      kind: "leak",
      details: `${what} (${leaked}) is not for this caller`,
    }));
  }

  /** A repeated request gets the stored response of the first one, and only its own caller does. */
  function judgeReplay({ caller, idempotencyKey }: Plan, { headers, status, text }: Answer): Fault[] {
    if (caller === undefined || caller.kind === "operator") return [];
    const name = `${caller.userId || caller.deviceId} ${idempotencyKey}`;
    const content = `${status} ${text.replace(/"request_id":"[^"]*","success":(true|false)\}$/, "")}`;
    if (headers.get("idempotent-replayed") === undefined) {
      if (idempotencyKey !== undefined && status < 300) firstReplies.set(name, content);
      return [];
    }
    const first = firstReplies.get(name);
    if (idempotencyKey === undefined) return [{ kind: "replayed without a key", details: text }];
    return first === undefined || first === content
      ? []
      : [{ kind: "another reply", details: `${first} became ${content}` }];
  }

  function judgeProper(plan: Plan, operation: Operation | undefined, answer: Answer): Fault[] {
    const { status } = answer;
    const rows = new Set<string>(operation === undefined ? ["OperationNotFound 516"] : []);
    // Errors that are raised before the operation is known.
    if (operation === undefined && plan.target.startsWith("/files/uploads"))
      for (const row of rowsOfUploads) rows.add(row);
    if (hasBadEscape(plan.target)) rows.add("ParameterIncorrectFormat 515");
    if (plan.bytes.toString("latin1").match(/^host:/gim)?.length !== 1) rows.add("ParameterIncorrectFormat 515");
    if (plan.bytes.length > 10_000) rows.add("RequestTooLarge 1281");
    const declared = operation?.answers.get(status);
    if (declared === undefined) {
      // A response without a body has nothing else to check.
      if (plan.method === "HEAD" && statusesOfAll.has(status)) return [];
      if (!isEnvelope(answer)) return [{ kind: `undeclared ${status}`, details: answer.text.slice(0, 500) }];
      const row = rowOf(parse(answer.text));
      return [
        ...judgeEnvelope(answer),
        ...(rows.has(row) ? [] : [{ kind: `undeclared ${status} ${row}`, details: answer.text }]),
      ];
    }
    return [...judgeAccess(plan, operation, answer), ...judgeDeclared(plan, operation, declared, rows, answer)];
  }

  function judgeDeclared(
    plan: Plan,
    operation: Operation | undefined,
    declared: DeclaredAnswer,
    rows: ReadonlySet<string>,
    answer: Answer,
  ): Fault[] {
    const { status } = answer;
    if (status >= 500 && !isUploadBeingFinished(answer)) return [{ kind: `${status}`, details: answer.text }];
    if (plan.method === "HEAD" || declared.judge === undefined) return judgeBytes(declared, answer);
    const faults = judgeEnvelope(answer);
    const envelope = parse(answer.text);
    const problem = declared.judge(envelope, "answer");
    if (problem !== undefined) faults.push({ kind: "not as declared", details: problem });
    if (status >= 400) {
      const row = rowOf(envelope);
      if (!declared.errors.has(row) && !rows.has(row)) faults.push({ kind: `undeclared ${row}`, details: answer.text });
      faults.push(...judgeMessage(plan, envelope));
    } else if (operation?.id === "runBatch") faults.push(...judgeBatch(plan, envelope));
    return faults;
  }

  function judgeEnvelope(answer: Answer): Fault[] {
    const faults: Fault[] = [];
    const type = answer.headers.get("content-type");
    if (type !== "application/json") faults.push({ kind: "content type", details: `${type}` });
    const { status, request_id: requestId } = parse(answer.text);
    if (status !== answer.status) faults.push({ kind: "two statuses", details: answer.text });
    if (typeof requestId !== "string" || requestIds.has(requestId))
      faults.push({ kind: "request_id", details: answer.text });
    else requestIds.add(requestId);
    return faults;
  }

  /** Each item of a batch is checked as a response of its own operation. */
  function judgeBatch(plan: Plan, { result }: Envelope): Fault[] {
    const requests = requestsOf(plan);
    const { responses } = result as { responses: readonly Envelope[] }; // the schema has been checked
    return responses.flatMap((response, index) => {
      const { key: _, ...envelope } = response;
      const item = requests?.[index];
      if (item === undefined || plan.content.body.length === 0) return [];
      const [path = ""] = `${item.path}`.split(/[?#]/, 1);
      const operation = resolve(`${item.method}`.toUpperCase(), path);
      const { status } = envelope;
      if (status >= 500) return [{ kind: `batch item: ${status}`, details: JSON.stringify([item, envelope]) }];
      if (status >= 400) {
        const row = rowOf(envelope);
        const isDeclared = operation?.answers.get(status)?.errors.has(row) || rowsOfItems.has(row);
        return [
          ...(isDeclared ? [] : [{ kind: `batch item: undeclared ${row}`, details: JSON.stringify([item, envelope]) }]),
          ...judgeMessage(plan, envelope),
        ];
      }
      if (`${item.path}`.includes("{{")) return [];
      const { caller } = plan;
      const isNarrow = caller !== undefined && caller.kind !== "operator" && caller.application.isNarrow;
      if (isNarrow && operation !== undefined && disabledEverywhere.has(operation.id)) {
        return [{ kind: "batch item: disabled", details: `${operation.id} is disabled, and succeeded` }];
      }
      const problem = operation?.answers.get(status)?.judge?.(envelope, "item");
      const isKnown = operation?.answers.has(status) === true;
      return isKnown && problem === undefined
        ? []
        : [
            {
              kind: "batch item: not as declared",
              details: `${problem} ${JSON.stringify([item, envelope]).slice(0, 1_000)}`,
            },
          ];
    });
  }

  return { judge };
}

/** Ids that callers may store freely, regardless of the owner. */
const storedIds = /"thumbnailID":"\w+"/g;

/** Errors that may come before the operation is known. */
const statusesOfAll: ReadonlySet<number> = new Set([400, 401, 403, 404, 413]);

/** Operations that check the caller before the method, because the method may be in a header. */
const rowsOfUploads = ["AuthAccessTokenInvalid 261", "AuthUserAccessTokenRequired 263", "AuthSignatureInvalid 258"];

/** Errors of an item besides those that its operation declares. */
const rowsOfItems: ReadonlySet<string> = new Set([
  ...["OperationNotFound 516", "BatchItemNotRun 1286", "RequestTooLarge 1281"],
  ...["ParameterIncorrectFormat 515", "ParameterOutOfRange 514", "ParameterMissingRequiredValue 513"],
]);

function requestsOf({ content }: Plan): readonly { readonly method: unknown; readonly path: unknown }[] | undefined {
  const given = content.body.find(([name]) => name === "requests")?.[1];
  const requests = typeof given === "string" ? parse(given) : given;
  const isList = Array.isArray(requests) && requests.every((each) => typeof each === "object" && each !== null);
  return isList ? requests : undefined;
}

function judgeTime({ target }: Plan, { ms }: Answer, processorMs: number): Fault[] {
  const waitsForPictures = /picture|^\/files\/uploads/i.test(target);
  if (ms <= (waitsForPictures ? pictureMsMax : answerMsMax) && (waitsForPictures || !(processorMs > processorMsMax)))
    return [];
  return [{ kind: "slow", details: `${Math.round(ms)} ms, in which the server used ${Math.round(processorMs)} ms` }];
}

/** Invalid HTTP gets an error in the envelope, or a closed connection. */
function judgeBroken(plan: Plan, answer: Answer): Fault[] {
  const { status } = answer;
  if (status >= 500 || status === 0) return [{ kind: `broken request: ${status}`, details: answer.text }];
  const hasBody = plan.method !== "HEAD" && status >= 400;
  if (!hasBody || answer.text === "") return [];
  return isEnvelope(answer) ? [] : [{ kind: "broken request: no envelope", details: answer.text }];
}

/** Another call is making the file of the upload, and the client should repeat its own a second later. */
function isUploadBeingFinished({ status, headers, text }: Answer): boolean {
  return status === 503 && headers.has("retry-after") && parse(text).message === "The upload is being finished.";
}

function hasBadEscape(target: string): boolean {
  try {
    decodeURI(target.split("?", 1)[0] ?? "");
    return false;
  } catch {
    return true;
  }
}

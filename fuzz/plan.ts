import { type Actor, type Application, type Client, credentialsOf, type Operator } from "./actors.ts";
import { composeBatch } from "./batches.ts";
import { type Content, compose, type Mood } from "./compose.ts";
import { isDownload, type Operation } from "./document.ts";
import { encodeContent } from "./encoding.ts";
import { oddHeaders, spoil } from "./oddities.ts";
import type { Prepared } from "./preparation.ts";
import type { Random } from "./random.ts";
import type { Setting } from "./recipes.ts";
import { type HeaderLine, writeRequest } from "./request.ts";
import { tusContent } from "./tus.ts";
import { idsFor, idsOf } from "./values.ts";
import type { World } from "./world.ts";

/** A call that is about to be sent. */
export interface Plan {
  readonly index: number;
  readonly operation: Operation;
  readonly mood: Mood;
  readonly caller: Actor | undefined;
  /** Whether it brings what lets this caller in. */
  readonly isAuthentic: boolean;
  /** Whether it opens a file by what its address holds. */
  readonly isSigned: boolean;
  readonly method: string;
  readonly target: string;
  /** X-HTTP-Method-Override. */
  readonly override: string | undefined;
  readonly idempotencyKey: string | undefined;
  readonly content: Content;
  readonly bytes: Buffer;
  /** Whether it is no proper HTTP, or too much of it: then what refuses it knows no operation. */
  readonly isBroken: boolean;
  readonly isLast: boolean;
}

export function planCall(
  index: number,
  operation: Operation,
  operations: readonly Operation[],
  world: World,
  random: Random,
  prepared: Prepared | undefined,
): Plan {
  const mood: Mood = prepared !== undefined || random.chance(0.45) ? "honest" : random.chance(0.6) ? "pointed" : "wild";
  const setting = settingFor(operation, mood, world, random, prepared?.caller);
  const { caller } = setting;
  const content =
    operation.id === "runBatch"
      ? composeBatch(setting, mood, operations)
      : operation.takes === "bytes" || operation.path.startsWith("/files/uploads")
        ? tusContent(setting, mood)
        : compose(setting, mood, prepared?.values);
  const encoded = encodeContent(operation, content, mood, random);

  const isSigned = isDownload(operation) && caller?.kind === "user" && mood !== "wild" && random.chance(0.1);
  const signed = isSigned ? random.pick(caller.signedUrls) : undefined;
  const method = isDownload(operation) && random.chance(0.1) ? "HEAD" : operation.method;
  const plainTarget = signed === undefined ? encoded.target : pathOf(signed);
  const presented = presentToken(caller, method, plainTarget, world, mood, random);
  const mayBeInQuery = isDownload(operation) && operation.caller === "user" && presented.isAuthentic && !isSigned;
  const isInQuery = mayBeInQuery && random.chance(0.2);
  const target = isInQuery ? withToken(plainTarget, caller?.token ?? "") : plainTarget;
  const odd = oddHeaders(operation, mood, random, world);
  const headers: HeaderLine[] = [
    ...(signed === undefined && !isInQuery ? presented.headers : []),
    ...encoded.headers,
    ...odd.headers,
  ];
  const body = "bytes" in content && content.bytes instanceof Buffer ? content.bytes : encoded.body;
  const spoiled = spoil(writeRequest({ method, target, headers, body }), mood, random);
  return {
    index,
    operation,
    mood,
    caller,
    isAuthentic: presented.isAuthentic && signed === undefined,
    isSigned: signed !== undefined,
    method,
    target,
    override: overrideOf(headers),
    idempotencyKey: takesKey(operation) ? onlyOne(headers, "Idempotency-Key") : undefined,
    content,
    ...spoiled,
  };
}

/** For players and pages, which send no headers. */
function withToken(target: string, token: string): string {
  return `${target}${target.includes("?") ? "&" : "?"}accessToken=${token}`;
}

function takesKey({ method, caller }: Operation): boolean {
  return method !== "GET" && method !== "HEAD" && (caller === "device" || caller === "user");
}

function onlyOne(headers: readonly HeaderLine[], wanted: string): string | undefined {
  const [first, ...others] = headers.filter(([name]) => name === wanted);
  return others.length === 0 ? first?.[1] : undefined;
}

/** As the server sees it: two of one name are one with a comma. */
function overrideOf(headers: readonly HeaderLine[]): string | undefined {
  const given = headers.filter(([name]) => name === "X-HTTP-Method-Override").map(([, value]) => value);
  return given.length === 0 ? undefined : given.join(", ");
}

function pathOf(url: string): string {
  return url.replace(/^https?:\/\/[^/]+/, "");
}

/** Who calls: mostly who may, else anybody of any kind. */
function settingFor(operation: Operation, mood: Mood, world: World, random: Random, prepared?: Client): Setting {
  const isRight = mood === "honest" ? random.chance(0.93) : random.chance(0.75);
  const caller = prepared ?? pickCaller(operation, isRight, world, random);
  const mayChange = caller?.kind === "operator" && caller.role !== "viewer" && operation.method !== "GET";
  const application = applicationOf(caller, mayChange, world, random);
  const isReading = operation.method === "GET" || operation.method === "HEAD";
  const ids =
    caller === undefined || caller.kind === "operator"
      ? operatorIds(application, mayChange, world)
      : idsFor(caller, isReading, random);
  return { operation, caller, application, world, random, ids };
}

function operatorIds(application: Application, mayChange: boolean, world: World) {
  const ofApplication = idsOf(application);
  return (prefix: string): readonly string[] => {
    if (prefix !== "opr") return ofApplication(prefix);
    return mayChange
      ? world.madeOperators
      : [...world.operators.map(({ operatorId }) => operatorId), ...world.madeOperators];
  };
}

/** Ends what it is called with. */
const ending: ReadonlySet<string> = new Set(["deleteUser", "logoutUser"]);

function pickCaller(operation: Operation, isRight: boolean, world: World, random: Random): Actor | undefined {
  const { caller: kind, id, method, path } = operation;
  const needed = isRight ? kind : random.pick(["anyone", "device", "user", "operator"] as const);
  const living = <Some extends Actor>(actors: readonly Some[]) => actors.filter(({ isAlive }) => isAlive);
  switch (needed) {
    case "anyone":
      return random.chance(0.5) ? undefined : random.pick(living(world.clients));
    case "operator": {
      const operators = living<Operator>(world.operators);
      const isOfOwners = path.startsWith("/_/api/operators") || random.chance(0.5);
      const strong = operators.filter(
        ({ role }) => role === "owner" || (!isOfOwners && role === "editor" && method !== "GET"),
      );
      return random.pick(isRight && strong.length > 0 && random.chance(0.75) ? strong : operators);
    }
    default: {
      const isApart = random.chance(0.06);
      const clients = living<Client>(world.clients).filter(({ application }) => isApart || !application.isSandbox);
      const victims =
        isRight && ending.has(id) ? clients.flatMap(({ application }) => living(application.victims)) : [];
      const fitting = clients.filter((each) => each.kind === needed || (needed === "device" && random.chance(0.5)));
      const prefix = prefixOf(operation);
      const rich = fitting.filter(({ own }) => prefix !== undefined && own.of(prefix).length > 0);
      if (rich.length > 0 && random.chance(0.7)) return random.pick(rich);
      return random.pick(victims.length > 0 && random.chance(0.9) ? victims : fitting);
    }
  }
}

/** What a caller should have some of: `chk` for what takes the id of a check-in. */
function prefixOf({ inPath, path }: Operation): string | undefined {
  if (path.startsWith("/files/uploads/")) return "upl";
  return inPath
    .map(({ schema }) => /^\^([a-z]{3})_/.exec(schema.pattern ?? "")?.[1])
    .findLast((prefix) => prefix !== "usr");
}

/** What may be changed is only what nobody else is fuzzed with. */
function applicationOf(caller: Actor | undefined, mayChange: boolean, world: World, random: Random): Application {
  const sandboxes = world.applications.filter(({ isSandbox, isAlive }) => isSandbox && isAlive);
  const sandbox = random.pick(sandboxes);
  if (caller !== undefined && caller.kind !== "operator") return caller.application;
  const lasting = world.applications.filter(({ isSandbox }) => !isSandbox);
  const other = random.pick(lasting);
  const chosen = mayChange || random.chance(0.6) ? sandbox : other;
  const found = chosen ?? (mayChange ? undefined : other);
  if (found === undefined) throw new Error("There is no application to work on");
  found.uses += 1;
  return found;
}

interface Presented {
  readonly headers: readonly HeaderLine[];
  readonly isAuthentic: boolean;
}

/** The token as it should be, or something like it. */
function presentToken(
  caller: Actor | undefined,
  method: string,
  target: string,
  world: World,
  mood: Mood,
  random: Random,
): Presented {
  const [path = ""] = target.split("?", 1);
  if (caller === undefined) return { headers: [], isAuthentic: false };
  const credentials = credentialsOf(caller, method, path);
  const good = random.pick(["Service", "Service", "service", "Bearer"]);
  if (mood === "honest" || random.chance(0.8))
    return { headers: [["Authorization", `${good} ${credentials}`]], isAuthentic: true };
  const { token } = caller;
  const at = random.below(token.length);
  const other = token[at] === "A" ? "B" : "A";
  const false_ = random.pick([
    "",
    "Service",
    `Basic ${token}`,
    token,
    `Service ${token.slice(0, -1)}`,
    `Service ${token}A`,
    `Service ${token.slice(0, at)}${other}${token.slice(at + 1)}`,
    `Service ${token.replace("main.", "eu.")}x`,
    `Service ${token.toUpperCase()}`,
    `Service ${random.pick(world.deadTokens) ?? "x"}`,
    `Service ${"x".repeat(5_000)}`,
    "Service 'or'1'='1",
    ...(credentials === token
      ? []
      : [`Service ${token}`, `Service ${credentials.slice(0, -1)}`, `Service ${token} ${"0".repeat(64)}`]),
  ]);
  return { headers: [["Authorization", false_]], isAuthentic: false };
}

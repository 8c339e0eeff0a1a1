import type { Actor } from "./actors.ts";
import { composeBatch } from "./batches.ts";
import { settingFor } from "./callers.ts";
import { type Content, compose, type Mood } from "./compose.ts";
import { isDownload, type Operation } from "./document.ts";
import { encodeContent } from "./encoding.ts";
import { malform, oddHeaders } from "./oddities.ts";
import type { Prepared } from "./preparation.ts";
import type { Random } from "./random.ts";
import { type HeaderLine, writeRequest } from "./request.ts";
import { presentToken } from "./tokens.ts";
import { tusContent } from "./tus.ts";
import type { World } from "./world.ts";

/** A call that is ready to be sent. */
export interface Plan {
  readonly index: number;
  readonly operation: Operation;
  readonly mood: Mood;
  readonly caller: Actor | undefined;
  /** Whether its credentials are valid for this caller. */
  readonly isAuthentic: boolean;
  /** Whether it reads a file by a signed URL. */
  readonly isSigned: boolean;
  readonly method: string;
  readonly target: string;
  /** X-HTTP-Method-Override. */
  readonly override: string | undefined;
  readonly idempotencyKey: string | undefined;
  readonly content: Content;
  readonly bytes: Buffer;
  /** Whether it is invalid or oversized HTTP, which is refused before the operation is known. */
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
  const crossed = signed !== undefined && mood === "pointed" ? crossedWith(world, pathOf(signed), random) : undefined;
  const method = isDownload(operation) && random.chance(0.1) ? "HEAD" : operation.method;
  const plainTarget = crossed ?? (signed === undefined ? encoded.target : pathOf(signed));
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
  const spoiled = malform(writeRequest({ method, target, headers, body }), mood, random);
  return {
    index,
    operation,
    mood,
    caller,
    isAuthentic: presented.isAuthentic && signed === undefined,
    isSigned: signed !== undefined && crossed === undefined,
    method,
    target,
    override: overrideOf(headers),
    idempotencyKey: operation.isKeyed ? onlyOne(headers, "Idempotency-Key") : undefined,
    content,
    ...spoiled,
  };
}

/** The token in the query, for players and pages that cannot send headers. */
function withToken(target: string, token: string): string {
  return `${target}${target.includes("?") ? "&" : "?"}accessToken=${token}`;
}

function onlyOne(headers: readonly HeaderLine[], wanted: string): string | undefined {
  const [first, ...others] = headers.filter(([name]) => name === wanted);
  return others.length === 0 ? first?.[1] : undefined;
}

/** As the server sees it: repeated headers are joined by a comma. */
function overrideOf(headers: readonly HeaderLine[]): string | undefined {
  const given = headers.filter(([name]) => name === "X-HTTP-Method-Override").map(([, value]) => value);
  return given.length === 0 ? undefined : given.join(", ");
}

/** The signed URL of the caller's own file, with the id of another user's file in it. */
function crossedWith(world: World, target: string, random: Random): string | undefined {
  const prefix = /\/([a-z]{3})_\w{26}\//.exec(target)?.[1] ?? "";
  const other = random.pick(world.bystanders.flatMap(({ sealed }) => sealed.of(prefix)));
  return other && target.replace(/[a-z]{3}_\w{26}/, other);
}

function pathOf(url: string): string {
  return url.replace(/^https?:\/\/[^/]+/, "");
}

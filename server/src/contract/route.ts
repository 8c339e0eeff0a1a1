import type { OperatorRole } from "../config/roles.ts";
import type { ErrorCondition } from "../lib/errors.ts";
import type { Call, StoredUpload, UploadedPart } from "./call.ts";
import { ArchiveResult, FileResult } from "./file-result.ts";
import type { ApplicationPolicy } from "./policy.ts";
import type { ObjectSchema, Schema, Static } from "./schema.ts";
import { isLocationInput } from "./sent-locations.ts";
import { StreamResult } from "./stream-result.ts";
import type { Tag } from "./tags.ts";
import { Text } from "./wire.ts";

/** The clients that may call: any token of an application, or only user tokens. */
export type ClientKind = "device" | "user";

/** The callers that an operation accepts: anyone without a token, a client, or an operator. */
export type CallerKind = "anyone" | ClientKind | "operator";

/** Operations that are limited per address, because they are expensive to serve or attractive to guess at. */
export type AddressLimit = "registrations" | "signUps" | "logins" | "passwordResets" | "operatorSignIns" | "downloads";

/** The authenticated caller: the token's contents, with revocations applied. */
export interface Caller {
  readonly applicationId: string;
  readonly applicationKeyId: string;
  readonly deviceId: string;
  /** Undefined for a device token. */
  readonly userId: string | undefined;
  /** The same for all successors of a token. */
  readonly tokenId: string;
  /** How many renewals have led to this user token; absent if none. */
  readonly renewals?: number;
  /** Set for a device or user that an operator created to try calls, and for users who sign in on such a device. */
  readonly isTest?: true;
  readonly tokenExpiresAt: number;
  /** Of the application. */
  readonly policy: ApplicationPolicy;
  /** The versions under which the token was issued; tokens derived from this one inherit them. */
  readonly versions: { readonly application: number; readonly key: number; readonly device: number };
}

export interface UserCaller extends Caller {
  readonly userId: string;
}

/** An authenticated operator with a session token; belongs to no application. */
export interface OperatorCaller {
  readonly operatorId: string;
  readonly name: string;
  readonly role: OperatorRole;
  /** All operations are refused except those with `withFirstPassword`. */
  readonly mustChangePassword: boolean;
  /** The digest of the token. */
  readonly sessionId: string;
  /** Set for a session in a cookie whose password was given more than ten minutes ago. */
  readonly mustProve?: true;
}

export type AnyCaller = Caller | OperatorCaller;

export type CallerOf<Kind extends CallerKind> = Kind extends "user"
  ? UserCaller
  : Kind extends "device"
    ? Caller
    : Kind extends "operator"
      ? OperatorCaller
      : undefined;

/** The input of a handler, read and validated. */
export interface RouteInput<Kind extends CallerKind, Path, Parameters, File = unknown> {
  readonly caller: CallerOf<Kind>;
  /** The result of {@link RouteDeclaration.upload}. */
  readonly file: File;
  readonly path: Path;
  readonly parameters: Parameters;
  readonly call: Call;
}

/** The input of a request with a `signature` in place of a token. */
export type SignedInput<Path, Parameters> = Omit<RouteInput<CallerKind, Path, Parameters>, "caller">;

/** The interface of an operation, without its handler. The path has its parameters in braces. */
export interface RouteInterface<
  Kind extends CallerKind,
  Path extends ObjectSchema,
  Parameters extends ObjectSchema,
  Result extends Schema,
> {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  /** Unique name of the operation, verb first: `createCheckin`. */
  readonly operation: string;
  /** A summary in one line. */
  readonly summary: string;
  /** Further information that a caller needs. */
  readonly description: string;
  readonly tag: Tag;
  readonly caller: Kind;
  /** The minimum role of an operator. By default, viewers may read and editors may change. */
  readonly role?: OperatorRole;
  /** A higher role, for calls without this parameter. */
  readonly roleWithout?: { readonly parameter: string; readonly role: OperatorRole };
  /** Operators who must change their first password may call it. */
  readonly withFirstPassword?: true;
  /**
   * `recent`: a session in a cookie requires that the password was entered in the last ten minutes
   * (spec/console#recent-password).
   */
  readonly proof?: "recent";
  /** Applies a rate limit per address as well. */
  readonly addressLimit?: AddressLimit;
  /** False for operations that a batch cannot contain. */
  readonly isBatchable?: false;
  /** True when answered over plain HTTP even if HTTPS is required: for probes, which exchange no secrets. */
  readonly allowsPlainHttp?: true;
  readonly pathParameters?: Path;
  /** From the query (GET), the body (POST, PUT, PATCH) or both (DELETE). */
  readonly parameters?: Parameters;
  /** The parameter that says when a request was sent: a repeat with an idempotency key may have another one. */
  readonly sendingTime?: keyof Static<Parameters> & string;
  readonly status: 200 | 201;
  /** The handler may return a {@link Created} instead of its result, for status 201. */
  readonly mayCreate?: true;
  readonly result: Result;
  /** The conditions of this operation, in addition to those that `conditionsOf` derives. */
  readonly errors: readonly ErrorCondition[];
}

/** Declares one operation: its interface and its handler. */
export interface RouteDeclaration<
  Kind extends CallerKind = CallerKind,
  Path extends ObjectSchema = ObjectSchema,
  Parameters extends ObjectSchema = ObjectSchema,
  Result extends Schema = Schema,
  File extends StoredUpload = StoredUpload,
> extends RouteInterface<Kind, Path, Parameters, Result> {
  /** For operations that take a file, as multipart/form-data: the parameters are the other parts. */
  readonly upload?: {
    /** Stores the bytes while they arrive; the parameters may come before or after them. */
    store(caller: CallerOf<Kind>, part: UploadedPart, call: Call): Promise<File>;
  };
  /**
   * For operations that return bytes, a {@link FileResult}: they also support HEAD, and accept the token as
   * `accessToken` in the query.
   */
  readonly download?: {
    /** Answers requests with a `signature` in the query, which need no token. */
    handleSigned(input: SignedInput<Static<Path>, Static<Parameters>>): Promise<FileResult>;
  };
  /** For streams: they also accept a `ticket` in the query, which needs no token and no signature. */
  readonly ticket?: TicketRule;
  handle(input: RouteInput<Kind, Static<Path>, Static<Parameters>, File>): Promise<Handled<Static<Result>>>;
}

/**
 * The operation that a ticket opens, and the answer for browsers that would otherwise give up, because they do not
 * repeat a refused call.
 */
export interface TicketRule {
  /** @throws ApiError */
  open(ticket: string): Promise<Caller>;
  /** Replaces a temporary refusal. */
  busy(): { readonly headers: Readonly<Record<string, string>>; readonly body: Buffer };
}

export type Handled<Result> = Result | Created<Result> | RawResult | FileResult | ArchiveResult | StreamResult;

/** The result of an operation that created an object instead of changing one. */
export class Created<Result> {
  readonly result: Result;

  constructor(result: Result) {
    this.result = result;
  }
}

/** A result that is already JSON. */
export class RawResult {
  readonly json: string;

  constructor(json: string) {
    this.json = json;
  }
}

/** Whether the handler returned an object of its contract. */
export function isResult<Result>(handled: Handled<Result>): handled is Result {
  return ![Created, RawResult, FileResult, ArchiveResult, StreamResult].some((other) => handled instanceof other);
}

/** A declaration, after its types have been checked against its handler. */
export type Route = RouteDeclaration;

/** Declares an operation; the types of the handler's input and result are inferred from the schemas. */
export function route<
  Kind extends CallerKind,
  Path extends ObjectSchema,
  Parameters extends ObjectSchema,
  Result extends Schema,
  File extends StoredUpload = StoredUpload,
>(declaration: RouteDeclaration<Kind, Path, Parameters, Result, File>): Route {
  // The transport reads the input by these schemas, so erasing their types is sound.
  return declaration as unknown as Route;
}

/** Whether a retry with an idempotency key gets the stored response (spec/idempotency#replays). */
export function takesIdempotencyKey({ method, caller }: Route): boolean {
  return method !== "GET" && (caller === "device" || caller === "user");
}

export const IdempotencyKey = Text({ minLength: 1, maxLength: 255 });

/** Whether an operation belongs to the operators, sign-in included. */
export function isForOperators({ path }: Route): boolean {
  return path.startsWith("/_/api/");
}

/** The role that an operator needs for an operation. */
export function roleOf({ method, role }: Route): OperatorRole {
  return role ?? (method === "GET" ? "viewer" : "editor");
}

/** All conditions that an operation may answer with; used for `docs/build/errors.md`, OpenAPI and the tests. */
export function conditionsOf(route: Route): ErrorCondition[] {
  const conditions = new Set<ErrorCondition>(route.errors);
  if (route.caller === "operator") {
    conditions.add("AuthFailed");
    if (route.withFirstPassword !== true) conditions.add("AuthPasswordChangeRequired");
    if (roleOf(route) !== "viewer" || route.roleWithout !== undefined) conditions.add("ObjectPermissionDenied");
    if (route.proof !== undefined) conditions.add("AuthReauthenticationRequired");
  } else if (route.caller !== "anyone") {
    conditions.add("AuthAccessTokenInvalid").add("AuthAPICallDisabledByDeveloper").add("AuthUserAccountDisabled");
    conditions.add("AuthSignatureInvalid").add("ParameterOutOfRange"); // for a rehearsal that is not possible
  }
  if (!route.allowsPlainHttp) conditions.add("RateLimitExceeded"); // only health checks have no limit
  if (route.caller === "user") conditions.add("AuthUserAccessTokenRequired");
  const shapes = [route.pathParameters, route.parameters].filter((shape) => shape !== undefined);
  if (shapes.length > 0) conditions.add("ParameterIncorrectFormat").add("ParameterOutOfRange");
  if (shapes.some((shape) => shape.required.length > 0)) conditions.add("ParameterMissingRequiredValue");
  if (Object.values(route.parameters?.properties ?? {}).some(isLocationInput)) conditions.add("ItemDoesNotExist");
  if (route.method !== "GET")
    conditions.add("RequestTooLarge").add("ParameterIncorrectFormat").add("ContentEncodingUnsupported");
  if (route.upload !== undefined) conditions.add("FileUploadFailed");
  if (route.download !== undefined) conditions.add("AuthSignatureInvalid").add("RangeOutsideFile");
  if (takesIdempotencyKey(route)) {
    conditions.add("IdempotencyKeyReused").add("ParameterOutOfRange"); // for an invalid or reused key
  }
  if (!route.allowsPlainHttp) conditions.add("HttpsRequired");
  conditions.add("ServiceUnavailable").add("InternalError");
  return [...conditions];
}

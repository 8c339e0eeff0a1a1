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

/** The tokens that an operation accepts: all tokens of an application, or only user tokens. */
export type ClientKind = "device" | "user";

/** The callers that an operation accepts: anyone (without a token), a client, or an operator. */
export type CallerKind = "anyone" | ClientKind | "operator";

/** The rate limits per address, for operations that are expensive or accept secrets that could be guessed. */
export type AddressLimit = "registrations" | "signUps" | "logins" | "passwordResets" | "operatorSignIns" | "downloads";

/** An authenticated caller: the contents of a token that has not been revoked. */
export interface Caller {
  readonly applicationId: string;
  readonly applicationKeyId: string;
  readonly deviceId: string;
  /** Undefined for a device token. */
  readonly userId: string | undefined;
  /** All renewals of a token have the same id. */
  readonly tokenId: string;
  /** The number of renewals that preceded this user token; absent for 0. */
  readonly renewals?: number;
  /** Set for a device or user that an operator created to try calls, and for users who sign in on such a device. */
  readonly isTest?: true;
  readonly tokenExpiresAt: number;
  /** The policy of the application. */
  readonly policy: ApplicationPolicy;
  /** The versions under which the token was issued; derived tokens inherit them. */
  readonly versions: { readonly application: number; readonly key: number; readonly device: number };
}

export interface UserCaller extends Caller {
  readonly userId: string;
}

/** An authenticated operator. Operators belong to no application. */
export interface OperatorCaller {
  readonly operatorId: string;
  readonly name: string;
  readonly role: OperatorRole;
  /** If true, only operations with `withFirstPassword` are allowed. */
  readonly mustChangePassword: boolean;
  /** The digest of the session token. */
  readonly sessionId: string;
  /** Set for a session in a cookie whose password was entered more than ten minutes ago. */
  readonly mustProve?: true;
}

export type AnyCaller = Caller | OperatorCaller;

export function isOperator(caller: AnyCaller | undefined): caller is OperatorCaller {
  return caller !== undefined && "operatorId" in caller;
}

export function isClient(caller: AnyCaller | undefined): caller is Caller {
  return caller !== undefined && "applicationId" in caller;
}

export type CallerOf<Kind extends CallerKind> = Kind extends "user"
  ? UserCaller
  : Kind extends "device"
    ? Caller
    : Kind extends "operator"
      ? OperatorCaller
      : undefined;

/** The validated input of a handler. */
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

/** The interface of an operation, without its handler. */
export interface RouteInterface<
  Kind extends CallerKind,
  Path extends ObjectSchema,
  Parameters extends ObjectSchema,
  Result extends Schema,
> {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  /** The unique name of the operation, verb first: `createCheckin`. */
  readonly operation: string;
  /** A summary in one line. */
  readonly summary: string;
  /** Further information that a caller needs. */
  readonly description: string;
  readonly tag: Tag;
  readonly caller: Kind;
  /** The minimum role of an operator. By default, `viewer` for GET and `editor` for other verbs. */
  readonly role?: OperatorRole;
  /** The minimum role for calls without this parameter, if it is higher. */
  readonly roleWithout?: { readonly parameter: string; readonly role: OperatorRole };
  /** Whether operators who must change their first password may call it. */
  readonly withFirstPassword?: true;
  /**
   * `recent`: a session in a cookie requires that the password was entered in the last ten minutes
   * (spec/console#recent-password).
   */
  readonly proof?: "recent";
  /** Adds a rate limit per address. */
  readonly addressLimit?: AddressLimit;
  /** False for operations that a batch cannot contain. */
  readonly isBatchable?: false;
  /** Whether it answers over plain HTTP even with REQUIRE_HTTPS: for probes, which exchange no secrets. */
  readonly allowsPlainHttp?: true;
  readonly pathParameters?: Path;
  /** From the query (GET), the body (POST, PUT, PATCH) or both (DELETE). */
  readonly parameters?: Parameters;
  /**
   * The parameter with the time at which a request was sent, which may differ when a client retries with an idempotency
   * key.
   */
  readonly sendingTime?: keyof Static<Parameters> & string;
  readonly status: 200 | 201;
  /** The handler may return a {@link Created} instead of its result, for status 201. */
  readonly mayCreate?: true;
  readonly result: Result;
  /** The conditions of the operation that `conditionsOf` does not derive. */
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
  /** For operations that receive a file, as multipart/form-data, whose other parts are the parameters. */
  readonly upload?: {
    /** Stores the bytes while they arrive; the parameters may come before or after them. */
    store(caller: CallerOf<Kind>, part: UploadedPart, call: Call): Promise<File>;
  };
  /**
   * For operations that return a {@link FileResult}: they also support HEAD, and accept the token as `accessToken` in
   * the query.
   */
  readonly download?: {
    /** Answers requests with a `signature` in the query, which need no token. */
    handleSigned(input: SignedInput<Static<Path>, Static<Parameters>>): Promise<FileResult>;
  };
  /** For streams, which also accept a `ticket` in the query, without a token and a signature. */
  readonly ticket?: TicketRule;
  handle(input: RouteInput<Kind, Static<Path>, Static<Parameters>, File>): Promise<Handled<Static<Result>>>;
}

/** The tickets of an operation, and its response when it is busy, for browsers that do not retry after a refusal. */
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

/** A result that has already been written as JSON. */
export class RawResult {
  readonly json: string;

  constructor(json: string) {
    this.json = json;
  }
}

/** Whether the handler returned a plain result, and not one of the classes. */
export function isResult<Result>(handled: Handled<Result>): handled is Result {
  return ![Created, RawResult, FileResult, ArchiveResult, StreamResult].some((other) => handled instanceof other);
}

/** A declaration whose types have been checked against its handler. */
export type Route = RouteDeclaration;

/** Declares an operation; the types of the handler's input and result are inferred from the schemas. */
export function route<
  Kind extends CallerKind,
  Path extends ObjectSchema,
  Parameters extends ObjectSchema,
  Result extends Schema,
  File extends StoredUpload = StoredUpload,
>(declaration: RouteDeclaration<Kind, Path, Parameters, Result, File>): Route {
  // Erasing the types is sound, because the transport reads the input by these schemas.
  return declaration as unknown as Route;
}

/** Whether a retry with an idempotency key gets the stored response (spec/idempotency#replays). */
export function takesIdempotencyKey({ method, caller }: Route): boolean {
  return method !== "GET" && (caller === "device" || caller === "user");
}

export const IdempotencyKey = Text({ minLength: 1, maxLength: 255 });

/** Whether an operation is for operators, including their sign-in. */
export function isForOperators({ path }: Route): boolean {
  return path.startsWith("/_/api/");
}

/** Returns the role that an operator needs for an operation. */
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
    conditions.add("AuthSignatureInvalid").add("ParameterOutOfRange"); // for an invalid rehearsal
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

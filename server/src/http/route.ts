import type { ErrorCondition } from "../errors.ts";
import type { OperatorRole } from "../lib/roles.ts";
import type { Call, StoredUpload, UploadedPart } from "./call.ts";
import type { ArchiveResult, FileResult } from "./file-result.ts";
import type { ApplicationPolicy } from "./policy.ts";
import type { ObjectSchema, Schema, Static } from "./schema.ts";
import { Text } from "./wire.ts";

/** Who may call of the clients: the holder of any token of an application, or of a user token. */
export type ClientKind = "device" | "user";

/** Who may call: nobody in particular, a client, or who runs the deployment. */
export type CallerKind = "anyone" | ClientKind | "operator";

/** What one address may do only so often, because it is cheap to ask for and not to do, or is worth guessing. */
export type AddressLimit = "registrations" | "signUps" | "logins" | "passwordResets" | "operatorSignIns" | "downloads";

/** Who is calling: what the token says, and what the database has not taken back. */
export interface Caller {
  readonly applicationId: string;
  readonly applicationKeyId: string;
  readonly deviceId: string;
  /** Undefined for a device token. */
  readonly userId: string | undefined;
  readonly tokenId: string;
  readonly tokenExpiresAt: number;
  /** Of the application. */
  readonly policy: ApplicationPolicy;
  /** The versions that the token was issued under; a token issued from this one inherits them. */
  readonly versions: { readonly application: number; readonly key: number; readonly device: number };
}

export interface UserCaller extends Caller {
  readonly userId: string;
}

/** Who runs the deployment, with the token of a session; of no application. */
export interface OperatorCaller {
  readonly operatorId: string;
  readonly name: string;
  readonly role: OperatorRole;
  /** The digest of the token. */
  readonly sessionId: string;
}

export type AnyCaller = Caller | OperatorCaller;

type CallerOf<Kind extends CallerKind> = Kind extends "user"
  ? UserCaller
  : Kind extends "device"
    ? Caller
    : Kind extends "operator"
      ? OperatorCaller
      : undefined;

/** What a handler gets: everything read and checked. */
export interface RouteInput<Kind extends CallerKind, Path, Parameters, File = unknown> {
  readonly caller: CallerOf<Kind>;
  /** What {@link RouteDeclaration.upload} has stored. */
  readonly file: File;
  readonly path: Path;
  readonly parameters: Parameters;
  readonly call: Call;
}

/** One operation: what the wire says and what happens. The path has its parameters in braces. */
export interface RouteDeclaration<
  Kind extends CallerKind = CallerKind,
  Path extends ObjectSchema = ObjectSchema,
  Parameters extends ObjectSchema = ObjectSchema,
  Result extends Schema = Schema,
  File extends StoredUpload = StoredUpload,
> {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  /** Unique name of the operation, verb first: `createCheckin`. */
  readonly operation: string;
  readonly summary: string;
  readonly tag: string;
  readonly caller: Kind;
  /** What an operator must be at least. Who may only view reads, and editors change, where nothing else is said. */
  readonly role?: OperatorRole;
  /** Counts the calls of one address as well. */
  readonly addressLimit?: AddressLimit;
  /** False for what a batch cannot hold. */
  readonly isBatchable?: false;
  /** True for what is answered in clear too where https is required: probes of the machinery, which bring and get no secret. */
  readonly mayBeClear?: true;
  readonly pathParameters?: Path;
  /** From the query (GET), the body (POST, PUT, PATCH) or both (DELETE). */
  readonly parameters?: Parameters;
  /** For what takes a file, as multipart/form-data: its parameters are the other parts. */
  readonly upload?: {
    /** Stores the bytes while they arrive; the parameters come before them, or after. */
    store(caller: CallerOf<Kind>, part: UploadedPart, call: Call): Promise<File>;
  };
  /** For what answers bytes, a {@link FileResult}: then HEAD is taken too, and the token from `accessToken` of the query. */
  readonly download?: {
    /** Answers who brings a `signature` in the query, and needs no token. */
    handleSigned(input: Omit<RouteInput<Kind, Static<Path>, Static<Parameters>>, "caller">): Promise<FileResult>;
  };
  readonly status: 200 | 201;
  /** The handler may answer a {@link Created} in place of its result, which is then a 201. */
  readonly mayCreate?: true;
  readonly result: Result;
  /** The conditions that this operation adds to those that `conditionsOf` finds by itself. */
  readonly errors: readonly ErrorCondition[];
  handle(input: RouteInput<Kind, Static<Path>, Static<Parameters>, File>): Promise<Handled<Static<Result>>>;
}

type Handled<Result> = Result | Created<Result> | RawResult | FileResult | ArchiveResult;

/** The result of an operation that has made what it else changes. */
export class Created<Result> {
  readonly result: Result;

  constructor(result: Result) {
    this.result = result;
  }
}

/** A result that is JSON already. */
export class RawResult {
  readonly json: string;

  constructor(json: string) {
    this.json = json;
  }
}

/** A declaration whose shapes have been checked against its handler. */
export type Route = RouteDeclaration;

/** Declares an operation, with the types of the handler's input and result inferred from the schemas. */
export function route<
  Kind extends CallerKind,
  Path extends ObjectSchema,
  Parameters extends ObjectSchema,
  Result extends Schema,
  File extends StoredUpload = StoredUpload,
>(declaration: RouteDeclaration<Kind, Path, Parameters, Result, File>): Route {
  // The transport reads the input by these very schemas, so forgetting their types is sound.
  return declaration as unknown as Route;
}

/** Whether a repeat can get the first reply again (surface.md section 12). */
export function takesIdempotencyKey({ method, caller }: Route): boolean {
  return method !== "GET" && (caller === "device" || caller === "user");
}

export const IdempotencyKey = Text({ minLength: 1, maxLength: 255 });

/** The role that an operation of operators takes. */
export function roleOf({ method, role }: Route): OperatorRole {
  return role ?? (method === "GET" ? "viewer" : "editor");
}

/** Every condition that an operation may answer with: `docs/errors.md`, OpenAPI and the tests hold it to them. */
export function conditionsOf(route: Route): ErrorCondition[] {
  const conditions = new Set<ErrorCondition>(route.errors);
  if (route.caller === "operator") {
    conditions.add("AuthFailed");
    if (roleOf(route) !== "viewer") conditions.add("ObjectPermissionDenied");
  } else if (route.caller !== "anyone") {
    conditions.add("AuthAccessTokenInvalid").add("AuthAPICallDisabledByDeveloper").add("AuthUserAccountDisabled");
    conditions.add("AuthSignatureInvalid");
  }
  if (route.caller !== "anyone" || route.addressLimit !== undefined) conditions.add("RateLimitExceeded");
  if (route.caller === "user") conditions.add("AuthUserAccessTokenRequired");
  const shapes = [route.pathParameters, route.parameters].filter((shape) => shape !== undefined);
  if (shapes.length > 0) conditions.add("ParameterIncorrectFormat").add("ParameterOutOfRange");
  if (shapes.some((shape) => shape.required.length > 0)) conditions.add("ParameterMissingRequiredValue");
  if (route.method !== "GET") conditions.add("RequestTooLarge").add("ParameterIncorrectFormat");
  if (route.upload !== undefined) conditions.add("FileUploadFailed");
  if (route.download !== undefined) conditions.add("AuthSignatureInvalid").add("RangeOutsideFile");
  if (takesIdempotencyKey(route)) {
    conditions.add("IdempotencyKeyReused").add("ParameterOutOfRange"); // of the idempotency key
  }
  if (!route.mayBeClear) conditions.add("HttpsRequired");
  conditions.add("ServiceUnavailable").add("InternalError");
  return [...conditions];
}

import type { CallerKind } from "../contract/route.ts";
import { type ErrorCondition, errorCatalogue, errorRow } from "../lib/errors.ts";
import { ErrorEnvelope } from "./envelope.ts";
import type { Json, SchemaComponents } from "./openapi-schemas.ts";
import { rehearsedHeader } from "./rehearsals.ts";

/** Describes the rows of the error catalogue, to which `x-errors` refers. */
export function describeCatalogue(): Json {
  return conditions.map((condition) => {
    const { error, errorNumber, status, when, remedy } = errorRow(condition);
    return { condition, name: error, number: errorNumber, status, when, remedy };
  });
}

const ofProcess = ["ServiceUnavailable", "InternalError"] as const;
const ofClients = [
  ...["AuthAccessTokenInvalid", "AuthAPICallDisabledByDeveloper", "AuthUserAccountDisabled", "AuthSignatureInvalid"],
  ...["RateLimitExceeded", "HttpsRequired", "ParameterOutOfRange", "ParameterIncorrectFormat"],
  ...ofProcess,
] as const;

/** The conditions of nearly every operation for a kind of caller, which the document lists once. */
export const callerConditions: Readonly<Record<CallerKind, readonly ErrorCondition[]>> = {
  anyone: ofProcess,
  device: ofClients,
  user: [...ofClients, "AuthUserAccessTokenRequired"],
  operator: [
    ...(["AuthFailed", "AuthPasswordChangeRequired", "RateLimitExceeded", "HttpsRequired"] as const),
    ...(["ParameterMissingRequiredValue", "ParameterOutOfRange", "ParameterIncorrectFormat"] as const),
    ...ofProcess,
  ],
};

/** Describes the conditions of an operation as a difference to `callerConditions`. */
export function describeConditions(caller: CallerKind, declared: readonly ErrorCondition[]): Record<string, Json> {
  const ofCaller = callerConditions[caller];
  const excluded = ofCaller.filter((condition) => !declared.includes(condition));
  return {
    "x-errors": declared.filter((condition) => !ofCaller.includes(condition)),
    ...(excluded.length > 0 && { "x-excluded-errors": excluded }),
  };
}

/** The failure response of every operation; `x-errors` lists the possible conditions. */
export const failureReference = { default: { $ref: "#/components/responses/default" } };

/** Describes the response of {@link failureReference}, and the errors of each status. */
export function describeFailures({ describe }: SchemaComponents): Record<string, Json> {
  const content = { "application/json": { schema: describe(ErrorEnvelope) } };
  const statuses = new Set(conditions.map((condition) => errorRow(condition).status));
  return {
    default: { description: "A failure.", headers: failureHeaders, content },
    ...Object.fromEntries(
      [...statuses].map((status): [number, Json] => [status, { description: namesOf(status), content }]),
    ),
  };
}

function namesOf(status: number): string {
  const rows = conditions.map(errorRow).filter((row) => row.status === status);
  return [...new Set(rows.map(({ error, errorNumber }) => `\`${error}\` ${errorNumber}`))].join(", ");
}

const failureHeaders: Json = {
  "Retry-After": {
    description: "With 429 and 503: the number of seconds to wait before the next attempt.",
    schema: { type: "integer", minimum: 0 },
  },
  [rehearsedHeader]: {
    description: "The failure that the client rehearses with Rollcall-Rehearse.",
    schema: { type: "string" },
  },
};

const conditions = Object.keys(errorCatalogue) as ErrorCondition[]; // Object.keys returns string[]

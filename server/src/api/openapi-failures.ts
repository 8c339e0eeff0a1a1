import { type ErrorCondition, errorCatalogue, errorRow } from "../errors.ts";
import { ErrorEnvelope } from "./envelope.ts";
import type { Json, SchemaComponents } from "./openapi-schemas.ts";

/** Every row of the error catalogue, which the `x-errors` of an operation name. */
export function describeCatalogue(): Json {
  return conditions.map((condition) => {
    const { error, errorNumber, status, when, remedy } = errorRow(condition);
    return { condition, name: error, number: errorNumber, status, when, remedy };
  });
}

/** References to the failures of an operation, by their status. */
export function describeFailureReferences(declared: readonly ErrorCondition[]): Record<string, Json> {
  const statuses = [...new Set(declared.map((condition) => errorRow(condition).status))].sort((a, b) => a - b);
  return Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/${status}` }]));
}

/** The failures that {@link describeFailureReferences} names: one for each status that the operations declare. */
export function describeFailures(
  declared: Iterable<ErrorCondition>,
  { describe }: SchemaComponents,
): Record<string, Json> {
  const statuses = new Set([...declared].map((condition) => errorRow(condition).status));
  return Object.fromEntries(
    [...statuses].sort((a, b) => a - b).map((status) => [status, describeFailure(status, describe)]),
  );
}

function describeFailure(status: number, describe: SchemaComponents["describe"]): Json {
  const rows = conditions.map(errorRow).filter((row) => row.status === status);
  return {
    description: rows.map(({ error, errorNumber, when }) => `- \`${error}\` ${errorNumber}: ${when}`).join("\n"),
    ...(rows.some(({ retryAfterSeconds }) => retryAfterSeconds !== undefined) && {
      headers: { "Retry-After": retryAfter },
    }),
    content: { "application/json": { schema: describe(ErrorEnvelope) } },
  };
}

const retryAfter = {
  description: "The number of seconds to wait before the next attempt.",
  schema: { type: "integer", minimum: 0 },
};

const conditions = Object.keys(errorCatalogue) as ErrorCondition[]; // Object.keys forgets the key type

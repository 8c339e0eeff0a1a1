import { ApiError } from "../lib/errors.ts";
import { refuseFormat } from "../lib/parsed.ts";
import type { RawParameters } from "./call.ts";
import { hasPageToken } from "./paging.ts";
import { isOptional, type ObjectSchema, type Schema, type Static } from "./schema.ts";
import { readWireValue, refusalOf } from "./wire.ts";

/**
 * Compiles the reader for the parameters of an operation (spec/transport#parameter-names): names match
 * case-insensitively; the documented spelling takes precedence over others, then the last one; null is absent; unknown
 * names are ignored; values are coerced by their wire format.
 *
 * The reader throws ApiError ParameterMissingRequiredValue, ParameterOutOfRange or ParameterIncorrectFormat, with the
 * documented spelling of the parameter. It adds unknown names to `unread`.
 */
export function compileParameters<Shape extends ObjectSchema>(
  shape: Shape,
): (raw: RawParameters, unread?: string[]) => Static<Shape> {
  const parameters = Object.entries(shape.properties).map(([name, schema], index) => ({
    name,
    schema,
    index,
    isRequired: !isOptional(schema),
    keepsEmpty: "x-keeps-empty" in schema,
  }));
  const byLowerCaseName = new Map(parameters.map((parameter) => [parameter.name.toLowerCase(), parameter]));
  for (const parameter of parameters) {
    const alias = parameter.schema["x-alias"];
    if (typeof alias === "string") byLowerCaseName.set(alias.toLowerCase(), parameter);
  }

  return (raw, unread) => {
    const values: unknown[] = new Array(parameters.length).fill(undefined);
    const isExact: boolean[] = [];
    for (const [sentName, value] of raw) {
      const parameter = byLowerCaseName.get(sentName.toLowerCase());
      if (parameter === undefined) unread?.push(sentName);
      if (parameter === undefined || value === null || value === undefined) continue;
      if (sentName === parameter.name) isExact[parameter.index] = true;
      else if (isExact[parameter.index] === true) continue;
      values[parameter.index] = value;
    }

    const token = byLowerCaseName.get("pagingtoken");
    if (token?.name === "pagingToken" && hasPageToken(values[token.index])) {
      for (const { index } of parameters) if (index !== token.index) values[index] = undefined;
    }

    const read: Record<string, unknown> = {};
    for (const { name, schema, index, isRequired, keepsEmpty } of parameters) {
      const value = values[index];
      if (value === undefined || (value === "" && !keepsEmpty)) {
        if (isRequired)
          throw new ApiError("ParameterMissingRequiredValue", `${name} is required.`, { parameter: name });
        continue;
      }
      read[name] = readParameter(name, schema, value);
    }
    return read as Static<Shape>; // every required property is present, and its schema has read every value
  };
}

/** Errors of ids do not name the parameter, because clients compare their exact body (spec/transport#ids). */
function isId(schema: Schema): boolean {
  return schema["x-wire"] === "id" || schema["x-wire"] === "objectId";
}

/**
 * Reads one value by its wire format.
 *
 * @throws ApiError ParameterOutOfRange or ParameterIncorrectFormat, naming the parameter; for credentials, the
 * condition that the schema names
 */
export function readParameter(name: string, schema: Schema, value: unknown): unknown {
  const isUndecodable = typeof value === "symbol" && schema["x-wire"] !== "raw"; // see `undecodable`
  const parsed = isUndecodable ? refuseFormat("has escapes that are not UTF-8") : readWireValue(schema, value);
  if (!("problem" in parsed)) return parsed.value;
  const refusal = refusalOf(schema, value);
  if (refusal !== undefined) throw new ApiError(refusal);
  throw new ApiError(
    parsed.problem === "range" ? "ParameterOutOfRange" : "ParameterIncorrectFormat",
    parsed.message ?? `${name} ${parsed.rule}.`,
    isId(schema) || parsed.message !== undefined ? {} : { parameter: name },
  );
}

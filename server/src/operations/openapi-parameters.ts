import type { Json } from "./openapi-schemas.ts";

/** The OpenAPI description of a parameter. */
export type DescribedParameter = {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Json;
};

/** The OpenAPI description of an operation, whose parameters may become references. */
export interface DescribedOperation {
  readonly operationId: string;
  readonly parameters?: readonly DescribedParameter[];
  readonly [field: string]: unknown;
}

interface Shared {
  readonly name: string;
  readonly parameter: DescribedParameter;
}

/**
 * Finds the parameters that several operations share. Of different parameters with one name, the most frequent one has
 * it, and the name of their first operation is added to the others.
 */
export function findShared(operations: readonly DescribedOperation[]): ReadonlyMap<string, Shared> {
  const uses = new Map<string, { parameter: DescribedParameter; first: string; count: number }>();
  for (const { operationId, parameters = [] } of operations) {
    for (const parameter of parameters) {
      const text = JSON.stringify(parameter);
      const use = uses.get(text);
      if (use === undefined) uses.set(text, { parameter, first: operationId, count: 1 });
      else use.count += 1;
    }
  }
  const taken = new Set<string>();
  const shared = [...uses].filter(([, { count }]) => count > 1).sort(([, a], [, b]) => b.count - a.count);
  return new Map(
    shared.map(([text, { parameter, first }]) => {
      const name = taken.has(parameter.name) ? `${parameter.name}.${first}` : parameter.name;
      taken.add(name);
      return [text, { name, parameter }];
    }),
  );
}

/** Replaces the shared parameters of an operation by references. */
export function referToShared(operation: DescribedOperation, shared: ReadonlyMap<string, Shared>): object {
  const { parameters } = operation;
  if (parameters === undefined) return operation;
  const referred = parameters.map((parameter) => {
    const found = shared.get(JSON.stringify(parameter));
    return found === undefined ? parameter : { $ref: `#/components/parameters/${found.name}` };
  });
  return { ...operation, parameters: referred };
}

/** Describes the components that {@link referToShared} refers to. */
export function describeShared(shared: ReadonlyMap<string, Shared>): Record<string, Json> {
  const entries = [...shared.values()].map(({ name, parameter }): [string, Json] => [name, { ...parameter }]);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

import type { AnswerDocument } from "./answer-judge.ts";

/** @returns the id of the operation at a path without its query; undefined if there is none */
export type FindOperation = (method: string, path: string) => string | undefined;

/** Finds operations as the service does: literal segments of a path win over parameters. */
export function createOperationFinder({ paths }: AnswerDocument): FindOperation {
  const routes = Object.entries(paths).flatMap(([template, methods]) =>
    Object.entries(methods).map(([method, { operationId }]) => ({
      operationId,
      method: method.toUpperCase(),
      literals: template.replaceAll(/\{\w+\}/g, "").length,
      pattern: new RegExp(`^${template.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "[^/]+")}$`),
    })),
  );
  return (method, path) => {
    const fitting = routes.filter((route) => route.method === method && route.pattern.test(path));
    return fitting.sort((a, b) => b.literals - a.literals)[0]?.operationId;
  };
}

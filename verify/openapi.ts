import type { Answer } from "./client.ts";
import { expectThat, isObject } from "./expect.ts";
import { shared } from "./world.ts";

export const verbs = ["get", "post", "put", "patch", "delete"];

function documentAt(path: string) {
  return shared(async (world): Promise<Answer> => {
    const answer = await world.call(`GET ${path}`);
    expectThat(answer, answer.status === 200 && isObject(answer.body), "status 200 and a JSON object");
    return answer;
  });
}

/** The answers with the deployment's OpenAPI documents, for clients and for operators. */
export const openapi = documentAt("/_/openapi.json");
export const openapiOfOperators = documentAt("/_/openapi.operators.json");

/** Lists the operations of the document, such as `GET /users/me`. */
export function operationsOf(document: Answer["body"]): string[] {
  return Object.entries<object>(document.paths).flatMap(([path, item]) =>
    Object.keys(item)
      .filter((verb) => verbs.includes(verb))
      .map((verb) => `${verb.toUpperCase()} ${path}`),
  );
}

import { shared } from "./check.ts";
import type { Answer } from "./client.ts";
import { expectThat, isObject } from "./expect.ts";

export const verbs = ["get", "post", "put", "patch", "delete"];

/** The answer with the document of the deployment. */
export const openapi = shared(async (world): Promise<Answer> => {
  const answer = await world.call("GET /_/openapi.json");
  expectThat(answer, answer.status === 200 && isObject(answer.body), "status 200 and a JSON object");
  return answer;
});

/** `GET /users/me` for each operation of the document. */
export function operationsOf(document: Answer["body"]): string[] {
  return Object.entries<object>(document.paths).flatMap(([path, item]) =>
    Object.keys(item)
      .filter((verb) => verbs.includes(verb))
      .map((verb) => `${verb.toUpperCase()} ${path}`),
  );
}

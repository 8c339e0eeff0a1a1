import type { Answer } from "./client.ts";

/** A guarantee that does not hold. */
export class Failure extends Error {
  readonly request: string;
  readonly expected: string;
  readonly received: string;

  constructor(answer: Pick<Answer, "request">, expected: string, received: string) {
    super(`expected ${expected}, received ${received}`);
    this.name = "Failure";
    this.request = answer.request;
    this.expected = expected;
    this.received = received;
  }
}

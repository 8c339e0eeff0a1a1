/** A request that the server has answered. */
export interface AnsweredRequest {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly requestId: string;
}

const requestsMax = 1_000;

/** Collects the latest requests from the lines of a server's log. */
export function createRequestLog(): { readonly requests: readonly AnsweredRequest[]; add(line: string): void } {
  const requests: AnsweredRequest[] = [];
  return {
    requests,
    add(line) {
      const { method, path, status, request_id: requestId } = JSON.parse(line);
      if (method === undefined || status === undefined) return; // a line about another event
      requests.push({ method, path, status, requestId });
      if (requests.length > requestsMax) requests.shift();
    },
  };
}

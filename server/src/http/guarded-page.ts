import type { RouteTable } from "./route-table.ts";

/**
 * A page under `/_/` for a tool, such as Prometheus: protected by a secret, generated for each request, in its own
 * format.
 */
export interface GuardedPage {
  readonly path: string;
  /** The operation name in the log. */
  readonly operation: string;
  /** @throws ApiError AuthFailed */
  load(authorization: string | undefined): Promise<{ readonly contentType: string; readonly content: string }>;
}

export function mountGuardedPage(routes: RouteTable, { path, operation, load }: GuardedPage): void {
  routes.add(["GET", "HEAD"], path, {
    name: operation,
    async answer(exchange) {
      const { contentType, content } = await load(exchange.headers.authorization);
      exchange.setHeaders({ "content-type": contentType, "cache-control": "no-store" });
      exchange.send(200, content);
    },
  });
}

import type { IncomingHttpHeaders } from "node:http";
import type { ArrivingBytes } from "../contract/endpoint.ts";
import { jsonContentType } from "../operations/envelope.ts";
import { receiveBytes } from "./arriving-bytes.ts";
import { discardRest } from "./body.ts";
import type { Exchange } from "./exchange.ts";
import type { RouteTable } from "./route-table.ts";

/** A path for other servers, not for clients. It authenticates its calls itself; its errors use the envelope. */
export interface InternalEndpoint {
  /** The operation name in the log. */
  readonly operation: string;
  /** The prefix of its paths. */
  readonly path: string;
  /** The time that may pass without any data. */
  readonly silentMsMax: number;
  /** @throws ApiError */
  answer(call: InternalCall): Promise<InternalAnswer>;
}

export interface InternalCall {
  readonly requestId: string;
  /** The last segment of the path: any string. */
  readonly name: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: ArrivingBytes;
}

export interface InternalAnswer {
  readonly headers: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body: Buffer;
}

/** Adds an internal endpoint, which receives the raw body. */
export function mountInternalEndpoint(routes: RouteTable, endpoint: InternalEndpoint): void {
  async function receive({ id, path, headers, request }: Exchange): Promise<InternalAnswer> {
    const body = receiveBytes(request, endpoint.silentMsMax);
    const { name = "" } = path;
    try {
      return await endpoint.answer({ requestId: id, name, headers, body });
    } finally {
      body.end();
      await discardRest(request);
    }
  }

  routes.add(["POST"], `${endpoint.path}/{name}`, {
    name: endpoint.operation,
    readsBody: true,
    isUnlimited: true,
    async answer(exchange) {
      const { headers, body } = await receive(exchange);
      exchange.setHeaders({ ...headers, "content-type": jsonContentType, "cache-control": "no-store" });
      exchange.send(200, body);
    },
  });
}

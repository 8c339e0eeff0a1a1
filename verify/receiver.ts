import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { parseJson } from "../testkit/http.ts";

/** A delivery as it arrived. */
export interface Delivery {
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: bodies have every shape, and checks validate what they read
  readonly body: any;
}

/** A server of the suite that webhooks send to. */
export interface Receiver {
  /** Its address as the deployment reaches it. */
  readonly url: string;
  readonly deliveries: readonly Delivery[];
  /** The first delivery that matches, once it has arrived; undefined if none arrives. */
  find(fits: (delivery: Delivery) => boolean): Promise<Delivery | undefined>;
  close(): Promise<void>;
}

/** A process of a deployment may notice a webhook that another process has registered only after some seconds. */
const deliveryMsMax = 40_000;
const pollMs = 20;

/** Listens on all addresses, and accepts every delivery. */
export async function startReceiver({ url, port }: { readonly url: URL; readonly port: number }): Promise<Receiver> {
  const deliveries: Delivery[] = [];
  const server = createServer(async (request, response) => {
    const body = await text(request);
    deliveries.push({ headers: request.headers, text: body, body: parseJson(body) });
    response.writeHead(200).end("thanks");
  });
  server.listen(port);
  await once(server, "listening");
  return {
    url: url.href,
    deliveries,
    async find(fits) {
      const endsAt = performance.now() + deliveryMsMax;
      for (;;) {
        const found = deliveries.find(fits);
        if (found !== undefined || performance.now() > endsAt) return found;
        await delay(pollMs);
      }
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** A delivery as the receiver gets it. */
export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly id: string;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read bodies of every shape, and assert their content
  readonly body: any;
}

/** Answers a delivery with a status or with a function. */
export type Answering = (received: Received, response: ServerResponse) => number | undefined | Promise<number>;

/** An operator's server that receives webhooks. */
export interface WebhookReceiver {
  readonly url: string;
  readonly received: Received[];
  answer: Answering;
  close(): Promise<void>;
}

export async function startReceiver(answer: Answering = () => 204): Promise<WebhookReceiver> {
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const received = {
      headers: request.headers,
      id: `${request.headers["webhook-id"]}`,
      text: body,
      body: JSON.parse(body),
    };
    receiver.received.push(received);
    const status = await receiver.answer(received, response);
    if (status !== undefined) response.writeHead(status).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const receiver: WebhookReceiver = {
    url: `http://127.0.0.1:${port}/hook`,
    received: [],
    answer,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return receiver;
}

/**
 * Receives the events of an application: verifies the signature, does not process an event twice, answers at once, and
 * works afterwards.
 */
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { Webhook, WebhookVerificationError } from "standardwebhooks";

/** The members that every event has; `data` depends on its type. */
interface Event {
  readonly id: string;
  readonly type: string;
  readonly time: string;
  readonly data: {
    readonly objectID?: string;
    readonly userID?: string;
    readonly object?: unknown;
    readonly isGone?: true;
  };
}

// During a rotation both secrets are valid, so the new one can be deployed before the old one ends.
const secret = process.env["WEBHOOK_SECRET"];
if (secret === undefined) throw new Error("Set WEBHOOK_SECRET to the secret that the webhook was created with");
const webhook = new Webhook(secret);

/** A receiver with a database inserts the id in the transaction of its work. */
const seen = new Set<string>();
const bodyBytesMax = 65_536;

const server = createServer(async (request, response) => {
  if (Number(request.headers["content-length"] ?? Number.POSITIVE_INFINITY) > bodyBytesMax) {
    response.writeHead(413).end();
    return;
  }
  const body = await text(request);
  try {
    webhook.verify(body, request.headers as Record<string, string>);
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) throw error;
    response.writeHead(401).end();
    return;
  }
  const event: Event = JSON.parse(body);
  response.writeHead(204).end(); // an answer that takes long counts as a failure
  if (seen.has(event.id)) return;
  seen.add(event.id);
  work(event);
});

/** Replace this by the processing of events in your system. */
function work({ type, time, data }: Event): void {
  console.log(`${time} ${type} ${data.objectID ?? ""}${data.isGone ? " (gone)" : ""}`);
}

server.listen(Number(process.env["PORT"] ?? 8_080), () => console.log("listening"));

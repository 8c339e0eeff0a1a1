/** A message of a stream, as EventSource would report it. */
export interface StreamMessage {
  /** Empty for an event of the log. */
  readonly event: string;
  readonly id: string | undefined;
  /** The time that a client waits before it reconnects, if the message contains it. */
  readonly retryMs: number | undefined;
  /** Undefined for a heartbeat. */
  // biome-ignore lint/suspicious/noExplicitAny: data of every kind, whose content is checked by the reader
  readonly data: any;
}

/** Reads the messages of a stream from its text, which arrives in any parts. */
export function createMessageReader(onMessage: (message: StreamMessage) => void): (text: string) => void {
  let rest = "";
  return (text) => {
    rest += text;
    for (let end = rest.indexOf("\n\n"); end !== -1; end = rest.indexOf("\n\n")) {
      const block = rest.slice(0, end);
      rest = rest.slice(end + 2);
      onMessage(parseMessage(block));
    }
  };
}

function parseMessage(block: string): StreamMessage {
  const fields = new Map<string, string>();
  for (const line of block.split("\n")) {
    const colon = line.indexOf(": ");
    fields.set(line.slice(0, colon), line.slice(colon + 2));
  }
  const [data, retry] = [fields.get("data"), fields.get("retry")];
  return {
    event: fields.get("event") ?? "",
    id: fields.get("id"),
    retryMs: retry === undefined ? undefined : Number(retry),
    data: data === undefined ? undefined : JSON.parse(data),
  };
}

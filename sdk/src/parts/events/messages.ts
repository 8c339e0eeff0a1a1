/** A message of a stream of Server-Sent Events. */
export interface StreamMessage {
  /** The last id of the stream, which an earlier message may have set. */
  readonly id: string;
  /** Empty for an event of the log, and for a heartbeat. */
  readonly name: string;
  /** Empty for a heartbeat. */
  readonly data: string;
  /** The time to wait before the stream is opened again, in milliseconds, if the stream has set it. */
  readonly retryMs?: number | undefined;
}

/** Reads the messages of a stream as they arrive. Discards an incomplete last message. */
export async function readMessages(
  stream: ReadableStream<Uint8Array>,
  onMessage: (message: StreamMessage) => void,
): Promise<void> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let id = "";
  let retryMs: number | undefined;

  function take(block: string): void {
    let name = "";
    const data: string[] = [];
    for (const line of block.split("\n")) {
      const [, field, value = ""] = /^(\w+):? ?(.*)$/.exec(line) ?? [];
      if (field === "id") id = value;
      else if (field === "event") name = value;
      else if (field === "data") data.push(value);
      else if (field === "retry") retryMs = Number(value);
    }
    onMessage({ id, name, data: data.join("\n"), retryMs });
  }

  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += decoder.decode(value, { stream: true });
      const blocks = text.replace(/\r\n?/g, "\n").split("\n\n");
      text = blocks.pop() ?? "";
      blocks.forEach(take);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

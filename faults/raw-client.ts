import { connect as connectPlain, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { parseAnswer } from "../testkit/raw-answers.ts";

/** The outcome of a request: a response, a refused connection, or how the connection ended without a response. */
export type Outcome =
  | { readonly kind: "answer"; readonly status: number; readonly isLast: boolean; readonly text: string }
  | { readonly kind: "refused" }
  | { readonly kind: "reset" | "closed"; readonly isFirst: boolean };

/** A connection that sends requests one after the other, without retries. */
export interface RawClient {
  /** Sends a request, and resolves with its outcome. */
  ask(request: string): Promise<Outcome>;
  /** False once the server has closed the connection, or announced that it will. */
  readonly isOpen: boolean;
  close(): void;
}

/** Resolves when the connection is established, or with the reason why it is not. */
export async function openRawClient(port: number, isSecure: boolean): Promise<RawClient | Outcome> {
  const socket: Socket = isSecure
    ? connectTls({ port, host: "127.0.0.1", rejectUnauthorized: false })
    : connectPlain(port, "127.0.0.1");
  let received = Buffer.alloc(0);
  let count = 0;
  let end: "reset" | "closed" | undefined;
  let isLast = false;
  let wake = () => {};
  socket.on("data", (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    wake();
  });
  let failure: string | undefined;
  socket.on("error", (error: NodeJS.ErrnoException) => {
    failure = error.code ?? error.message;
    end ??= "reset";
    wake();
  });
  const close = () => {
    end ??= "closed";
    wake();
  };
  socket.on("close", close).on("end", close);
  await new Promise<void>((resolve) => {
    socket.once(isSecure ? "secureConnect" : "connect", () => resolve());
    socket.once("close", () => resolve());
  });
  if (failure === "ECONNREFUSED") return { kind: "refused" };
  if (end !== undefined) return { kind: end, isFirst: true };

  function takeAnswer(): Outcome | undefined {
    const parsed = parseAnswer(received);
    if (parsed === undefined) return undefined;
    const { status, headers, text, length } = parsed;
    received = received.subarray(length);
    isLast = headers.connection === "close";
    return { kind: "answer", status, isLast, text };
  }

  return {
    get isOpen() {
      return end === undefined && !isLast;
    },
    async ask(request) {
      count += 1;
      socket.write(request);
      for (;;) {
        const answer = takeAnswer();
        if (answer !== undefined) return answer;
        if (end !== undefined) return { kind: end, isFirst: count === 1 };
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    close: () => socket.destroy(),
  };
}

import { connect as connectPlain, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

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
  let received = "";
  let count = 0;
  let end: "reset" | "closed" | undefined;
  let isLast = false;
  let wake = () => {};
  socket.setEncoding("latin1");
  socket.on("data", (text: string) => {
    received += text;
    wake();
  });
  let failure: string | undefined;
  socket.on("error", (error: NodeJS.ErrnoException) => {
    failure = error.code ?? error.message;
    end ??= "reset";
    wake();
  });
  socket.on("close", () => {
    end ??= "closed";
    wake();
  });
  socket.on("end", () => {
    end ??= "closed";
    wake();
  });
  await new Promise<void>((resolve) => {
    socket.once(isSecure ? "secureConnect" : "connect", () => resolve());
    socket.once("close", () => resolve());
  });
  if (failure === "ECONNREFUSED") return { kind: "refused" };
  if (end !== undefined) return { kind: end, isFirst: true };

  function takeAnswer(): Outcome | undefined {
    const headEnd = received.indexOf("\r\n\r\n");
    if (headEnd < 0) return undefined;
    const head = received.slice(0, headEnd).toLowerCase();
    const length = headEnd + 4 + Number(/\r\ncontent-length: (\d+)/.exec(head)?.[1] ?? 0);
    if (received.length < length) return undefined;
    const text = received.slice(headEnd + 4, length);
    received = received.slice(length);
    isLast = head.includes("\r\nconnection: close");
    return { kind: "answer", status: Number(head.split(" ")[1]), isLast, text };
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

import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { setTimeout as startTimer } from "node:timers";
import { setTimeout } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import { type OpenStream, readStream } from "./open-stream.ts";
import { parseAnswers, parseJson, type RawAnswer } from "./raw-answers.ts";
import { hideSecrets, shorten } from "./shown-text.ts";

/** An answer, with its request as a report shows it. */
export interface Answer extends RawAnswer {
  readonly request: string;
  readonly method: string;
  readonly path: string;
  /** The body of the request, unless it was raw bytes. */
  readonly sent?: unknown;
}

export interface CallOptions {
  /** Sent as `Authorization: Service <token>`. */
  readonly token?: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Sent as JSON; a text or a Buffer is sent unchanged. */
  readonly body?: unknown;
  /** Added to the headers of spec/transport#headers; undefined removes a header, an array repeats it. */
  readonly headers?: Readonly<Record<string, string | string[] | undefined>>;
  /** Returns a 429 instead of waiting and retrying. */
  readonly isImpatient?: boolean;
}

/** A client for one deployment. Every request has a separate connection and a timeout. */
export interface Client {
  /** Sends one request, such as `"POST /users"`; the path is sent unchanged. */
  call(operation: string, options?: CallOptions): Promise<Answer>;
  /** Sends raw bytes, and reads until the server closes the connection or, after an answer, is silent for `quietMs`. */
  sendBytes(bytes: string | Buffer, options?: { quietMs?: number; end?: boolean }): Promise<Answer[]>;
  /** Sends one request whose answer is a stream of events. The caller closes it. */
  openStream(path: string, options?: CallOptions): Promise<OpenStream>;
  /** An open connection for unfinished requests. The caller destroys it. */
  connect(): Socket;
  /** All answers until now. */
  readonly answers: readonly Answer[];
}

const answerMsMax = 20_000;
const connectMsMax = 10_000;
const waitsMax = 5;
const waitSecondsMax = 15;

/** @param secrets texts that reports must not contain */
export function createClient(url: URL, secrets: readonly string[]): Client {
  const isTls = url.protocol === "https:";
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const port = url.port === "" ? (isTls ? 443 : 80) : Number(url.port);
  const basePath = url.pathname.replace(/\/+$/, "");
  const answers: Answer[] = [];

  function keep(answer: Answer): Answer {
    answers.push(answer);
    return answer;
  }

  async function call(operation: string, options: CallOptions = {}): Promise<Answer> {
    for (let waits = 0; ; waits += 1) {
      const answer = await callOnce(operation, options);
      const waitSeconds = Number(answer.headers["retry-after"]);
      // The suite sends more than an ordinary client, so it retries where requests are rate-limited.
      const isWorthWaiting = waits < waitsMax && waitSeconds <= waitSecondsMax && !options.isImpatient;
      if (answer.status !== 429 || !isWorthWaiting) return answer;
      await setTimeout(waitSeconds * 1_000);
    }
  }

  function describe(operation: string, options: CallOptions) {
    const [method = "GET", operationPath = "/"] = operation.split(/ (.*)/s);
    const query = options.query === undefined ? "" : `?${new URLSearchParams(options.query)}`;
    const path = `${operationPath}${query}`;
    const payload = toPayload(options.body);
    const headers = toHeaders(options, payload);
    const request = hideSecrets(describeRequest(method, path, headers, payload), secrets);
    return { method, path, payload, headers, request };
  }

  function send({ method, path, payload, headers }: ReturnType<typeof describe>): ClientRequest {
    const outgoing = (isTls ? requestHttps : requestHttp)({
      ...{ host, port, method, headers, agent: false },
      path: `${basePath}${path}`,
    });
    outgoing.end(payload);
    return outgoing;
  }

  function callOnce(operation: string, options: CallOptions): Promise<Answer> {
    const described = describe(operation, options);
    const { method, path, request } = described;
    return new Promise((resolve, reject) => {
      const fail = (error: Error) => {
        clearTimeout(timer);
        reject(new Error(`${error.message}\n${request}`, { cause: error }));
      };
      const outgoing = send(described).on("response", (incoming) => {
        // The server may answer before the request is complete; errors of the rest do not matter.
        outgoing.removeListener("error", fail).on("error", () => {});
        const chunks: Buffer[] = [];
        incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
        incoming.on("error", fail);
        incoming.on("end", () => {
          clearTimeout(timer);
          const text = Buffer.concat(chunks).toString("utf8");
          const { statusCode = 0, headers } = incoming;
          outgoing.destroy();
          resolve(
            keep({
              request,
              method,
              path,
              sent: options.body,
              status: statusCode,
              headers,
              text,
              body: parseJson(text),
            }),
          );
        });
      });
      const timer = startTimer(() => outgoing.destroy(new Error(`no answer within ${answerMsMax} ms`)), answerMsMax);
      outgoing.on("error", fail);
    });
  }

  async function openStream(path: string, options: CallOptions = {}): Promise<OpenStream> {
    const described = describe(`GET ${path}`, options);
    const outgoing = send(described);
    const [incoming] = (await once(outgoing, "response", {
      signal: AbortSignal.timeout(answerMsMax),
    })) as [IncomingMessage];
    outgoing.on("error", () => {}); // the response reports it as well
    return readStream(described.request, outgoing, incoming);
  }

  function connect(): Socket {
    const socket = isTls
      ? connectTls({ host, port, ...(isIP(host) === 0 && { servername: host }) })
      : connectTcp({ host, port });
    return socket.on("error", () => {}); // a reset is a valid answer
  }

  function sendBytes(bytes: string | Buffer, { quietMs = 150, end = false } = {}): Promise<Answer[]> {
    const request = hideSecrets(shorten(bytes.toString("latin1")).trimEnd(), secrets);
    return new Promise((resolve) => {
      const socket = connect();
      const chunks: Buffer[] = [];
      socket.setTimeout(connectMsMax, () => socket.destroy());
      socket.on(isTls ? "secureConnect" : "connect", () => {
        socket.setTimeout(answerMsMax);
        if (end) socket.end(bytes);
        else socket.write(bytes);
      });
      socket.on("data", (chunk: Buffer) => {
        chunks.push(chunk);
        socket.setTimeout(quietMs); // the rest of an answer follows without delay
      });
      socket.on("end", () => socket.destroy());
      socket.on("close", () => {
        const parsed = parseAnswers(Buffer.concat(chunks));
        resolve(parsed.map((answer) => keep({ request, method: "", path: "", ...answer })));
      });
    });
  }

  return { call, sendBytes, openStream, connect, answers };
}

function toPayload(body: unknown): string | Buffer | undefined {
  if (body === undefined || typeof body === "string" || Buffer.isBuffer(body)) return body;
  return JSON.stringify(body);
}

function toHeaders(options: CallOptions, payload: string | Buffer | undefined): Record<string, string | string[]> {
  const headers: Record<string, string | string[] | undefined> = {
    "Content-Type": "application/json",
    Accept: "application/json",
    ...(payload !== undefined && { "Content-Length": String(Buffer.byteLength(payload)) }),
    ...(options.token !== undefined && { Authorization: `Service ${options.token}` }),
    ...options.headers,
  };
  const given = (entry: [string, unknown]): entry is [string, string | string[]] => entry[1] !== undefined;
  return Object.fromEntries(Object.entries(headers).filter(given));
}

const usualHeaders = new Set(["Accept: application/json", "Content-Type: application/json"]);

function describeRequest(
  method: string,
  path: string,
  headers: Readonly<Record<string, string | string[]>>,
  payload: string | Buffer | undefined,
): string {
  const lines = Object.entries(headers)
    .flatMap(([name, values]) => [values].flat().map((value) => `${name}: ${shorten(value)}`))
    .filter((line) => !usualHeaders.has(line) && !line.startsWith("Content-Length: "));
  return [shorten(`${method} ${path}`), ...lines, ...(payload === undefined ? [] : [shorten(String(payload))])].join(
    "\n",
  );
}

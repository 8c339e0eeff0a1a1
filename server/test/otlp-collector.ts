import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** The parts of a collected span that tests read. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  /** 1 is internal, 2 a server request, 3 a client request. */
  readonly kind: number;
  readonly ms: number;
  readonly attributes: Readonly<Record<string, string | number>>;
  /** 2 for a failure. */
  readonly statusCode: number;
}

/** A collector for traces by OTLP over HTTP, as JSON. */
export interface OtlpCollector {
  readonly url: string;
  readonly spans: readonly CollectedSpan[];
  /** The received bodies, unparsed. */
  readonly text: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly resource: Readonly<Record<string, string | number>>;
  close(): Promise<void>;
}

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: number; readonly doubleValue?: number };
}

interface SentSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly Attribute[];
  readonly status: { readonly code: number };
}

interface Sent {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly SentSpan[] }[];
  }[];
}

/** @param onSpan receives each span, which is then not stored */
export async function startOtlpCollector(onSpan?: (span: CollectedSpan) => void): Promise<OtlpCollector> {
  const spans: CollectedSpan[] = [];
  const bodies: string[] = [];
  let headers: Record<string, unknown> = {};
  let resource: Record<string, string | number> = {};
  const server = createServer(async (request, response) => {
    const body = await text(request);
    if (request.url !== "/v1/traces" || request.method !== "POST") {
      response.writeHead(404).end();
      return;
    }
    if (onSpan === undefined) bodies.push(body);
    headers = request.headers;
    const sent: Sent = JSON.parse(body);
    for (const each of sent.resourceSpans) {
      resource = read(each.resource.attributes);
      for (const span of each.scopeSpans.flatMap((scope) => scope.spans)) {
        if (onSpan === undefined) spans.push(readSpan(span));
        else onSpan(readSpan(span));
      }
    }
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // a TCP listener has an address object
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    get text() {
      return bodies.join("\n");
    },
    get headers() {
      return headers;
    },
    get resource() {
      return resource;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function readSpan(span: SentSpan): CollectedSpan {
  const { traceId, spanId, parentSpanId, name, kind, startTimeUnixNano, endTimeUnixNano, attributes, status } = span;
  return {
    traceId,
    spanId,
    parentSpanId,
    name,
    kind,
    ms: Number(BigInt(endTimeUnixNano) - BigInt(startTimeUnixNano)) / 1e6,
    attributes: read(attributes),
    statusCode: status.code,
  };
}

function read(attributes: readonly Attribute[]): Record<string, string | number> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue ?? value.doubleValue)]),
  );
}

import { randomUUID } from "node:crypto";
import {
  type Context,
  defaultTextMapGetter,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { setGlobalErrorHandler, W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { TracesConfig } from "../config/config.ts";
import type { Log } from "../config/log.ts";
import type { AnsweredCall, RequestTrace, RequestTracer, TracedRequest } from "../http/request-observer.ts";
import type { TraceAttributes, TraceNode } from "../lib/current-call.ts";
import { ApiError } from "../lib/errors.ts";

/** Sends traces of requests to an OpenTelemetry collector. */
export interface Traces {
  readonly tracer: RequestTracer;
  /** Flushes the waiting spans, up to a time limit; spans that remain are lost. */
  close(graceMs: number): Promise<void>;
}

interface Services {
  readonly version: string;
  readonly log: Log;
  describeOperation(name: string): { readonly route: string } | undefined;
}

/** Spans that wait to be sent; further ones are dropped while the collector is unreachable. */
const waitingMax = 4_096;
const sendEveryMs = 2_000;
const sendTimeoutMs = 5_000;
/** Spans per request: a batch can run thousands of statements. */
const partsMax = 500;
const complainEveryMs = 60_000;

export function openTraces(config: TracesConfig, { version, log, describeOperation }: Services): Traces {
  const { endpoint, headers, serviceName } = config;
  const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces`, headers, timeoutMillis: sendTimeoutMs });
  const provider = new TracerProvider({
    sampler: samplerOf(config),
    resource: resourceFromAttributes({
      "service.name": serviceName,
      "service.version": version,
      "service.instance.id": randomUUID(),
    }),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter,
        maxQueueSize: waitingMax,
        scheduledDelayMillis: sendEveryMs,
        exportTimeoutMillis: sendTimeoutMs,
      }),
    ],
  });
  complainTo(log);
  const tracer = provider.getTracer("rollcall", version);
  const propagator = new W3CTraceContextPropagator();

  return {
    tracer: {
      begin(request) {
        const parent =
          request.headers["traceparent"] === undefined
            ? ROOT_CONTEXT
            : propagator.extract(ROOT_CONTEXT, request.headers, defaultTextMapGetter);
        const span = tracer.startSpan(
          request.method,
          { kind: SpanKind.SERVER, attributes: attributesOf(request) },
          parent,
        );
        return span.isRecording() ? new TracedCall(tracer, span, request.method, describeOperation) : undefined;
      },
    },

    async close(graceMs) {
      const late = Promise.withResolvers<void>();
      const timer = setTimeout(late.resolve, graceMs);
      await Promise.race([provider.shutdown().catch(() => {}), late.promise]);
      clearTimeout(timer);
    },
  };
}

function samplerOf({ sampler, ratio }: TracesConfig): Sampler {
  const base = sampler.replace("parentbased_", "");
  const root =
    base === "always_on"
      ? new AlwaysOnSampler()
      : base === "always_off"
        ? new AlwaysOffSampler()
        : new TraceIdRatioBasedSampler(ratio);
  return sampler.startsWith("parentbased_") ? new ParentBasedSampler({ root }) : root;
}

function attributesOf({ requestId, method, path, isSecure }: TracedRequest): TraceAttributes {
  return {
    "http.request.method": method,
    "url.path": path,
    "url.scheme": isSecure ? "https" : "http",
    "rollcall.request_id": requestId,
  };
}

/** Logs an unreachable collector at most once a minute. */
function complainTo(log: Log): void {
  let complainedAt = Number.NEGATIVE_INFINITY;
  setGlobalErrorHandler((error) => {
    const now = performance.now();
    if (now - complainedAt < complainEveryMs) return;
    complainedAt = now;
    log.warn(
      { reason: error instanceof Error ? error.message : String(error) },
      "traces could not be sent to OTEL_EXPORTER_OTLP_ENDPOINT",
    );
  });
}

/** A span that can have children; all spans of one request share its remaining budget. */
class Part implements TraceNode {
  protected readonly span: Span;
  readonly #tracer: Tracer;
  readonly #context: Context;
  readonly #budget: { left: number };

  constructor(tracer: Tracer, span: Span, budget: { left: number }) {
    this.#tracer = tracer;
    this.span = span;
    this.#context = trace.setSpan(ROOT_CONTEXT, span);
    this.#budget = budget;
  }

  add(name: string, startedAt: number, attributes: TraceAttributes, failure?: unknown): void {
    const span = this.#start(name, SpanKind.CLIENT, attributes, startedAt);
    if (span !== undefined) endSpan(span, failure);
  }

  begin(name: string, attributes: TraceAttributes): TraceNode {
    const span = this.#start(name, SpanKind.INTERNAL, attributes);
    return span === undefined ? nothing : new Part(this.#tracer, span, this.#budget);
  }

  end(failure?: unknown): void {
    endSpan(this.span, failure);
  }

  #start(name: string, kind: SpanKind, attributes: TraceAttributes, startTime = performance.now()): Span | undefined {
    // Background work after the response no longer belongs to the request.
    if (this.#budget.left <= 0) return undefined;
    this.#budget.left -= 1;
    return this.#tracer.startSpan(name, { kind, attributes, startTime }, this.#context);
  }
}

/** The span of a complete request. */
class TracedCall extends Part implements RequestTrace {
  readonly #method: string;
  readonly #budget: { left: number };
  readonly #describeOperation: Services["describeOperation"];
  #isFinished = false;

  constructor(tracer: Tracer, span: Span, method: string, describeOperation: Services["describeOperation"]) {
    const budget = { left: partsMax };
    super(tracer, span, budget);
    this.#budget = budget;
    this.#method = method;
    this.#describeOperation = describeOperation;
  }

  finish(answered: AnsweredCall | undefined): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    this.#budget.left = 0;
    const { span } = this;
    if (answered === undefined) {
      span.setAttribute("error.type", "aborted");
      span.end();
      return;
    }
    const { operation = "", status, caller, failure } = answered;
    const route = this.#describeOperation(operation)?.route;
    if (route !== undefined) {
      span.updateName(`${this.#method} ${route}`);
      span.setAttributes({ "http.route": route, "rollcall.operation": operation });
    }
    span.setAttribute("http.response.status_code", status);
    if (caller !== undefined && "applicationId" in caller) {
      span.setAttribute("rollcall.application", caller.applicationId);
    }
    if (failure !== undefined) span.setAttribute("error.type", failure.condition);
    if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  }
}

const nothing: TraceNode = { add() {}, begin: () => nothing, end() {} };

/** Omits the message of a failure: it may quote client input. */
function endSpan(span: Span, failure: unknown): void {
  if (failure !== undefined) {
    span.setAttribute("error.type", failure instanceof ApiError ? failure.condition : "failed");
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
}

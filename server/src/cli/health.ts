import { once } from "node:events";
import { get as getClear, type IncomingMessage } from "node:http";
import { get as getSecure } from "node:https";
import { PlainFailure } from "../config/failure.ts";
import type { Command } from "./command.ts";

const timeoutMs = 5_000;

/** Checks the readiness of the server on this machine, for process managers and containers. */
export const commands = {
  async health({ host, port, tls }) {
    const get = tls === undefined ? getClear : getSecure;
    // The certificate names the public host, and the request contains no secrets.
    const asked = get({
      host: anyAddress[host] ?? host,
      port,
      path: "/_/health/ready",
      rejectUnauthorized: false,
      signal: AbortSignal.timeout(timeoutMs),
    });
    const [answer]: IncomingMessage[] = await once(asked, "response").catch(() => []);
    answer?.resume();
    if (answer === undefined) throw new PlainFailure(`no answer from ${host}:${port}. Is the server running?`);
    if (answer.statusCode !== 200)
      throw new PlainFailure(`the server at ${host}:${port} is not ready (status ${answer.statusCode}). See its log.`);
    const degraded = `${answer.headers["rollcall-degraded"] ?? ""}`.split(", ").filter((reason) => reason !== "");
    if (degraded.length === 0) return { json: { state: "ready" }, text: "ready" };
    return { json: { state: "ready", degraded }, text: `ready, but degraded: ${degraded.join(", ")}` };
  },
} satisfies Readonly<Record<string, Command>>;

/** The address to connect to when the server listens on all addresses. */
const anyAddress: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

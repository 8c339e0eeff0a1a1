import { once } from "node:events";
import { get as getClear, type IncomingMessage } from "node:http";
import { get as getSecure } from "node:https";
import { type Command, print } from "./cli.command.ts";

const timeoutMs = 5_000;

/** Asks the server that runs on this machine with these settings; for what starts and restarts it. */
export const healthCommands: Readonly<Record<string, Command>> = {
  async health({ host, port, tls }) {
    const get = tls === undefined ? getClear : getSecure;
    // The certificate is for the name that clients use, and nothing secret is asked or told.
    const asked = get({
      host: anyAddress[host] ?? host,
      port,
      path: "/_/health/ready",
      rejectUnauthorized: false,
      signal: AbortSignal.timeout(timeoutMs),
    });
    const [answer]: IncomingMessage[] = await once(asked, "response").catch(() => []);
    answer?.resume();
    if (answer?.statusCode === 200) return print("ready");
    console.error(
      answer === undefined ? `nothing answers at ${host}:${port}` : `it is not ready, and answers ${answer.statusCode}`,
    );
    process.exitCode = 1;
  },
};

/** Where to reach a server that listens on every address. */
const anyAddress: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

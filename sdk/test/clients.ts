import type { NewApplication } from "../../server/src/applications/applications.store.ts";
import type { EventName } from "../src/identity/events.ts";
import { memoryStore } from "../src/identity/memory-store.ts";
import { createScopes } from "../src/identity/scopes.ts";
import { type Clock, systemClock } from "../src/lib/clock.ts";
import type { RollcallOptions } from "../src/options.ts";
import { createClient, type Rollcall } from "../src/rollcall.ts";
import { checkedFetch } from "./checked-fetch.ts";

const eventNames: readonly EventName[] = [
  "ready",
  "signedIn",
  "signedOut",
  "sessionEnded",
  "sessionChanged",
  "renewed",
  "deviceRegistered",
  "deviceRejected",
  "rootChanged",
  "storeFailed",
  "warning",
];

export interface TestClient extends Rollcall {
  /** The names of all events until now. */
  readonly events: string[];
  /** Method and path of all requests until now. */
  readonly requests: string[];
}

const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** A client in a separate context, like a tab, with a new store unless the options name one. */
export function testClient(
  server: { readonly url: string; readonly application: NewApplication },
  options: Partial<RollcallOptions> = {},
  clock: Clock = systemClock,
): TestClient {
  const requests: string[] = [];
  const events: string[] = [];
  const network = checkedFetch(options.fetch);
  const counted: typeof fetch = (input, init) => {
    requests.push(`${init?.method ?? "GET"} ${new URL(`${input}`).pathname}`);
    return network(input, init);
  };
  const { appid, appkey } = server.application;
  const defaults = { url: server.url, appid, appkey, store: memoryStore(), logger: silent };
  const client = createClient({ ...defaults, ...options, fetch: counted }, createScopes(clock));
  for (const name of eventNames) client.on(name, () => events.push(name));
  return Object.create(client, { events: { value: events }, requests: { value: requests } });
}

/** Waits until a condition holds; otherwise the test times out. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** A network that can be unplugged, and put behind a captive portal. */
export function breakableNetwork(): { fetch: typeof fetch; state: "on" | "off" | "portal" } {
  const network = {
    state: "on" as "on" | "off" | "portal",
    async fetch(...request: Parameters<typeof fetch>): Promise<Response> {
      if (network.state === "off") throw new TypeError("fetch failed");
      if (network.state === "on") return fetch(...request);
      return new Response("<html>Sign in to this network</html>", { headers: { "content-type": "text/html" } });
    },
  };
  return network;
}

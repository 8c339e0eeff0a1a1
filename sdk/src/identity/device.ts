import { changeDevice, registerDevice } from "../generated/calls.ts";
import type { DeviceRegistration, DeviceToken as IssuedToken } from "../generated/types.ts";
import { isInsecure, normalizeAddress } from "../lib/address.ts";
import type { Awaitable } from "../lib/awaitable.ts";
import { inBackground } from "../lib/background.ts";
import { createFlights } from "../lib/flights.ts";
import { newUuid } from "../lib/uuid.ts";
import { type Answered, type Credentials, fixedPrincipal, type Principal } from "../transport/principal.ts";
import { ConfigurationError, ServiceError } from "../wire/errors.ts";
import type { IdentityClient } from "./client.ts";
import { digestsOf, factsOf } from "./facts.ts";
import type { DeviceFacts } from "./options.ts";
import type { ScopeParts } from "./scope-parts.ts";
import type { DeviceToken, Token } from "./state.ts";

/** `rejected`: the service does not know the app's credentials. `disabled`: the developer has disabled the app. */
export type DeviceState = "new" | "registering" | "registered" | "rejected" | "disabled";

/** The registration of this installation of the app, which every call without a user stands on. */
export interface Device {
  readonly state: DeviceState;
  /** Who device-level calls are sent for. */
  principal(client: IdentityClient): Principal;
  /** Registers where that is needed, also if the service has refused it lately. */
  start(client: IdentityClient): Promise<void>;
  /** Takes the device token that a logout answers if it is good for longer. */
  offer(issued: IssuedToken, root: string): Promise<void>;
  /** Makes the next call register as a new device. */
  forget(): Promise<void>;
}

const minuteMs = 60_000;
const hourMs = 3_600_000;

/** The service does not accept the registration, and will not do so soon. */
interface Refusal {
  readonly error: ServiceError;
  readonly state: "rejected" | "disabled";
  readonly since: number;
  readonly waitMs: number;
}

export function createDevice({ store, state, tabs, clock, serviceClock, notify }: ScopeParts): Device {
  const registrations = createFlights<DeviceToken>();
  let isRegistering = false;
  let refusal: Refusal | undefined;
  /** A token near its end is replaced at most once an hour. */
  let nextRefresh = Number.NEGATIVE_INFINITY;
  const compared = new WeakSet<IdentityClient>();

  const answered = (_: Credentials, { date }: Answered) => serviceClock.observe(date);

  /** @param dead the token that must not be used again @param hint where the service says that the app is */
  function register(client: IdentityClient, dead = "", hint?: string): Promise<DeviceToken> {
    return registrations.join(dead, async () => {
      throwIfRefused();
      const { appkey } = client.options;
      const key = typeof appkey === "function" ? await askForKey(appkey) : appkey;
      const work = async () => {
        const { device } = await state.refresh(); // another tab may have registered
        if (device !== undefined && device.token !== dead) return device;
        isRegistering = true;
        return registerNow(client, key, hint).finally(() => {
          isRegistering = false;
        });
      };
      return tabs.lock("registration", work, client.transport.hasInterceptors);
    });
  }

  async function registerNow(client: IdentityClient, appkey: string, hint: string | undefined): Promise<DeviceToken> {
    const { url, options } = client;
    const { uniqueId } = await store.claim("installation", { uniqueId: newUuid() });
    const facts = factsOf(options);
    const call = registerDevice({ appid: options.appid, appkey, ...facts, uniqueId });
    let root = url;
    const sendTo = (address: string) => {
      root = address;
      return client.transport.send(call, { ...fixedPrincipal("anonymous", { root, token: "" }), answered });
    };
    const result = await sendTo(url).catch((error: unknown) => {
      noteRefusal(error);
      const hinted = normalizeAddress(hint);
      if (error instanceof ServiceError || hinted === undefined || !options.roots?.includes(hinted)) throw error;
      return sendTo(hinted);
    });
    refusal = undefined;
    await client.verifyRegistration?.(result, appkey);
    const issued = serviceClock.now();
    const registered = Math.max(issued, (state.now?.device?.registered ?? 0) + 1); // differs at each registration
    const device = { ...tokenOf(result, rootOf(result, root), issued), registered };
    await state.change((now) => ({ ...now, device }));
    await store.write("facts", { digests: digestsOf(facts) });
    compared.add(client);
    return device;
  }

  function throwIfRefused(): void {
    if (refusal === undefined) return;
    const passedMs = clock.now() - refusal.since;
    if (passedMs >= 0 && passedMs < refusal.waitMs) throw refusal.error;
  }

  /** Remembers that the service refuses this app. */
  function noteRefusal(error: unknown): void {
    if (!(error instanceof ServiceError)) return;
    const isDisabled = error.is("AuthAPICallDisabledByDeveloper");
    const isMalformed = error.is("ParameterOutOfRange") && error.status === 401;
    if (!isDisabled && !isMalformed && !error.is("AuthAppCredentialsInvalid")) return;
    const waitMs = Math.min(hourMs, refusal === undefined ? minuteMs : refusal.waitMs * 2);
    refusal = { error, state: isDisabled ? "disabled" : "rejected", since: clock.now(), waitMs };
    notify({ type: "deviceRejected", error, message: "The service refuses to register this app." });
  }

  /** Registers again when less than a tenth of the token's life is left, spread over time. */
  function refreshSoon(client: IdentityClient, { token, issued, expires }: DeviceToken): void {
    const now = serviceClock.now();
    const left = expires - now;
    if (left >= (expires - issued) / 10 || clock.now() < nextRefresh) return;
    const waitMs = clock.random() * Math.min(hourMs, Math.max(0, left) / 2);
    nextRefresh = clock.now() + waitMs + hourMs;
    clock.after(waitMs, () => inBackground(register(client, token)), "background");
  }

  /** Reports facts that have changed since the last registration. */
  async function compareFacts(client: IdentityClient, { token }: DeviceToken): Promise<void> {
    if (compared.has(client)) return;
    compared.add(client);
    const facts = factsOf(client.options);
    const stored = await store.read("facts", { digests: {} as Readonly<Record<string, string>> });
    const digests = digestsOf(facts);
    const isChanged = ([name]: [string, unknown]) => digests[name] !== stored?.digests[name];
    const changed: DeviceFacts = Object.fromEntries(Object.entries(facts).filter(isChanged));
    if (changed.platform !== undefined) await register(client, token);
    else if (Object.keys(changed).length > 0) {
      await client.transport.send(changeDevice(changed), principal(client));
      await store.write("facts", { digests });
    }
  }

  function principal(client: IdentityClient): Principal {
    return {
      id: "device",
      async credentials() {
        const { device } = await state.load();
        if (device === undefined) return register(client);
        refreshSoon(client, device);
        inBackground(compareFacts(client, device));
        return device;
      },
      replace: (dead, error) => register(client, dead.token, error.serviceRoot),
      answered,
    };
  }

  return {
    get state() {
      if (isRegistering) return "registering";
      return refusal?.state ?? (state.now?.device === undefined ? "new" : "registered");
    },
    principal,
    async start(client) {
      refusal = undefined;
      await principal(client).credentials();
    },
    async offer(issued, root) {
      const now = serviceClock.now();
      await state.change((state) => {
        const { device } = state;
        const isBetter = device?.root === root && issued.accessTokenExpires.getTime() > device.expires;
        return isBetter ? { ...state, device: { ...device, ...tokenOf(issued, root, now) } } : state;
      });
    },
    async forget() {
      refusal = undefined;
      await store.remove("installation");
      await store.remove("facts");
      await state.change(({ device, ...rest }) => rest);
    },
  };
}

async function askForKey(appkey: () => Awaitable<string>): Promise<string> {
  try {
    return await appkey();
  } catch (cause) {
    throw new ConfigurationError("registerDevice: the function of the option appkey failed.", { cause });
  }
}

/** The members of a token that a call of the service has issued. */
export function tokenOf({ accessToken, accessTokenExpires }: IssuedToken, root: string, issued: number): Token {
  return { token: accessToken, root, expires: accessTokenExpires.getTime(), issued };
}

/** Where the service says that the calls of the device go. */
function rootOf({ serviceRoot }: DeviceRegistration, url: string): string {
  if (serviceRoot === undefined) return url;
  const root = normalizeAddress(serviceRoot);
  if (root === undefined || (isInsecure(root) && !isInsecure(url))) {
    throw new ConfigurationError(`registerDevice: the service names the root ${serviceRoot}, which is not https.`);
  }
  return root;
}

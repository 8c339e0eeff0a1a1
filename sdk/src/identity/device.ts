import { changeDevice, registerDevice } from "../generated/calls.ts";
import type { DeviceToken as IssuedToken } from "../generated/types.ts";
import { isInsecure, normalizeAddress } from "../lib/address.ts";
import { inBackground } from "../lib/background.ts";
import { createFlights } from "../lib/flights.ts";
import { newUuid } from "../lib/uuid.ts";
import { type Answered, type Credentials, fixedPrincipal, type Principal } from "../transport/principal.ts";
import { ConfigurationError, isNamed, ServiceError } from "../wire/errors.ts";
import type { IdentityClient } from "./client.ts";
import { digestsOf, factsOf } from "./facts.ts";
import type { DeviceFacts } from "./options.ts";
import type { ScopeParts } from "./scope-parts.ts";
import type { DeviceToken, Token } from "./state.ts";

/** `rejected`: the service does not know the app's credentials. `disabled`: the developer has disabled the app. */
export type DeviceState = "new" | "registering" | "registered" | "rejected" | "disabled";

/** The registration of this installation of the app, which every call without a user needs. */
export interface Device {
  readonly state: DeviceState;
  /** The principal of device-level calls. */
  principal(client: IdentityClient): Principal;
  /** Registers the device if necessary, even if the service has just refused it. */
  start(client: IdentityClient): Promise<void>;
  /** Stores the device token in the response to a logout if it expires later than the current token. */
  offer(issued: IssuedToken, root: string): Promise<void>;
  /** Makes the next call register as a new device. */
  forget(): Promise<void>;
  /** Clears the timer of the registration, because it would keep a Deno process running. */
  close(): void;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** The service has refused the registration, and a retry soon would fail again. */
interface Refusal {
  readonly error: ServiceError;
  readonly state: "rejected" | "disabled";
  readonly since: number;
  readonly waitMs: number;
}

export function createDevice({ store, state, tabs, clock, serviceClock, notify }: ScopeParts): Device {
  const join = createFlights<DeviceToken>();
  const compared = new WeakSet<IdentityClient>();
  let isRegistering = false;
  let refusal: Refusal | undefined;
  /** The client replaces a token that expires soon at most once an hour. */
  let nextRefresh = 0;
  let cancelRefresh = () => {};

  const answered = (_: Credentials, { time }: Answered) => serviceClock.observe(time);

  /**
   * @param dead the token that must not be used again
   * @param hint the address of the application, as reported by the service
   */
  function register(client: IdentityClient, dead = "", hint?: string): Promise<DeviceToken> {
    return join(dead, async () => {
      // The clock of the machine may have been set back since.
      if (refusal && Math.abs(clock.now() - refusal.since) < refusal.waitMs) throw refusal.error;
      const { appkey } = client.options;
      const ask = async () => (typeof appkey === "function" ? appkey() : appkey);
      const key = await ask().catch((cause) => {
        throw new ConfigurationError("registerDevice: the function appkey failed.", { cause });
      });
      const work = async () => {
        const { device } = await state.refresh(); // another tab may have registered
        if (device && device.token !== dead) return device;
        isRegistering = true;
        return registerNow(client, key, hint).finally(() => {
          isRegistering = false;
        });
      };
      return tabs.lock("registration", work, client.interceptors.size > 0);
    });
  }

  async function registerNow(client: IdentityClient, appkey: string, hint: string | undefined): Promise<DeviceToken> {
    const { url, options } = client;
    const facts = factsOf(options);
    const { uniqueId } = await store.claim("installation", { uniqueId: newUuid() });
    const call = registerDevice({ appid: options.appid, appkey, ...facts, uniqueId });
    let root = url;
    const fail = (error: unknown): never => {
      throw Object.assign(Object(error), { outcome: "none" }); // the call that needs the registration was not sent
    };
    const send = () =>
      client.transport.send(call, { ...fixedPrincipal("anonymous", { root, token: "" }), answered }).catch(fail);
    const result = await send().catch((error: unknown) => {
      noteRefusal(error);
      root = normalizeAddress(hint) ?? "";
      if (error instanceof ServiceError || !options.roots?.includes(root)) throw error;
      return send();
    });
    refusal = undefined;
    await client.verifyRegistration?.(result, appkey);
    const { serviceRoot } = result;
    if (serviceRoot !== undefined) {
      root = normalizeAddress(serviceRoot) ?? "";
      if (!root || (isInsecure(root) && !isInsecure(url)))
        throw new ConfigurationError(`registerDevice: the root ${serviceRoot} is not https.`);
    }
    const token = tokenOf(result, root, serviceClock.now());
    const registered = Math.max(token.issued, (state.now?.device?.registered ?? 0) + 1); // differs at each registration
    const device = { ...token, registered };
    await state.change((now) => ({ ...now, device }));
    await store.write("facts", { digests: digestsOf(facts) });
    compared.add(client);
    return device;
  }

  /** Records that the service has refused this app. */
  function noteRefusal(error: unknown): void {
    const isDisabled = isNamed(error, "AuthAPICallDisabledByDeveloper");
    const isMalformed = isNamed(error, "ParameterOutOfRange") && error.status === 401;
    if (!isDisabled && !isMalformed && !isNamed(error, "AuthAppCredentialsInvalid")) return;
    const waitMs = refusal ? Math.min(hourMs, refusal.waitMs * 2) : minuteMs;
    refusal = { error, state: isDisabled ? "disabled" : "rejected", since: clock.now(), waitMs };
    notify({ type: "deviceRejected", error, message: "The service refuses to register this app." });
  }

  /** Registers again, with jitter, when less than a tenth of the token's lifetime remains. */
  function refreshSoon(client: IdentityClient, { token, issued, expires }: DeviceToken): void {
    const left = expires - serviceClock.now();
    if (left >= (expires - issued) / 10 || clock.now() < nextRefresh) return;
    const waitMs = clock.random() * Math.min(hourMs, Math.max(0, left) / 2);
    nextRefresh = clock.now() + waitMs + hourMs;
    cancelRefresh = clock.after(waitMs, () => inBackground(register(client, token)), "background");
  }

  /** Reports facts that have changed since the last registration. */
  async function compareFacts(client: IdentityClient, { token }: DeviceToken): Promise<void> {
    if (compared.has(client)) return;
    compared.add(client);
    const facts = factsOf(client.options);
    const digests = digestsOf(facts);
    const stored = await store.read("facts", { digests: {} as typeof digests });
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
        if (!device) return register(client);
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
      return isRegistering ? "registering" : (refusal?.state ?? (state.now?.device ? "registered" : "new"));
    },
    principal,
    async start(client) {
      refusal = undefined;
      await principal(client).credentials();
    },
    offer(issued, root) {
      const token = tokenOf(issued, root, serviceClock.now());
      return state.change((now) => {
        const { device } = now;
        const isBetter = device?.root === root && token.expires > device.expires;
        return isBetter ? { ...now, device: { ...device, ...token } } : now;
      });
    },
    async forget() {
      refusal = undefined;
      await store.remove("installation");
      await store.remove("facts");
      await state.change(({ device, ...rest }) => rest);
    },
    close: () => cancelRefresh(),
  };
}

/** The members of a token that the service has issued. */
export function tokenOf({ accessToken, accessTokenExpires }: IssuedToken, root: string, issued: number): Token {
  return { token: accessToken, root, expires: accessTokenExpires.getTime(), issued };
}

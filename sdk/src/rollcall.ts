/// <reference lib="esnext.disposable" preserve="true" />
import {
  createUser,
  loginSocialUser,
  loginUser,
  ping,
  requestPasswordReset,
  resetPassword,
} from "./generated/calls.ts";
import type {
  CreateUserRequest,
  Device,
  LoginSocialUserRequest,
  LoginUserRequest,
  RequestPasswordResetRequest,
  ResetPasswordRequest,
} from "./generated/types.ts";
import type { IdentityClient } from "./identity/client.ts";
import type { DeviceState } from "./identity/device.ts";
import type { EventName, EventOf, RollcallEvent } from "./identity/events.ts";
import { type HasInside, inside } from "./identity/inside.ts";
import type { IdentityEvent } from "./identity/scope-parts.ts";
import { createScopes, type Scopes } from "./identity/scopes.ts";
import { createSession, type Session } from "./identity/session.ts";
import type { LoginCall, SignedIn } from "./identity/sessions.ts";
import type { SessionState } from "./identity/state.ts";
import { inBackground } from "./lib/background.ts";
import { createEvents, observe } from "./lib/events.ts";
import { printable } from "./lib/printable.ts";
import { withoutAbsent } from "./lib/without-absent.ts";
import { type Calls, createCalls } from "./nouns/calls.ts";
import type { DeviceNoun } from "./nouns/device.client.ts";
import type { Send } from "./nouns/send.ts";
import { checkOptions, type RollcallOptions } from "./options.ts";
import { createInterceptors, type Interceptor } from "./transport/interceptors.ts";
import { consoleLogger } from "./transport/logger.ts";
import type { CallOptions } from "./transport/options.ts";
import { createTransport } from "./transport/transport.ts";
import { uploads } from "./transport/upload.ts";
import { requireFunction, requireOption } from "./wire/checks.ts";
import { ConfigurationError, NotSignedIn } from "./wire/errors.ts";

/** The device of a client, and its registration. */
export interface RegisteredDevice extends DeviceNoun {
  readonly state: DeviceState;
  /** The id of the device; undefined until `get` or `change` succeeds after a registration. */
  readonly id: string | undefined;
  /** Makes the next call register as a new device. */
  forget(): Promise<void>;
}

/** Sends calls as one of the signed-in users. */
export interface UserClient extends Calls {
  /** @throws NotSignedIn if the user is not signed in */
  readonly session: Session;
}

/**
 * A client of one application: its device, and the users who are signed in on it. Its methods use the current
 * session.
 */
export interface Rollcall extends Calls, HasInside, AsyncDisposable {
  readonly device: RegisteredDevice;
  /** The current session; null if no user is signed in, undefined until the client is ready. */
  readonly session: Session | null | undefined;
  readonly sessions: readonly Session[];
  /** The estimated time of the service, from its responses. */
  readonly serverTime: Date;
  /** Resolves after the client has read its store. */
  ready(): Promise<void>;
  /** Registers the device now instead of at the first call. */
  start(): Promise<void>;
  signUp(input: CreateUserRequest, options?: CallOptions): Promise<Session>;
  signIn(input: LoginUserRequest, options?: CallOptions): Promise<Session>;
  signInSocial(input: LoginSocialUserRequest, options?: CallOptions): Promise<Session & { readonly isNew: boolean }>;
  /** Sends a reset code to the user by email. */
  requestPasswordReset(input: RequestPasswordResetRequest, options?: CallOptions): Promise<void>;
  /** Sets a new password with the emailed code, and revokes the user's tokens. */
  resetPassword(input: ResetPasswordRequest, options?: CallOptions): Promise<void>;
  /** Removes a session from this device; signs the user out first if necessary. */
  forget(userId: string): Promise<void>;
  /** Makes a signed-in user the current user in all tabs or, with `here`, only in this tab until it is closed. */
  use(user: Session | string, options?: { readonly here?: boolean }): Promise<void>;
  /** Returns a client that always calls as the given user. */
  as(user: Session | string): UserClient;
  /** Sends a call as the current user, or as the device if no user is signed in and the call needs none. */
  readonly send: Send;
  /** Resolves if the service answers. */
  ping(options?: CallOptions): Promise<void>;
  on<E extends EventName>(event: E, listener: (event: EventOf<E>) => void): () => void;
  intercept(interceptor: Interceptor): () => void;
  /** Rejects pending calls with AbortedError. Does not delete the stored records. */
  close(): Promise<void>;
}

/**
 * Creates the client of an application. Sends no request before the first call, which registers the device
 * automatically.
 *
 * @throws ConfigurationError if an option is wrong, or the runtime lacks a required feature
 */
export function createRollcall(options: RollcallOptions): Rollcall {
  return createClient(options, scopes);
}

const scopes = createScopes();

/** Creates a client in a context: clients of one scope share their device and sessions there. */
export function createClient(options: RollcallOptions, context: Scopes): Rollcall {
  const checked = checkOptions(Object(options));
  const { url, signInMs, logger = consoleLogger } = checked;
  const onSuccess = () => identity.outbox.flushSoon(client);
  const interceptors = createInterceptors();
  const parts = { uploads, interceptors, onSuccess };
  const transport = createTransport({ ...checked, clock: context.clock }, parts);
  const events = createEvents<RollcallEvent>();
  const views = new Map<string, Session>();
  const client: IdentityClient = { transport, interceptors, options: checked, url, signInMs };
  const { identity, isShared, tabsName, isForgetful, leave } = context.join(url, checked, notify);
  const { state, sessions, device } = identity;
  let isReady = false;

  function notify({ type, session, error, message }: IdentityEvent): void {
    if (message !== undefined) observe(() => logger.warn(message, {}));
    events.emit(withoutAbsent({ type, session: session && viewOf(session), error, message }));
    if (type === "signedOut" && session !== undefined) views.delete(session.login);
  }

  function viewOf(session: SessionState): Session {
    const view = views.get(session.login) ?? createSession(session, identity, client);
    views.set(session.login, view);
    return view;
  }

  async function ready(): Promise<void> {
    await state.load();
    if (isReady) return;
    isReady = true;
    const warn = (message: string) => notify({ type: "warning", message });
    if (isShared) warn("Another client shares its device and sessions with this one.");
    if (isForgetful) warn("No store is named: the device and the sessions end with the process.");
    notify({ type: "ready" });
  }

  async function signIn(call: LoginCall, options: CallOptions | undefined): Promise<SignedIn> {
    await ready();
    return sessions.signIn(client, call, options);
  }

  const send: Send = (call, options) => {
    if (!isReady) inBackground(ready());
    return transport.send(call, sessions.principal(client, call), options);
  };
  const calls = createCalls(send, transport);
  /** The response to a registration has no id, and the next registration may create another device. */
  let known: { readonly id: string; readonly registered: number | undefined } | undefined;

  async function note(answered: Promise<Device>): Promise<Device> {
    const result = await answered;
    known = { id: result.id, registered: state.now?.device?.registered };
    return result;
  }

  const rollcall: Rollcall = {
    ...calls,
    device: printable({
      ...calls.device,
      get: (options) => note(calls.device.get(options)),
      change: (facts, options) => note(calls.device.change(facts, options)),
      get state() {
        return device.state;
      },
      get id() {
        return known?.registered === state.now?.device?.registered ? known?.id : undefined;
      },
      forget: device.forget,
    }),
    get session() {
      if (state.now === undefined) return undefined;
      const { current } = sessions;
      return current === undefined ? null : viewOf(current);
    },
    get sessions() {
      return (state.now?.sessions ?? []).map(viewOf);
    },
    get serverTime() {
      return new Date(identity.serviceClock.now());
    },
    ready,
    async start() {
      await ready();
      await device.start(client);
      inBackground(identity.outbox.flush(client));
    },
    signUp: async (input, options) => viewOf((await signIn(createUser(input), options)).session),
    signIn: async (input, options) => viewOf((await signIn(loginUser(input), options)).session),
    async signInSocial(input, options) {
      const { session, isNew } = await signIn(loginSocialUser(input), options);
      return Object.assign(Object.create(viewOf(session)), { isNew });
    },
    requestPasswordReset: (input, options) => send(requestPasswordReset(input), options),
    resetPassword: (input, options) => send(resetPassword(input), options),
    async forget(userId) {
      await ready();
      await sessions.signOut(client, userId);
    },
    async use(user, options) {
      await ready();
      await sessions.use(idOf(user), !!options?.here);
    },
    as(user) {
      const userId = idOf(user);
      return {
        ...createCalls((call, options) => rollcall[inside].send(userId, call, options), transport),
        get session() {
          const session = sessions.find(userId);
          if (session === undefined) throw new NotSignedIn("NotSignedIn: the user is not signed in");
          return viewOf(session);
        },
      };
    },
    async ping(options) {
      await send(ping(), options);
    },
    on(type, listener) {
      requireFunction("on: listener", listener);
      return events.on(type, listener);
    },
    intercept(interceptor) {
      requireOption("intercept: interceptor", Object(interceptor) === interceptor, "an object");
      interceptors.add(interceptor);
      return () => void interceptors.delete(interceptor);
    },
    async close() {
      transport.close();
      leave();
    },
    [Symbol.asyncDispose ?? "asyncDispose"]: () => rollcall.close(),
    [inside]: {
      transport,
      client,
      scope: tabsName,
      send(userId, call, options) {
        const principal = userId === undefined ? device.principal(client) : sessions.principal(client, call, userId);
        return transport.send(call, principal, options);
      },
      login: (call, options) => sessions.login(client, call, options),
      keepSession: (userId) => sessions.keep(client, userId),
      parts: new Map(),
    },
  };
  return Object.defineProperty(rollcall, inside, { enumerable: false }); // a printed client must not show the appkey
}

function idOf(user: Session | string): string {
  const id = typeof user === "string" ? user : Object(user).userId;
  if (!id) throw new ConfigurationError("user must be a session or the id of a user.");
  return id;
}

import type { Audit } from "../audit/audit.ts";
import type { SignInGuard } from "../auth/guard/sign-in-guard.ts";
import type { NewPasswords } from "../auth/new-passwords.ts";
import type { IdTokens } from "../auth/oidc.ts";
import type { OperatorMarks } from "../auth/operator-marks.ts";
import type { OperatorSessionCookies } from "../auth/operator-session-cookies.ts";
import type { OperatorTokens } from "../auth/operator-tokens.ts";
import type { OperatorCallers } from "../auth/operators.ts";
import type { PasswordChanges } from "../auth/password-changes.ts";
import type { Passwords } from "../auth/passwords.ts";
import type { Revocations } from "../auth/revocations.ts";
import type { TokenUses } from "../auth/token-uses.ts";
import type { Tokens } from "../auth/tokens.ts";
import type { Config } from "../config/config.ts";
import type { Log } from "../config/log.ts";
import type { Paging } from "../contract/paging.ts";
import type { FindLocation } from "../contract/sent-locations.ts";
import type { Database } from "../db/database.ts";
import type { OwnReports } from "../deployment/own-reports.ts";
import type { EventLog } from "../event-log/event-log.ts";
import type { LogFollower } from "../event-log/follower.ts";
import type { EventRecorder } from "../event-log/recorder.ts";
import type { Streams } from "../events/events.streams.ts";
import type { Tickets } from "../events/events.tickets.ts";
import type { FileLinks } from "../files/files.links.ts";
import type { Outgoing } from "../http/outgoing/outgoing.ts";
import type { RequestObserver } from "../http/request-observer.ts";
import type { Background } from "../jobs/background.ts";
import type { Clock } from "../lib/clock.ts";
import type { IdGenerator } from "../lib/ids.ts";
import type { Signer } from "../lib/signer.ts";
import type { Delivery } from "../mail/delivery.ts";
import type { Mailer } from "../mail/mailer.ts";
import type { Outbox } from "../mail/outbox.ts";
import type { Compactor } from "../metrics/engine/compactor.ts";
import type { KeyLimits } from "../metrics/engine/keys.ts";
import type { SaltedHashes } from "../metrics/engine/salted-hashes.ts";
import type { MetricBytes } from "../metrics/engine/stored-bytes.ts";
import type { Requests } from "../operators/requests.ts";
import type { UserExporter } from "../owned/export.ts";
import type { Pictures } from "../pictures/pictures.ts";
import type { Fuzzing } from "../privacy/fuzzing.ts";
import type { RegionCalls } from "../regions/regions.calls.ts";
import type { RemoteRegistration } from "../regions/regions.registration.ts";
import type { Regions } from "../regions/regions.ts";
import type { Statistics } from "../statistics/statistics.ts";
import type { ByteStore } from "../storage/byte-store.ts";
import type { StorageHealth } from "../storage/storage-health.ts";
import type { GuardedProvider } from "../tenancy/identity-provider.ts";
import type { Policies } from "../tenancy/policies.ts";
import type { SettingsSealer } from "../tenancy/sealed-settings.ts";
import type { PictureUrl } from "../users/users.contract.ts";
import type { ResetDelays } from "../users/users.password.delays.ts";
import type { PresentEvent } from "../webhooks/webhooks.attempt.ts";
import type { WebhookRunner } from "../webhooks/webhooks.runner.ts";
import type { WebhookSealer } from "../webhooks/webhooks.secrets.ts";
import type { Peers } from "../workers/peers.ts";
import type { Dispatcher } from "./dispatch.ts";
import type { RateLimits } from "./rate-limits.ts";

/** The services that the handlers of operations use. `app.ts` creates each once per process. */
export interface Services {
  readonly config: Config;
  readonly log: Log;
  readonly clock: Clock;
  readonly ids: IdGenerator;
  readonly background: Background;
  readonly peers: Peers;
  /** True while the process is shutting down. */
  isDraining(): boolean;

  readonly database: Database;
  readonly bytes: ByteStore;
  readonly storageHealth: StorageHealth;

  readonly tokens: Tokens;
  readonly tokenUses: TokenUses;
  readonly operatorTokens: OperatorTokens;
  readonly operatorMarks: OperatorMarks;
  readonly operatorSessionCookies: OperatorSessionCookies;
  readonly operatorCallers: OperatorCallers;
  readonly revocations: Revocations;
  readonly passwords: Passwords;
  readonly newPasswords: NewPasswords;
  readonly passwordChanges: PasswordChanges;
  readonly resetDelays: ResetDelays;
  /** Signs codes that verify addresses. */
  readonly codeSigner: Signer;
  readonly signInGuard: SignInGuard;
  readonly idTokens: IdTokens;
  readonly audit: Audit;

  readonly events: EventRecorder;
  readonly eventLog: EventLog;
  readonly eventFollower: LogFollower;
  readonly streams: Streams;
  readonly tickets: Tickets;

  readonly policies: Policies;
  readonly settingsSealer: SettingsSealer;
  findOidcProvider(applicationId: string, name: string): Promise<GuardedProvider | undefined>;
  /** Whether the application has the setting `debug`. */
  isDebugged(applicationId: string): Promise<boolean>;

  readonly regions: Regions;
  readonly regionCalls: RegionCalls;
  readonly remoteRegistration: RemoteRegistration;

  readonly rateLimits: RateLimits;
  readonly paging: Paging;
  readonly dispatcher: Dispatcher;
  readonly observer: RequestObserver;
  readonly statistics: Statistics;
  readonly requests: Requests;
  readonly ownReports: OwnReports;

  readonly outgoing: Outgoing;
  readonly webhookSealer: WebhookSealer;
  readonly webhookRunner: WebhookRunner;
  /**
   * Returns a presenter of events with their current objects, for operators' systems; see `createOperatorPresenter`.
   */
  presentEventsOf(locations: "true" | "shown"): PresentEvent;
  readonly mailer: Mailer;
  readonly mails: Outbox;
  readonly delivery: Delivery;

  readonly fuzzing: Fuzzing;
  readonly findLocation: FindLocation;
  readonly userExporters: readonly UserExporter[];
  readonly fileLinks: FileLinks;
  readonly pictures: Pictures;
  readonly pictureUrl: PictureUrl;
  serverUrl(): string;

  readonly saltedHashes: SaltedHashes;
  readonly compactor: Compactor;
  readonly keyLimits: KeyLimits;
  readonly metricBytes: MetricBytes;
}

/**
 * The services of operations that commands also run. A command has no cache to invalidate, and does follow-up work
 * itself.
 */
export type CommandServices = Pick<
  Services,
  | "audit"
  | "clock"
  | "database"
  | "events"
  | "ids"
  | "outgoing"
  | "paging"
  | "passwords"
  | "policies"
  | "revocations"
  | "settingsSealer"
  | "userExporters"
> & {
  readonly background: Pick<Background, "run">;
  readonly bytes: Pick<ByteStore, "deleteAll" | "read">;
  readonly config: Pick<Config, "operatorIdleMs" | "breachedPasswordsUrl">;
};

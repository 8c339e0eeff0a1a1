import { foundation } from "./0001-foundation.ts";
import { peopleAndPlaces } from "./0002-people-and-places.ts";
import { metadata } from "./0003-metadata.ts";
import { operators } from "./0004-operators.ts";
import { crashGroups } from "./0005-crash-groups.ts";
import { metrics } from "./0006-metrics.ts";
import { keptReplies } from "./0007-kept-replies.ts";
import { files } from "./0008-files.ts";
import { fileUsage } from "./0009-file-usage.ts";
import { resumableUploads } from "./0010-resumable-uploads.ts";
import { videoOrders } from "./0011-video-orders.ts";
import { profilePictures } from "./0012-profile-pictures.ts";
import { operatorSessions } from "./0013-operators.ts";
import { applicationControl } from "./0014-application-control.ts";
import { operatorViews } from "./0015-operator-views.ts";
import { manyNodes } from "./0016-many-nodes.ts";
import { imports } from "./0017-imports.ts";
import { regions } from "./0018-regions.ts";
import { unsharedRows } from "./0019-unshared-rows.ts";
import { recognizedDevices } from "./0020-recognized-devices.ts";
import { mail } from "./0021-mail.ts";
import { recoveryAddresses } from "./0022-recovery-addresses.ts";
import { shiftSecrets } from "./0024-shift-secrets.ts";
import { shippedClients } from "./0025-shipped-clients.ts";
import { idempotencyUsage } from "./0026-idempotency-usage.ts";
import { firstPassword } from "./0027-first-password.ts";
import { publicOnly } from "./0028-public-only.ts";
import { foldedRefusals } from "./0030-folded-refusals.ts";
import { sealedSettings } from "./0031-sealed-settings.ts";
import { metricBytes } from "./0032-metric-bytes.ts";
import { locations } from "./0033-locations.ts";
import { revisions } from "./0034-revisions.ts";
import { tokenRenewals } from "./0035-token-renewals.ts";
import { sharedLimits } from "./0036-shared-limits.ts";
import { deviceUses } from "./0037-device-uses.ts";
import { sessionBrowsers } from "./0038-operator-sessions.ts";
import { statistics } from "./0039-statistics.ts";
import { operatorLists } from "./0040-operator-lists.ts";
import { sharedGuessCounts } from "./0041-shared-guess-counts.ts";
import { testCallers } from "./0042-test-callers.ts";
import { serverProcesses } from "./0043-server-processes.ts";
import { events } from "./0044-events.ts";
import { settingsChanges } from "./0045-settings-changes.ts";
import { keptCounts } from "./0046-kept-counts.ts";
import { crashStates } from "./0047-crash-states.ts";
import { eventActors } from "./0048-event-actors.ts";
import { webhooks } from "./0050-webhooks.ts";
import { operatorSearch } from "./0051-operator-search.ts";
import { testUploads } from "./0052-test-uploads.ts";
import { webhookMails } from "./0053-webhook-mails.ts";
import { eventPositions } from "./0054-event-positions.ts";
import { auditCounts } from "./0055-audit-counts.ts";
import { appVersions } from "./0056-app-versions.ts";
import { appVersionPlatforms } from "./0057-app-version-platforms.ts";
import { arrivingApplications } from "./0058-arriving-applications.ts";
import { operatedPeople } from "./0059-operated-people.ts";
import type { Migration } from "./migration.ts";

/** All migrations in order. Append only: a released migration is never changed. */
export const migrations: readonly Migration[] = [
  foundation,
  peopleAndPlaces,
  metadata,
  operators,
  crashGroups,
  metrics,
  keptReplies,
  files,
  fileUsage,
  resumableUploads,
  videoOrders,
  profilePictures,
  operatorSessions,
  applicationControl,
  operatorViews,
  manyNodes,
  imports,
  regions,
  unsharedRows,
  recognizedDevices,
  mail,
  recoveryAddresses,
  shiftSecrets,
  shippedClients,
  idempotencyUsage,
  firstPassword,
  publicOnly,
  foldedRefusals,
  sealedSettings,
  metricBytes,
  locations,
  revisions,
  tokenRenewals,
  sharedLimits,
  deviceUses,
  sessionBrowsers,
  statistics,
  operatorLists,
  sharedGuessCounts,
  testCallers,
  serverProcesses,
  events,
  settingsChanges,
  keptCounts,
  crashStates,
  eventActors,
  webhooks,
  operatorSearch,
  testUploads,
  webhookMails,
  eventPositions,
  auditCounts,
  appVersions,
  appVersionPlatforms,
  arrivingApplications,
  operatedPeople,
];

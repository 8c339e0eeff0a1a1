import type { Group } from "./check.ts";
import { accounts } from "./checks/accounts.ts";
import { areas } from "./checks/areas.ts";
import { batch } from "./checks/batch.ts";
import { bodies } from "./checks/bodies.ts";
import { checkinChanges } from "./checks/checkin-changes.ts";
import { checkinPermissions } from "./checks/checkin-permissions.ts";
import { checkins } from "./checks/checkins.ts";
import { devices } from "./checks/devices.ts";
import { errors, limits, rehearsal } from "./checks/errors.ts";
import { events } from "./checks/events.ts";
import { files } from "./checks/files.ts";
import { hostileHttp } from "./checks/hostile-http.ts";
import { hostileInput } from "./checks/hostile-input.ts";
import { idempotency } from "./checks/idempotency.ts";
import { identities, identityNames } from "./checks/identities.ts";
import { locations } from "./checks/locations.ts";
import { loginGroup, logout, renewal, social } from "./checks/login.ts";
import { metadata } from "./checks/metadata.ts";
import { metrics } from "./checks/metrics.ts";
import { operators } from "./checks/operators.ts";
import { pageTokens, paging } from "./checks/paging.ts";
import { parameters } from "./checks/parameters.ts";
import { passwordReset } from "./checks/password-reset.ts";
import { privacy, privateSearches } from "./checks/privacy.ts";
import { profilePictures } from "./checks/profile-pictures.ts";
import { otherProfiles, profiles } from "./checks/profiles.ts";
import { searchGroup } from "./checks/search.ts";
import { searchOrder } from "./checks/search-order.ts";
import { service } from "./checks/service.ts";
import { streams } from "./checks/streams.ts";
import { tenancy } from "./checks/tenancy.ts";
import { tokens } from "./checks/tokens.ts";
import { transport } from "./checks/transport.ts";
import { uploads } from "./checks/uploads.ts";
import { userSearch } from "./checks/user-search.ts";
import { users } from "./checks/users.ts";
import { dates, ids, locationParameters } from "./checks/values.ts";
import { webhooks } from "./checks/webhooks.ts";

/** Every group, in the order of a run. Groups do not depend on the order. */
export const groups: readonly Group[] = [
  ...[transport, parameters, bodies, dates, locationParameters, ids, errors],
  ...[tokens, devices, users, loginGroup, logout, renewal, rehearsal, social, passwordReset, accounts],
  ...[profiles, otherProfiles, profilePictures, userSearch],
  ...[checkins, locations, files, uploads, checkinChanges, checkinPermissions],
  ...[paging, pageTokens, searchGroup, searchOrder, areas, privacy, privateSearches],
  ...[identities, identityNames, metadata, metrics, tenancy, operators],
  ...[events, streams, webhooks, batch, idempotency, service, hostileInput, hostileHttp, limits],
];

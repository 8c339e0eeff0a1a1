import type { Group } from "./check.ts";
import { bodies } from "./checks/bodies.ts";
import { checkins } from "./checks/checkins.ts";
import { dates } from "./checks/dates.ts";
import { devices } from "./checks/devices.ts";
import { errors } from "./checks/errors.ts";
import { hostileHttp } from "./checks/hostile-http.ts";
import { hostileInput } from "./checks/hostile-input.ts";
import { identities } from "./checks/identities.ts";
import { identityNames } from "./checks/identity-names.ts";
import { ids } from "./checks/ids.ts";
import { locations } from "./checks/locations.ts";
import { loginGroup } from "./checks/login.ts";
import { logout } from "./checks/logout.ts";
import { pageTokens } from "./checks/page-tokens.ts";
import { paging } from "./checks/paging.ts";
import { parameters } from "./checks/parameters.ts";
import { service } from "./checks/service.ts";
import { tenancy } from "./checks/tenancy.ts";
import { tokens } from "./checks/tokens.ts";
import { transport } from "./checks/transport.ts";
import { users } from "./checks/users.ts";

/** Every group, in the order of a run. Which came before makes no difference to any of them. */
export const groups: readonly Group[] = [
  transport,
  parameters,
  bodies,
  dates,
  locations,
  ids,
  errors,
  tokens,
  devices,
  users,
  loginGroup,
  logout,
  checkins,
  paging,
  pageTokens,
  identities,
  identityNames,
  tenancy,
  service,
  hostileInput,
  hostileHttp,
];

import type { Migration } from "../migration.ts";
import { applications } from "./applications.ts";
import { checkins } from "./checkins.ts";
import { crashReports } from "./crash-reports.ts";
import { deployment } from "./deployment.ts";
import { devices } from "./devices.ts";
import { events } from "./events.ts";
import { files } from "./files.ts";
import { idempotency } from "./idempotency.ts";
import { limits } from "./limits.ts";
import { locations } from "./locations.ts";
import { mail } from "./mail.ts";
import { metadata } from "./metadata.ts";
import { metrics } from "./metrics.ts";
import { operators } from "./operators.ts";
import { statistics } from "./statistics.ts";
import { users } from "./users.ts";
import { webhooks } from "./webhooks.ts";

/** Each area comes after the areas to which its tables refer. */
const areas = [
  ...[applications, devices, users, crashReports, checkins, locations, files, metadata, metrics, events, webhooks],
  ...[mail, idempotency, limits, statistics, operators, deployment],
];

/** The schema that all later migrations change. Earlier versions do not know it by this name. */
export const baseline: Migration = {
  name: "0001-baseline",
  refusesOlder: true,
  statements: (ddl) => areas.flatMap((statements) => statements(ddl)),
};

import { applicationKeyOperations } from "./applications/applications.keys.operator.routes.ts";
import { applicationOperations } from "./applications/applications.operator.routes.ts";
import { remoteApplicationOperations } from "./applications/applications.remote.operator.routes.ts";
import { applicationSettingsOperations } from "./applications/applications.settings.operator.routes.ts";
import { auditOperations } from "./audit/audit.operator.routes.ts";
import { batchOperations } from "./batch/batch.routes.ts";
import { checkinsOperatorRoutes } from "./checkins/checkins.operator.routes.ts";
import { checkinsRoutes } from "./checkins/checkins.routes.ts";
import { crashReportOperatorOperations } from "./devices/devices.crash-reports.operator.routes.ts";
import { crashReportOperations } from "./devices/devices.crash-reports.routes.ts";
import { deviceOperatorOperations } from "./devices/devices.operator.routes.ts";
import { deviceOperations } from "./devices/devices.routes.ts";
import { filesOperatorRoutes } from "./files/files.operator.routes.ts";
import { profilePicturesRoutes } from "./files/files.profile-pictures.routes.ts";
import { filesRoutes } from "./files/files.routes.ts";
import type { Route } from "./http/route.ts";
import { identityOperations } from "./identities/identities.routes.ts";
import { metadataOperatorRoutes } from "./metadata/metadata.operator.routes.ts";
import { metadataRoutes } from "./metadata/metadata.routes.ts";
import { metricOperatorOperations } from "./metrics/metrics.operator.routes.ts";
import { metricOperations } from "./metrics/metrics.routes.ts";
import { operatorOperations } from "./operators/operators.routes.ts";
import { operatorSessionOperations } from "./operators/operators.sessions.routes.ts";
import { serviceOperations } from "./service/service.routes.ts";
import type { Services } from "./services.ts";
import { userAccountOperations } from "./users/users.account.routes.ts";
import { userExportOperatorOperations } from "./users/users.export.operator.routes.ts";
import { userOperatorOperations } from "./users/users.operator.routes.ts";
import { userPasswordOperations } from "./users/users.password.routes.ts";
import { userOperations } from "./users/users.routes.ts";
import { userSessionOperations } from "./users/users.sessions.routes.ts";
import { userSocialOperations } from "./users/users.social.routes.ts";
import { userTokenOperatorOperations } from "./users/users.tokens.operator.routes.ts";
import { version } from "./version.ts";

/** All operations, in the order of the documentation. */
export function createRoutes(services: Services): readonly Route[] {
  const { config } = services;
  const legacy = {
    ...services,
    limits: config,
    version,
  };
  return [
    ...deviceOperations.map((declare) => declare(services)),
    ...crashReportOperations.map((declare) => declare(services)),
    ...userSessionOperations.map((declare) => declare(services)),
    ...userPasswordOperations.map((declare) => declare(services)),
    ...userSocialOperations.map((declare) => declare(services)),
    ...userOperations.map((declare) => declare(services)),
    ...userAccountOperations.map((declare) => declare(services)),
    ...identityOperations.map((declare) => declare(services)),
    ...checkinsRoutes(legacy),
    ...filesRoutes(legacy),
    ...profilePicturesRoutes(legacy),
    ...metadataRoutes(legacy),
    ...metricOperations.map((declare) => declare(services)),
    ...batchOperations.map((declare) => declare(services)),
    ...operatorSessionOperations.map((declare) => declare(services)),
    ...operatorOperations.map((declare) => declare(services)),
    ...auditOperations.map((declare) => declare(services)),
    ...applicationOperations.map((declare) => declare(services)),
    ...applicationKeyOperations.map((declare) => declare(services)),
    ...applicationSettingsOperations.map((declare) => declare(services)),
    ...remoteApplicationOperations.map((declare) => declare(services)),
    ...userOperatorOperations.map((declare) => declare(services)),
    ...userTokenOperatorOperations.map((declare) => declare(services)),
    ...userExportOperatorOperations.map((declare) => declare(services)),
    ...deviceOperatorOperations.map((declare) => declare(services)),
    ...checkinsOperatorRoutes(legacy),
    ...filesOperatorRoutes(legacy),
    ...metadataOperatorRoutes(legacy),
    ...crashReportOperatorOperations.map((declare) => declare(services)),
    ...metricOperatorOperations.map((declare) => declare(services)),
    ...serviceOperations.map((declare) => declare(services)),
  ];
}

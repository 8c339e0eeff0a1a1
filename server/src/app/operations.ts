import { impactOperations } from "../applications/applications.impact.operator.routes.ts";
import { applicationKeyOperations } from "../applications/applications.keys.operator.routes.ts";
import { applicationOperations } from "../applications/applications.operator.routes.ts";
import { remoteApplicationOperations } from "../applications/applications.remote.operator.routes.ts";
import { effectiveSettingsOperations } from "../applications/applications.settings.effective.operator.routes.ts";
import { applicationSettingsOperations } from "../applications/applications.settings.operator.routes.ts";
import { applicationSettingsTestOperations } from "../applications/applications.settings.tests.operator.routes.ts";
import { auditOperations } from "../audit/audit.operator.routes.ts";
import { batchOperations } from "../batch/batch.routes.ts";
import { checkinOperations, checkinOperatorOperations } from "../checkins/checkins.routes.ts";
import type { Route } from "../contract/route.ts";
import { deploymentOperations } from "../deployment/deployment.operator.routes.ts";
import { crashReportOperatorOperations } from "../devices/devices.crash-reports.operator.routes.ts";
import { crashReportOperations } from "../devices/devices.crash-reports.routes.ts";
import { deviceOperatorOperations } from "../devices/devices.operator.routes.ts";
import { deviceOperations } from "../devices/devices.routes.ts";
import { testDeviceOperations } from "../devices/devices.test-devices.operator.routes.ts";
import { eventOperatorOperations } from "../events/events.operator.routes.ts";
import { eventOperations } from "../events/events.routes.ts";
import { streamOperations } from "../events/events.stream.routes.ts";
import { fileOperatorOperations } from "../files/files.operator.routes.ts";
import { profilePictureOperations } from "../files/files.profile-pictures.routes.ts";
import { fileOperations } from "../files/files.routes.ts";
import { identityOperatorOperations } from "../identities/identities.operator.routes.ts";
import { identityOperations } from "../identities/identities.routes.ts";
import { locationFlagOperations, locationFlagOperatorOperations } from "../locations/locations.flags.routes.ts";
import { locationOperatorOperations } from "../locations/locations.operator.routes.ts";
import { locationOperations } from "../locations/locations.routes.ts";
import { metadataOperatorOperations } from "../metadata/metadata.operator.routes.ts";
import { metadataOperations } from "../metadata/metadata.routes.ts";
import { metricOperatorOperations } from "../metrics/metrics.operator.routes.ts";
import { metricOperations } from "../metrics/metrics.routes.ts";
import type { Operation } from "../operations/operation.ts";
import type { Services } from "../operations/services.ts";
import { operatorOperations } from "../operators/operators.routes.ts";
import { operatorSessionOperations } from "../operators/operators.sessions.routes.ts";
import { requestOperations } from "../operators/requests.operator.routes.ts";
import { searchOperations } from "../operators/search.operator.routes.ts";
import { serviceOperations } from "../service/service.routes.ts";
import { statisticsOperations } from "../statistics/statistics.operator.routes.ts";
import { userAccountOperations } from "../users/users.account.routes.ts";
import { usersOfDeviceOperations } from "../users/users.devices.operator.routes.ts";
import { userEditingOperatorOperations } from "../users/users.editing.operator.routes.ts";
import { erasureOperatorOperations } from "../users/users.erasures.operator.routes.ts";
import { userExportOperatorOperations } from "../users/users.export.operator.routes.ts";
import { userLoginOperations } from "../users/users.login.routes.ts";
import { userOperatorOperations } from "../users/users.operator.routes.ts";
import { userPasswordOperations } from "../users/users.password.routes.ts";
import { userOperations } from "../users/users.routes.ts";
import { userSessionOperations } from "../users/users.sessions.routes.ts";
import { userSocialOperations } from "../users/users.social.routes.ts";
import { testUserOperations } from "../users/users.test-users.operator.routes.ts";
import { userTokenOperatorOperations } from "../users/users.tokens.operator.routes.ts";
import { userVerificationOperations } from "../users/users.verification.routes.ts";
import { webhookDeliveryOperations } from "../webhooks/webhooks.deliveries.operator.routes.ts";
import { webhookOperations } from "../webhooks/webhooks.operator.routes.ts";

/** All operations, in the order of the documentation. */
const operations: readonly Operation[] = [
  ...deviceOperations,
  ...crashReportOperations,
  ...userSessionOperations,
  ...userLoginOperations,
  ...userPasswordOperations,
  ...userVerificationOperations,
  ...userSocialOperations,
  ...userOperations,
  ...userAccountOperations,
  ...identityOperations,
  ...checkinOperations,
  ...locationOperations,
  ...locationFlagOperations,
  ...fileOperations,
  ...profilePictureOperations,
  ...metadataOperations,
  ...metricOperations,
  ...eventOperations,
  ...streamOperations,
  ...batchOperations,
  ...operatorSessionOperations,
  ...operatorOperations,
  ...auditOperations,
  ...searchOperations,
  ...applicationOperations,
  ...applicationKeyOperations,
  ...impactOperations,
  ...applicationSettingsOperations,
  ...effectiveSettingsOperations,
  ...applicationSettingsTestOperations,
  ...remoteApplicationOperations,
  ...userOperatorOperations,
  ...userEditingOperatorOperations,
  ...userTokenOperatorOperations,
  ...userExportOperatorOperations,
  ...erasureOperatorOperations,
  ...usersOfDeviceOperations,
  ...identityOperatorOperations,
  ...deviceOperatorOperations,
  ...checkinOperatorOperations,
  ...locationOperatorOperations,
  ...locationFlagOperatorOperations,
  ...fileOperatorOperations,
  ...eventOperatorOperations,
  ...metadataOperatorOperations,
  ...webhookOperations,
  ...webhookDeliveryOperations,
  ...crashReportOperatorOperations,
  ...metricOperatorOperations,
  ...testDeviceOperations,
  ...testUserOperations,
  ...statisticsOperations,
  ...requestOperations,
  ...deploymentOperations,
  ...serviceOperations,
];

/** All routes of a process. */
export function createRoutes(services: Services): readonly Route[] {
  return operations.map((declare) => declare(services));
}

import { identifyCrash } from "../crashes/crash-identity.ts";
import type { CrashReportRow } from "../db/tables.ts";
import { ApiError } from "../lib/errors.ts";
import { operation } from "../operations/operation.ts";
import { CrashReport, CreateCrashReport, presentCrashReport } from "./devices.crash-reports.contract.ts";
import { insertCrashReport } from "./devices.crash-reports.store.ts";
import { findDevice } from "./devices.store.ts";

const createCrashReport = operation({
  method: "POST",
  path: "/devices/current/crashreports",
  operation: "createCrashReport",
  summary: "Report a crash of the app on the device of the token",
  description: "Stores the report. Operators read it grouped with those of the same bug.",
  tag: "Devices",
  caller: "device",
  parameters: CreateCrashReport,
  status: 201,
  result: CrashReport,
  errors: [],
  async handle({ caller: { applicationId, deviceId }, parameters }, { database, clock, ids, events }) {
    const { stackTrace, message, methodName, location, tag } = parameters;
    // Outside the transaction, because it is slow.
    const { fingerprint, title } = identifyCrash(stackTrace, message ?? null);
    const report = await database.write(async ({ queries }) => {
      const device = await findDevice(applicationId, deviceId, queries);
      if (device === undefined) throw new ApiError("AuthAccessTokenInvalid"); // deleted after the token was checked
      const row: CrashReportRow = {
        application_id: applicationId,
        id: ids.newId("CrashReport"),
        device_id: deviceId,
        stack_trace: stackTrace,
        message: message ?? null,
        method_name: methodName ?? null,
        tag: tag ?? null,
        lat: location?.lat ?? null,
        lng: location?.lng ?? null,
        // The versions at the time of the crash, which the device may leave later.
        app_version: device.app_version,
        os_version: device.os_version,
        created_at: clock.now(),
        fingerprint,
      };
      const isFirst = await insertCrashReport(row, { title, platform: device.platform }, queries);
      if (isFirst) await events.record(applicationId, { type: "crash_group.opened", objectId: fingerprint }, queries);
      return row;
    });
    return presentCrashReport(report);
  },
});

/** The endpoint that apps send crash reports to (spec/devices#send-a-crash-report). */
export const crashReportOperations = [createCrashReport];

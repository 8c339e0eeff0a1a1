import { named, type Static, Type } from "../contract/schema.ts";
import { LocationInput, Text, WireDate, WireLocation } from "../contract/wire.ts";
import { identifyCrash } from "../crashes/crash-identity.ts";
import type { CrashReportRow } from "../db/tables.ts";
import { formatDate } from "../lib/dates.ts";
import { ApiError } from "../lib/errors.ts";
import { operation } from "../operations/operation.ts";
import { insertCrashReport } from "./devices.crash-reports.store.ts";
import { findDevice } from "./devices.store.ts";

const CreateCrashReport = Type.Object({
  stackTrace: Text({ maxLength: 65_536 }),
  message: Type.Optional(Text({ maxLength: 4_000 })),
  methodName: Type.Optional(Text({ maxLength: 1_000 })),
  location: Type.Optional(LocationInput()),
  tag: Type.Optional(Text({ maxLength: 256, description: "A free text of the app." })),
});

const CrashReport = named(
  "CrashReport",
  "A crash of the app on a device.",
  Type.Object({
    id: Type.String(),
    stackTrace: Type.String(),
    message: Type.Optional(Type.String()),
    methodName: Type.Optional(Type.String()),
    location: Type.Optional(WireLocation),
    tag: Type.Optional(Type.String({ description: "A free text of the app." })),
    created: WireDate,
    lastModified: WireDate,
  }),
);

function presentCrashReport(report: CrashReportRow): Static<typeof CrashReport> {
  const { lat, lng } = report;
  const created = formatDate(report.created_at);
  return {
    id: report.id,
    stackTrace: report.stack_trace,
    ...(report.message !== null && { message: report.message }),
    ...(report.method_name !== null && { methodName: report.method_name }),
    ...(lat !== null && lng !== null && { location: { lat, lng } }),
    ...(report.tag !== null && { tag: report.tag }),
    created,
    lastModified: created, // a report never changes
  };
}

const createCrashReport = operation({
  method: "POST",
  path: "/devices/current/crashreports",
  operation: "createCrashReport",
  summary: "Report a crash of the app on the device of the token",
  description: "Stores the report. Operators see it grouped with other reports of the same bug.",
  tag: "Devices",
  caller: "device",
  parameters: CreateCrashReport,
  status: 201,
  result: CrashReport,
  errors: [],
  async handle({ caller: { applicationId, deviceId }, parameters }, { database, clock, ids, events }) {
    const { stackTrace, message, methodName, location, tag } = parameters;
    // Before the transaction, because it is slow.
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
        // Copied, because the device may be updated later.
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

import { named, type Static, Type } from "../contract/schema.ts";
import { LocationInput, Text, WireDate, WireLocation } from "../contract/wire.ts";
import type { CrashReportRow } from "../db/tables.ts";
import { formatDate } from "../lib/dates.ts";

export const CreateCrashReport = Type.Object({
  stackTrace: Text({ maxLength: 65_536 }),
  message: Type.Optional(Text({ maxLength: 4_000 })),
  methodName: Type.Optional(Text({ maxLength: 1_000 })),
  location: Type.Optional(LocationInput()),
  tag: Type.Optional(Text({ maxLength: 256, description: "Any text of the app." })),
});

export const CrashReport = named(
  "CrashReport",
  "A crash of the app on a device.",
  Type.Object({
    id: Type.String(),
    stackTrace: Type.String(),
    message: Type.Optional(Type.String()),
    methodName: Type.Optional(Type.String()),
    location: Type.Optional(WireLocation),
    tag: Type.Optional(Type.String({ description: "Any text of the app." })),
    created: WireDate,
    lastModified: WireDate,
  }),
);

export function presentCrashReport(report: CrashReportRow): Static<typeof CrashReport> {
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

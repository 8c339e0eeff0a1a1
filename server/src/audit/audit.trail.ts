import { holdApplication } from "../auth/operated-application.ts";
import type { Database } from "../db/database.ts";
import type { OperatorAction, Trail } from "../http/operations.ts";
import { Created } from "../http/route.ts";
import type { ObjectSchema } from "../http/schema.ts";
import { isTellable } from "../http/wire.ts";
import { kindOfId } from "../lib/ids.ts";
import { type AuditEvent, calledBy, refusedWith } from "./audit.events.ts";
import type { Audit } from "./audit.ts";

type Values = Readonly<Record<string, unknown>>;

/** Puts whatever operators change into the audit log, and what they may not do: no operation has to think of it. */
export function createTrail({ audit, database }: { readonly audit: Audit; readonly database: Database }): Trail {
  return {
    record: (action, { path, parameters }, work) =>
      database.together(
        async () => {
          const { appid } = path;
          if (typeof appid === "string") {
            await database.write(({ queries }) => holdApplication(appid, database.dialect, queries));
          }
          const result = await work();
          const told = tellParameters(action.route.parameters, parameters);
          const event = eventOf(action, path, createdId(result), told);
          await database.write(({ queries }) => audit.record(event, queries));
          return result;
        },
        { isSplittable: false },
      ),

    noteRefusal(action) {
      // It was refused before anything was read, so what stands there may be anything.
      const ids = Object.entries(action.call.path).filter(([, value]) => kindOfId(`${value}`) !== undefined);
      const event = eventOf(action, Object.fromEntries(ids), undefined, {});
      return audit.note({ ...event, ...refusedWith("ObjectPermissionDenied") });
    },
  };
}

/** The target is what the path names last, or what has been created. */
function eventOf(
  { caller, route, call }: OperatorAction,
  path: Values,
  created: string | undefined,
  details: NonNullable<AuditEvent["details"]>,
): AuditEvent {
  const { appid, ...rest } = path;
  const named = Object.entries(rest).map(([name, value]) => [name, `${value}`] as const);
  const target = named.pop()?.[1] ?? created;
  const isApplication = target !== undefined && kindOfId(target) === "App";
  const applicationId = appid === undefined ? (isApplication ? target : undefined) : `${appid}`;
  return {
    ...calledBy(caller, call),
    action: route.operation,
    applicationId,
    target: target ?? applicationId,
    details: { ...Object.fromEntries(named), ...details },
  };
}

function createdId(result: unknown): string | undefined {
  const made: unknown = result instanceof Created ? result.result : result;
  const { id, appid } = Object(made) as { id?: unknown; appid?: unknown }; // whatever it is, it can be asked for members
  return [id, appid].find((each) => typeof each === "string");
}

/** What was given, and what it was where that can be neither a secret nor a name. */
function tellParameters(shape: ObjectSchema | undefined, parameters: Values): NonNullable<AuditEvent["details"]> {
  const told: Record<string, string | number | boolean> = {};
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined) continue;
    const schema = shape?.properties[name];
    const isPlain = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
    told[name] = isPlain && schema !== undefined && isTellable(schema) ? value : "given";
  }
  return told;
}

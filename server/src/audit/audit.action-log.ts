import { holdApplication } from "../auth/operated-application.ts";
import { Created } from "../contract/route.ts";
import type { ObjectSchema } from "../contract/schema.ts";
import { isAuditable } from "../contract/wire.ts";
import type { Database } from "../db/database.ts";
import { fieldsOf } from "../lib/fields.ts";
import { kindOfId } from "../lib/ids.ts";
import type { ActionLog, OperatorAction } from "../operations/perform.ts";
import { notedChanges } from "./audit.changes.ts";
import { type AuditEvent, calledBy, refusedWith } from "./audit.events.ts";
import type { Audit } from "./audit.ts";

type Values = Readonly<Record<string, unknown>>;

/** Records every change and every refused change of operators in the audit log, so that no operation has to do it. */
export function createActionLog({
  audit,
  database,
}: {
  readonly audit: Audit;
  readonly database: Database;
}): ActionLog {
  return {
    record: (action, { path, parameters }, work) =>
      database.nestTransactions(
        async () => {
          const { appid } = path;
          if (typeof appid === "string") {
            await database.write(({ queries }) => holdApplication(appid, database.dialect, queries));
          }
          const result = await work();
          const described = describeParameters(action.route.parameters, parameters);
          const event = eventOf(action, path, createdId(result), described);
          const changes = notedChanges(action.call);
          await database.write(({ queries }) => audit.record({ ...event, changes }, queries));
          return result;
        },
        { isSplittable: false },
      ),

    noteRefusal(action) {
      // A refusal may precede validation, so the parameter can be anything.
      const ids = Object.entries(action.call.path).filter(([, value]) => kindOfId(`${value}`) !== undefined);
      const event = eventOf(action, Object.fromEntries(ids), undefined, {});
      return audit.note({ ...event, ...refusedWith("ObjectPermissionDenied") });
    },
  };
}

/** The target is the last id in the path, or the created object. */
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
  const { id, appid } = fieldsOf(made);
  return [id, appid].find((each) => typeof each === "string");
}

/** The given parameters, with their values where these can be neither secrets nor names. */
function describeParameters(shape: ObjectSchema | undefined, parameters: Values): NonNullable<AuditEvent["details"]> {
  const described: Record<string, string | number | boolean> = {};
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined) continue;
    const schema = shape?.properties[name];
    const isPlain = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
    described[name] = isPlain && schema !== undefined && isAuditable(schema) ? value : "given";
  }
  return described;
}

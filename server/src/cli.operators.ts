import { type AuditEvent, atTerminal, newAuditRow } from "./audit/audit.events.ts";
import { insertAuditRows, listAuditRows } from "./audit/audit.store.ts";
import { operatorTicket } from "./auth/hash-queue.ts";
import { createPasswords } from "./auth/passwords.ts";
import { type Command, createClockAndIds, UsageError, withDatabase } from "./cli.command.ts";
import type { Queries } from "./db/database.ts";
import { kindOfId } from "./lib/ids.ts";
import { newOperatorPassword } from "./lib/secrets.ts";
import { readOperatorName } from "./operators/operators.names.ts";
import { newOperator } from "./operators/operators.new.ts";
import {
  deleteOperator,
  insertOperator,
  listOperators,
  type OperatorChange,
  type OperatorRefusal,
  updateOperator,
} from "./operators/operators.store.ts";
import { operatorRoles, parseRole } from "./roles.ts";

/** The maximum number of audit log entries to print. */
const entriesMax = 1_000;

/** The commands about operators and the audit log. */
export const operatorCommands: Readonly<Record<string, Command>> = {
  "operators create": (config, { name, role = "viewer" }) =>
    withDatabase(config, async (database) => {
      if (name === undefined) throw new UsageError("operators create needs --name");
      const wanted = { name: readOperatorName(name), role: requireRole(role) };
      const passwords = createPasswords(config, database);
      const { row, password } = await newOperator(wanted, { passwords, ...createClockAndIds() });
      await database.write(async ({ queries }) => {
        if (!(await insertOperator(row, queries))) {
          throw new UsageError(`an operator named ${row.name} already exists`);
        }
        await recordCommand({ action: "createOperator", target: row.id, details: { role: row.role } }, queries);
      });
      const shown = { id: row.id, name: row.name, role: row.role, password };
      const lines = Object.entries(shown).map(([label, value]) => `${label.padEnd(8)}  ${value}`);
      return { json: shown, text: lines.join("\n") };
    }),

  "operators list": (config) =>
    withDatabase(config, async (database) => {
      const rows = (await listOperators(database.reads)).map((operator) => ({
        id: operator.id,
        name: operator.name,
        role: operator.role,
        created: new Date(operator.created_at).toISOString(),
        lastLogin: operator.last_login_at === null ? "" : new Date(operator.last_login_at).toISOString(),
      }));
      const columns = ["id", "name", "role", "created", "lastLogin"];
      return { json: rows, text: { columns, rows } };
    }),

  "operators role": (config, _values, [given, role]) =>
    withDatabase(config, async (database) => {
      const id = requireOperatorId("role", given);
      if (role === undefined) throw new UsageError("operators role needs a ROLE");
      const change: OperatorChange = { role: requireRole(role) };
      await database.write(async ({ queries }) => {
        requireSuccess(id, await updateOperator(id, change, database.dialect, queries));
        await recordCommand({ action: "changeOperator", target: id, details: change }, queries);
      });
      return { json: { id, role: change.role }, text: `${id} is ${change.role}` };
    }),

  "operators password": (config, _values, [given]) =>
    withDatabase(config, async (database) => {
      const id = requireOperatorId("password", given);
      const password = newOperatorPassword();
      const change: OperatorChange = {
        password_hash: await createPasswords(config, database).hash(password, operatorTicket(undefined, "command")),
      };
      await database.write(async ({ queries }) => {
        requireSuccess(id, await updateOperator(id, change, database.dialect, queries));
        await recordCommand({ action: "changeOperator", target: id, details: { password: "given" } }, queries);
      });
      return { json: { id, password }, text: `id        ${id}\npassword  ${password}` };
    }),

  "operators delete": (config, { yes = false }, [given]) =>
    withDatabase(config, async (database) => {
      const id = requireOperatorId("delete", given);
      if (!yes) throw new UsageError("operators delete ends the operator's sessions at once: confirm with --yes");
      await database.write(async ({ queries }) => {
        requireSuccess(id, await deleteOperator(id, database.dialect, queries));
        await recordCommand({ action: "deleteOperator", target: id }, queries);
      });
      return { json: { id, deleted: true }, text: `deleted ${id}` };
    }),

  audit: (config, { app }) =>
    withDatabase(config, async (database) => {
      if (app !== undefined && kindOfId(app) !== "App") throw new UsageError("--app needs an APPID");
      const { rows } = await listAuditRows({ applicationId: app }, { at: "start" }, entriesMax, database.reads);
      const entries = rows.map((row) => ({
        at: new Date(row.at).toISOString(),
        actor: row.actor_id,
        name: row.actor_name,
        action: row.action,
        app: row.application_id,
        target: row.target,
        address: row.address,
        requestId: row.request_id,
        details: row.details,
        ...(row.count > 1 && { count: row.count, lastSeen: new Date(row.last_at ?? row.at).toISOString() }),
      }));
      const columns = ["at", "actor", "name", "action", "app", "target", "address", "requestId", "details"];
      columns.push("count", "lastSeen"); // at the end, because scripts may read the other columns by position
      const parsed = entries.map((entry) => ({ ...entry, details: JSON.parse(entry.details) }));
      const printed = entries.map((entry) => ({
        ...entry,
        count: `${entry.count ?? ""}`,
        lastSeen: entry.lastSeen ?? "",
      }));
      return { json: parsed, text: { columns, rows: printed } };
    }),
};

/** Records a command in the audit log, in the transaction of its change. */
export async function recordCommand(event: Omit<AuditEvent, "actor">, queries: Queries): Promise<void> {
  const { clock, ids } = createClockAndIds();
  await insertAuditRows([newAuditRow({ ...event, ...atTerminal }, clock.now(), ids)], queries);
}

function requireRole(text: string) {
  const role = parseRole(text);
  if (role === undefined) throw new UsageError(`the role must be one of ${operatorRoles.join(", ")}`);
  return role;
}

function requireOperatorId(command: string, given: string | undefined): string {
  if (given === undefined || kindOfId(given) !== "Operator") throw new UsageError(`operators ${command} needs an ID`);
  return given;
}

function requireSuccess(id: string, done: object | OperatorRefusal | undefined): void {
  if (done === "is not there") throw new UsageError(`there is no operator ${id}`);
  if (typeof done === "string") throw new UsageError(`${id} ${done}`);
}

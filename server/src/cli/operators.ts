import { listAudit } from "../audit/audit.operator.routes.ts";
import { operatorRoles, parseRole } from "../config/roles.ts";
import { newOperatorPassword } from "../lib/secrets.ts";
import { readOperatorName } from "../operators/operators.names.ts";
import { changeOperator, createOperator, listOperators, removeOperator } from "../operators/operators.routes.ts";
import { type Command, requireId, UsageError } from "./command.ts";
import { asOperator, operationCommand, showDate } from "./operator.ts";

/** The maximum number of printed audit log entries. */
const entriesMax = 1_000;

/** The commands for operators and the audit log. */
export const commands = {
  "operators create": (config, { name, role = "viewer" }) =>
    asOperator(config, async ({ perform }) => {
      if (name === undefined) throw new UsageError("operators create needs --name");
      const parameters = { name: readOperatorName(name), role: requireRole(role) };
      const refusals = { ItemAlreadyExists: `an operator named ${parameters.name} already exists` };
      const { id, password } = await perform(createOperator, { parameters, refusals });
      const shown = { id, ...parameters, password };
      const lines = Object.entries(shown).map(([label, value]) => `${label.padEnd(8)}  ${value}`);
      return { json: shown, text: lines.join("\n") };
    }),

  "operators list": (config) =>
    asOperator(config, async ({ list }) => {
      const operators = await list(listOperators);
      const rows = operators.map(({ id, name, role, created, lastLogin }) => ({
        id,
        name,
        role,
        created: showDate(created),
        lastLogin: showDate(lastLogin),
      }));
      const columns = ["id", "name", "role", "created", "lastLogin"];
      return { json: rows, text: { columns, rows } };
    }),

  "operators role": (config, _values, rest) =>
    asOperator(config, async ({ perform }) => {
      const { id, ...call } = readOperator("role")(rest);
      const [, role] = rest;
      if (role === undefined) throw new UsageError("operators role needs a ROLE");
      const parameters = { role: requireRole(role) };
      await perform(changeOperator, { ...call, parameters });
      return { json: { id, ...parameters }, text: `${id} is ${parameters.role}` };
    }),

  "operators password": (config, _values, rest) =>
    asOperator(config, async ({ perform }) => {
      const { id, ...call } = readOperator("password")(rest);
      const password = newOperatorPassword();
      await perform(changeOperator, { ...call, parameters: { password } });
      return { json: { id, password }, text: `id        ${id}\npassword  ${password}` };
    }),

  "operators delete": operationCommand(
    removeOperator,
    readOperator("delete"),
    (id) => ({ json: { id, deleted: true }, text: `deleted ${id}` }),
    "operators delete ends the operator's sessions at once: confirm with --yes",
  ),

  audit: (config, { app }) =>
    asOperator(config, async ({ list }) => {
      const parameters = app === undefined ? {} : { appid: requireId("audit --app", "App", app) };
      const entries = await list(listAudit, { parameters }, entriesMax);
      const shown = entries.map(({ actor, target = "", address = "", requestId = "", ...entry }) => ({
        at: showDate(entry.at),
        actor: actor.id ?? actor.kind,
        name: actor.name ?? "",
        action: entry.action,
        app: entry.appid ?? "",
        target,
        address,
        requestId,
        details: entry.details,
        ...(entry.count !== undefined && { count: entry.count, lastSeen: showDate(entry.lastSeen) }),
      }));
      const columns = ["at", "actor", "name", "action", "app", "target", "address", "requestId", "details"];
      columns.push("count", "lastSeen"); // last, because scripts may read the other columns by position
      const parsed = shown.map((entry) => ({ ...entry, details: JSON.parse(entry.details) }));
      const printed = shown.map((entry) => ({
        ...entry,
        count: `${entry.count ?? ""}`,
        lastSeen: entry.lastSeen ?? "",
      }));
      return { json: parsed, text: { columns, rows: printed } };
    }),
} satisfies Readonly<Record<string, Command>>;

function requireRole(text: string) {
  const role = parseRole(text);
  if (role === undefined) throw new UsageError(`the role must be one of ${operatorRoles.join(", ")}`);
  return role;
}

function readOperator(verb: string) {
  return ([given]: readonly string[]) => {
    const id = requireId(`operators ${verb}`, "Operator", given);
    const refusals = {
      ItemDoesNotExist: `there is no operator ${id}`,
      ObjectPermissionDenied: `${id} is the last owner`,
    };
    return { id, path: { operatorId: id }, refusals };
  };
}

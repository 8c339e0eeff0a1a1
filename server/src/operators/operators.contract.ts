import type { OperatorRole } from "../config/roles.ts";
import { PageOf, pagingParameters } from "../contract/paging.ts";
import { enumeration, extended, named, type Static, Type } from "../contract/schema.ts";
import { Choice, IdInput, Text, WireDate } from "../contract/wire.ts";
import type { OperatorRow } from "../db/tables.ts";
import { formatDate } from "../lib/dates.ts";

/** Longer than for users, because an operator can read the data of all users. */
const NewPassword = Text({ minLength: 12, maxLength: 1024, keepsEmpty: true, description: "The new password." });

const Role = enumeration<OperatorRole>("OperatorRole", "The permissions of an operator.", {
  viewer: "Read everything.",
  editor: "Change everything except operators, too.",
  owner: "Manage the operators, too.",
});

const Name = Text({ maxLength: 1024, description: "Unique, at most 256 characters." });

export const OperatorPath = Type.Object({ operatorId: IdInput("Operator") });

const Include = enumeration("OperatorInclude", "Additional members of the result.", {
  access: "How many sessions each operator has, and which one is the last owner.",
});

export const ListOperators = Type.Object({
  include: Type.Optional(Choice(Include, { description: "Additional members of the result." })),
  ...pagingParameters,
});

export const CreateOperator = Type.Object({
  name: Name,
  role: Choice(Role),
  password: Type.Optional({ ...NewPassword, description: "Without one, the answer holds a new one, this once." }),
});

export const ChangeOperator = Type.Object({
  name: Type.Optional(Name),
  role: Type.Optional(Choice(Role)),
  password: Type.Optional({ ...NewPassword, description: "Ends the sessions of the operator." }),
});

export const ChangeOwnOperator = Type.Object({
  password: NewPassword,
  currentPassword: Text({ keepsEmpty: true, description: "The empty text is a wrong password." }),
});

const members = {
  id: Type.String(),
  name: Type.String(),
  role: Role,
  isPasswordSet: Type.Boolean({ description: "An operator without a password cannot sign in." }),
  created: WireDate,
  lastLogin: Type.Optional(WireDate),
  mustChangePassword: Type.Optional({
    ...Type.Literal(true),
    description: "Until the password is changed, all other operations are refused.",
  }),
  sessions: Type.Optional(
    Type.Integer({
      description:
        "With `include=access`: the sessions that have not ended, at most 1,000; of others, for owners only.",
    }),
  ),
  isLastOwner: Type.Optional({
    ...Type.Literal(true),
    description: "With `include=access`, of the only owner, which cannot be deleted or given another role.",
  }),
};

export const Operator = named("Operator", "An operator of the deployment.", Type.Object(members));

export const CreatedOperator = extended("CreatedOperator", "A new operator.", Operator, {
  password: Type.Optional(Type.String({ description: "The password that was made for the operator." })),
});

export const OperatorPage = PageOf(Operator);

/** Omits the hash of the password. */
export function presentOperator(
  row: OperatorRow,
  access: { readonly sessions?: number | undefined; readonly isLastOwner?: boolean } = {},
): Static<typeof Operator> {
  return {
    id: row.id,
    name: row.name,
    role: row.role,
    isPasswordSet: row.password_hash !== "",
    created: formatDate(row.created_at),
    ...(row.last_login_at !== null && { lastLogin: formatDate(row.last_login_at) }),
    ...(row.must_change_password === 1 && { mustChangePassword: true as const }),
    ...(access.sessions !== undefined && { sessions: access.sessions }),
    ...(access.isLastOwner === true && { isLastOwner: true as const }),
  };
}

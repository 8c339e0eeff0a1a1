import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { changeOperator, createOperator, deleteOperator, type Operator, type OperatorRole } from "../api/admin.ts";
import { refetch } from "../api/queries.ts";
import { known, send } from "../api/send.ts";
import { showInvisible } from "../lib/format.ts";
import { explainLoss } from "../lib/lost-answer.ts";
import { withProof } from "../shell/proof.tsx";
import { roleTexts } from "../shell/roles.ts";
import { DangerDialog } from "../ui/danger-dialog.tsx";
import { SelectField, TextField } from "../ui/fields.tsx";
import { FormDialog } from "../ui/form-dialog.tsx";
import { SecretOnce } from "../ui/secret-once.tsx";
import { showToast } from "../ui/toast.tsx";

interface CloseProps {
  readonly onClose: () => void;
}

interface OperatorProps extends CloseProps {
  readonly operator: Operator;
}

const roles = (["viewer", "editor", "owner"] as const).map((value) => ({ value, label: roleTexts[value] }));

export function CreateOperator({ onClose }: CloseProps) {
  const [name, setName] = useState("");
  const [role, setRole] = useState<OperatorRole>("viewer");
  const [password, setPassword] = useState<string>();
  const refresh = useRefresh();

  async function submit() {
    try {
      const remedy = "The operator may exist all the same: look in the list, and set a new password.";
      const created = await withProof(() => explainLoss(() => send(createOperator({ name, role })), remedy));
      setPassword(created.password);
    } finally {
      await refresh();
    }
  }

  if (password !== undefined) {
    return (
      <SecretOnce title={`The password of ${showInvisible(name)}`} secret={password} onClose={onClose}>
        <p>Pass it on over a secure channel, together with the address of this console.</p>
      </SecretOnce>
    );
  }
  return (
    <FormDialog title="Invite an operator" fields={["name"]} action="Invite" onSubmit={submit} onClose={onClose}>
      <TextField label="Name" name="name" autoFocus isRequired value={name} onChange={setName} />
      <SelectField label="Role" value={role} options={roles} onChange={setRole} />
    </FormDialog>
  );
}

interface ChangeRoleProps extends OperatorProps {
  /** Operators must type their own name, so that they do not lower their own role by accident. */
  readonly isMe: boolean;
}

export function ChangeRole({ operator: { id, name, role: given }, isMe, onClose }: ChangeRoleProps) {
  const before = known(given);
  const [role, setRole] = useState(before);
  const [typed, setTyped] = useState("");
  const refresh = useRefresh();

  async function change(to: OperatorRole) {
    await withProof(() => send(changeOperator(id, { role: to })));
    await refresh();
  }

  async function submit() {
    await change(role);
    showToast(`${showInvisible(name)} is ${role} now.`, isMe ? undefined : () => change(before));
    onClose();
  }

  return (
    <FormDialog
      title={`The role of ${showInvisible(name)}`}
      fields={["role"]}
      action="Change the role"
      isReady={role !== before && (!isMe || typed === name)}
      onSubmit={submit}
      onClose={onClose}
    >
      <SelectField label="Role" value={role} options={roles} onChange={setRole} />
      {isMe && (
        <TextField
          label={`This is your own role: type “${name}” to change it`}
          autoComplete="off"
          value={typed}
          onChange={setTyped}
        />
      )}
    </FormDialog>
  );
}

export function NewPassword({ operator: { id, name }, onClose }: OperatorProps) {
  const [password, setPassword] = useState("");
  const refresh = useRefresh();

  async function submit() {
    await withProof(() => send(changeOperator(id, { password })));
    await refresh();
    showToast(`${showInvisible(name)} has a new password, and was signed out.`);
    onClose();
  }

  return (
    <FormDialog
      title={`A new password for ${showInvisible(name)}`}
      lead={<p>It ends all sessions of this operator.</p>}
      fields={["password"]}
      action="Set the password"
      onSubmit={submit}
      onClose={onClose}
    >
      <TextField
        label="New password"
        name="password"
        type="password"
        autoComplete="new-password"
        hint="12 characters or more."
        autoFocus
        isRequired
        minLength={12}
        value={password}
        onChange={setPassword}
      />
    </FormDialog>
  );
}

export function DeleteOperator({ operator: { id, name }, onClose }: OperatorProps) {
  const refresh = useRefresh();

  async function confirm() {
    await withProof(() => send(deleteOperator(id)));
    await refresh();
    showToast(`Deleted the operator ${showInvisible(name)}.`);
  }

  return (
    <DangerDialog
      title={`Delete the operator ${showInvisible(name)}?`}
      lead="Ends at once, and cannot be undone"
      typed={name}
      command={`npx rollcall operators delete ${id} --yes`}
      action="Delete the operator"
      onConfirm={confirm}
      onClose={onClose}
    >
      <p>All sessions of this operator end. What the operator did stays in the audit log, under this name.</p>
    </DangerDialog>
  );
}

function useRefresh() {
  const queries = useQueryClient();
  return () => refetch(queries, ["operators"], ["session"]);
}

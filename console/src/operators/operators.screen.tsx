import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { listOperators, type Operator } from "../api/admin.ts";
import { refetch, usePages } from "../api/queries.ts";
import { send } from "../api/send.ts";
import { endOperatorSessions } from "../api/sessions.ts";
import { formatNumber, showInvisible } from "../lib/format.ts";
import KeyRound from "../lib/icons/key-round.ts";
import LogOut from "../lib/icons/log-out.ts";
import Plus from "../lib/icons/plus.ts";
import Trash from "../lib/icons/trash-2.ts";
import UserCog from "../lib/icons/user-cog.ts";
import Users from "../lib/icons/users.ts";
import { useRole, useSession } from "../shell/session.ts";
import { Button } from "../ui/button.tsx";
import { DangerDialog } from "../ui/danger-dialog.tsx";
import { type Column, DataTable } from "../ui/data-table.tsx";
import type { MenuAction } from "../ui/menu.tsx";
import { Page, Split } from "../ui/page.tsx";
import { EmptyState } from "../ui/states.tsx";
import { Status } from "../ui/status.tsx";
import { Time } from "../ui/time.tsx";
import { showToast } from "../ui/toast.tsx";
import { OperatorPanel } from "./operator.panel.tsx";
import { ChangeRole, CreateOperator, DeleteOperator, NewPassword } from "./operators.dialogs.tsx";

const columns: readonly Column<Operator>[] = [
  { name: "Name", width: "minmax(160px, 2fr)", narrow: "title", render: ({ name }) => showInvisible(name) },
  {
    name: "Role",
    width: "minmax(110px, 1fr)",
    narrow: "end",
    render: ({ role, isLastOwner }) => (isLastOwner ? "last owner" : role),
  },
  {
    name: "Password",
    width: "minmax(120px, 1fr)",
    render: ({ isPasswordSet }) =>
      isPasswordSet ? <Status kind="good">Set</Status> : <Status kind="warning">None</Status>,
  },
  {
    name: "Last sign-in",
    width: "minmax(120px, 1fr)",
    narrow: "line",
    render: ({ lastLogin }) => (lastLogin === undefined ? "Never signed in" : <Time value={lastLogin} />),
  },
  {
    name: "Sessions now",
    width: "140px",
    isNumber: true,
    render: ({ sessions }) => sessions !== undefined && formatNumber(sessions),
  },
  { name: "Created", width: "minmax(110px, 1fr)", render: ({ created }) => <Time value={created} /> },
];

type Opened =
  | { readonly dialog: "create" }
  | { readonly dialog: "role" | "password" | "sessions" | "delete"; readonly operator: Operator };

export function OperatorsScreen() {
  const { panel } = useSearch({ from: "/frame/operators" });
  const navigate = useNavigate({ from: "/operators" });
  const [opened, setOpened] = useState<Opened>();
  const me = useSession().operator;
  const isOwner = useRole("owner");
  const pages = usePages(["operators", "list"], (page, options) =>
    send(listOperators({ include: "access", ...page }), options),
  );
  const open = pages.rows.find(({ id }) => id === panel);
  const close = () => setOpened(undefined);

  function showPanel(id: string | undefined) {
    void navigate({ search: { panel: id }, replace: panel !== undefined });
  }

  function actionsOf(operator: Operator): MenuAction[] {
    const isMe = operator.id === me.id;
    const isLastOwner = operator.isLastOwner === true;
    return [
      ...(isLastOwner
        ? []
        : [{ label: "Change the role …", icon: UserCog, run: () => setOpened({ dialog: "role", operator }) } as const]),
      ...(isMe
        ? []
        : [
            {
              label: "New password …",
              icon: KeyRound,
              run: () => setOpened({ dialog: "password", operator }),
            } as const,
            { label: "End sessions …", icon: LogOut, run: () => setOpened({ dialog: "sessions", operator }) } as const,
            {
              label: "Delete …",
              icon: Trash,
              isDanger: true,
              run: () => setOpened({ dialog: "delete", operator }),
            } as const,
          ]),
    ];
  }

  return (
    <Page
      title="Operators"
      isScrolling={false}
      actions={
        isOwner && (
          <Button kind="primary" onPress={() => setOpened({ dialog: "create" })}>
            <Plus size={16} aria-hidden /> Invite an operator
          </Button>
        )
      }
    >
      <Split>
        <DataTable
          label="Operators"
          columns={columns}
          pages={pages}
          idOf={({ id }) => id}
          onPanel={({ id }) => showPanel(id)}
          openId={panel}
          {...(isOwner && { actionsOf })}
          empty={<EmptyState icon={Users} title="There is no operator" />}
        />
        {open !== undefined && (
          <OperatorPanel
            key={open.id}
            operator={open}
            isMe={open.id === me.id}
            showsSessions={isOwner || open.id === me.id}
            actions={isOwner ? actionsOf(open) : []}
            onClose={() => showPanel(undefined)}
          />
        )}
      </Split>
      {opened?.dialog === "create" && <CreateOperator onClose={close} />}
      {opened?.dialog === "role" && (
        <ChangeRole operator={opened.operator} isMe={opened.operator.id === me.id} onClose={close} />
      )}
      {opened?.dialog === "password" && <NewPassword operator={opened.operator} onClose={close} />}
      {opened?.dialog === "sessions" && <EndSessions operator={opened.operator} onClose={close} />}
      {opened?.dialog === "delete" && <DeleteOperator operator={opened.operator} onClose={close} />}
    </Page>
  );
}

function EndSessions({
  operator: { id, name },
  onClose,
}: {
  readonly operator: Operator;
  readonly onClose: () => void;
}) {
  const queries = useQueryClient();
  async function end() {
    await send(endOperatorSessions({ operatorId: id }));
    await refetch(queries, ["sessions"]);
    showToast(`Ended the sessions of ${showInvisible(name)}.`);
  }
  return (
    <DangerDialog
      title={`End all sessions of ${showInvisible(name)}?`}
      lead="Ends at once in every browser and program"
      action="End the sessions"
      onConfirm={end}
      onClose={onClose}
    >
      <p>The password stays as it is, so that this operator can sign in again.</p>
    </DangerDialog>
  );
}

import { useNavigate, useSearch } from "@tanstack/react-router";
import ArrowRight from "lucide-react/icons/arrow-right";
import CirclePause from "lucide-react/icons/circle-pause";
import CirclePlay from "lucide-react/icons/circle-play";
import LayoutGrid from "lucide-react/icons/layout-grid";
import Pencil from "lucide-react/icons/pencil";
import Plus from "lucide-react/icons/plus";
import Trash from "lucide-react/icons/trash-2";
import { useState } from "react";
import { type Application, listApplications } from "../api/applications.ts";
import { usePages } from "../api/pages.ts";
import { showInvisible } from "../lib/format.ts";
import { useShortcuts } from "../lib/shortcuts.ts";
import { CreateApplication, DeleteApplication, RenameApplication } from "../shell/application.dialogs.tsx";
import { ApplicationState, useSuspension } from "../shell/application.state.tsx";
import { homeOf } from "../shell/navigation.ts";
import { useRole } from "../shell/session.ts";
import { Button } from "../ui/button.tsx";
import { type Column, DataTable } from "../ui/data-table.tsx";
import { IdChip } from "../ui/id-chip.tsx";
import type { MenuAction } from "../ui/menu.tsx";
import { Page, Split } from "../ui/page.tsx";
import { EmptyState } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import { ApplicationPanel } from "./application.panel.tsx";

const columns: readonly Column<Application>[] = [
  { name: "Name", width: "minmax(180px, 3fr)", narrow: "title", render: ({ name }) => showInvisible(name) },
  {
    name: "State",
    width: "minmax(120px, 1fr)",
    narrow: "end",
    render: (application) => <ApplicationState application={application} />,
  },
  { name: "Id", width: "minmax(150px, 1fr)", render: ({ id }) => <IdChip id={id} /> },
  { name: "Created", width: "minmax(110px, 1fr)", narrow: "line", render: ({ created }) => <Time value={created} /> },
];

type Opened =
  | { readonly dialog: "create" }
  | { readonly dialog: "rename" | "delete"; readonly application: Application };

export function ApplicationsScreen() {
  const { panel } = useSearch({ from: "/frame/apps" });
  const navigate = useNavigate({ from: "/apps" });
  const [opened, setOpened] = useState<Opened>();
  const [isEditor, isOwner] = [useRole("editor"), useRole("owner")];
  const suspension = useSuspension();
  const pages = usePages(["applications", "list"], listApplications);
  const open = pages.rows.find(({ id }) => id === panel);
  useShortcuts(isEditor ? [{ keys: "n", label: "New application", run: () => setOpened({ dialog: "create" }) }] : []);

  function showPanel(id: string | undefined) {
    void navigate({ search: { panel: id }, replace: panel !== undefined });
  }

  function actionsOf(application: Application): MenuAction[] {
    const home = homeOf(application.id);
    const { suspended } = application;
    const edits: MenuAction[] = [
      { label: "Rename …", icon: Pencil, run: () => setOpened({ dialog: "rename", application }) },
      suspended === undefined
        ? { label: "Suspend", icon: CirclePause, run: () => void suspension.suspend(application) }
        : { label: "Resume", icon: CirclePlay, run: () => void suspension.resume(application) },
    ];
    const remove: MenuAction = {
      label: "Delete …",
      icon: Trash,
      isDanger: true,
      run: () => setOpened({ dialog: "delete", application }),
    };
    return [
      ...(home === undefined ? [] : [{ label: "Open", icon: ArrowRight, run: () => void navigate({ to: home }) }]),
      ...(isEditor ? edits : []),
      ...(isOwner ? [remove] : []),
    ];
  }

  const create = isEditor && (
    <Button kind="primary" onPress={() => setOpened({ dialog: "create" })}>
      <Plus size={16} aria-hidden /> New application
    </Button>
  );
  return (
    <Page title="Applications" isScrolling={false} actions={pages.rows.length > 0 && create}>
      <Split>
        <DataTable
          label="Applications"
          columns={columns}
          pages={pages}
          idOf={({ id }) => id}
          onOpen={openPage(navigate)}
          onPanel={({ id }) => showPanel(id)}
          openId={panel}
          actionsOf={actionsOf}
          empty={
            <EmptyState icon={LayoutGrid} title="Create the first application" action={create}>
              An application is what apps and devices sign in to: its users, devices and data are apart from those of
              all others.
            </EmptyState>
          }
        />
        {open !== undefined && (
          <ApplicationPanel application={open} actions={actionsOf(open)} onClose={() => showPanel(undefined)} />
        )}
      </Split>
      {opened?.dialog === "create" && <CreateApplication onClose={() => setOpened(undefined)} />}
      {opened?.dialog === "rename" && (
        <RenameApplication application={opened.application} onClose={() => setOpened(undefined)} />
      )}
      {opened?.dialog === "delete" && (
        <DeleteApplication application={opened.application} onClose={() => setOpened(undefined)} />
      )}
    </Page>
  );
}

/** The page of an application, where it has one; else its panel opens. */
function openPage(navigate: (to: { to: string }) => unknown) {
  if (homeOf("") === undefined) return undefined;
  return ({ id }: Application) => void navigate({ to: homeOf(id) ?? "/apps" });
}

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
import { formatNumber, formatShare, showInvisible } from "../lib/format.ts";
import { useShortcuts } from "../lib/shortcuts.ts";
import { CreateApplication, DeleteApplication, RenameApplication } from "../shell/application.dialogs.tsx";
import { ApplicationState, useSuspension } from "../shell/application.state.tsx";
import { homeOf } from "../shell/navigation.ts";
import { useRole } from "../shell/session.ts";
import { Button } from "../ui/button.tsx";
import { type Column, DataTable } from "../ui/data-table.tsx";
import type { Filter, FilterValues } from "../ui/filter-chips.tsx";
import { IdChip } from "../ui/id-chip.tsx";
import { ListBar } from "../ui/list-bar.tsx";
import type { MenuAction } from "../ui/menu.tsx";
import { Page, Split } from "../ui/page.tsx";
import { Sparkline } from "../ui/sparkline.tsx";
import { EmptyState, NothingFound } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import { ApplicationPanel } from "./application.panel.tsx";

const columns: readonly Column<Application>[] = [
  { name: "Name", width: "minmax(150px, 3fr)", narrow: "title", render: ({ name }) => showInvisible(name) },
  {
    name: "State",
    width: "120px",
    narrow: "end",
    render: (application) => <ApplicationState application={application} />,
  },
  {
    name: "Calls a minute",
    width: "136px",
    isNumber: true,
    render: ({ activity }) => activity?.callsPerMinute.toLocaleString(undefined, { maximumFractionDigits: 1 }),
  },
  {
    name: "24 hours",
    width: "112px",
    render: ({ activity }) => activity && <Sparkline label="Calls in the last 24 hours" values={activity.hours} />,
  },
  {
    name: "Errors",
    width: "80px",
    isNumber: true,
    render: ({ activity }) =>
      activity !== undefined && activity.calls > 0 && formatShare(activity.errors / activity.calls),
  },
  { name: "Devices", width: "100px", isNumber: true, render: ({ activity }) => activity && counted(activity.devices) },
  { name: "Users", width: "100px", isNumber: true, render: ({ activity }) => activity && counted(activity.users) },
  { name: "Id", width: "150px", render: ({ id }) => <IdChip id={id} /> },
  { name: "Created", width: "110px", narrow: "line", render: ({ created }) => <Time value={created} /> },
];

const filters: readonly Filter[] = [
  {
    name: "state",
    label: "State",
    options: [
      { value: "active", label: "Active" },
      { value: "suspended", label: "Suspended" },
      { value: "moving", label: "Moving" },
    ],
  },
];

const orders = [
  { value: "created", label: "Oldest first" },
  { value: "-created", label: "Newest first" },
  { value: "name", label: "By name" },
];

/** A number that may date from last night is shown as "about". */
function counted({ count, isExact }: { readonly count: number; readonly isExact: boolean }): string {
  return `${isExact ? "" : "~"}${formatNumber(count)}`;
}

type Opened =
  | { readonly dialog: "create" }
  | { readonly dialog: "rename" | "delete"; readonly application: Application };

export function ApplicationsScreen() {
  const { panel, ...search } = useSearch({ from: "/frame/apps" });
  const navigate = useNavigate({ from: "/apps" });
  const [opened, setOpened] = useState<Opened>();
  const [isEditor, isOwner] = [useRole("editor"), useRole("owner")];
  const suspension = useSuspension();
  const pages = usePages(["applications", "list", search], (page, options) =>
    listApplications({ include: "activity", ...search, ...page }, options),
  );
  const { sortOrder, ...narrowing } = search;
  const isFiltered = Object.values(narrowing).some((value) => value !== undefined);
  const open = pages.rows.find(({ id }) => id === panel);
  useShortcuts(isEditor ? [{ keys: "n", label: "New application", run: () => setOpened({ dialog: "create" }) }] : []);

  function showPanel(id: string | undefined) {
    void navigate({ search: { ...search, panel: id }, replace: panel !== undefined });
  }

  function changeFilters(values: FilterValues) {
    void navigate({ search: values, replace: true });
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
    <Page title="Applications" isScrolling={false} actions={(pages.rows.length > 0 || isFiltered) && create}>
      <ListBar
        orders={orders}
        filters={filters}
        values={search}
        onChange={changeFilters}
        search={{ name: "namePrefix", label: "Name" }}
      />
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
            isFiltered ? (
              <NothingFound onClear={() => changeFilters({ sortOrder })} />
            ) : (
              <EmptyState icon={LayoutGrid} title="Create the first application" action={create}>
                An application is what apps and devices sign in to: its users, devices and data are apart from those of
                all others.
              </EmptyState>
            )
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

/** The page of an application if it has one, otherwise its panel. */
function openPage(navigate: (to: { to: string }) => unknown) {
  if (homeOf("") === undefined) return undefined;
  return ({ id }: Application) => void navigate({ to: homeOf(id) ?? "/apps" });
}

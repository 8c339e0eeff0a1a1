import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import type { Application, RemoteApplication } from "../api/admin.ts";
import { showInvisible } from "../lib/format.ts";
import ArrowRight from "../lib/icons/arrow-right.ts";
import ExternalLink from "../lib/icons/external-link.ts";
import LayoutGrid from "../lib/icons/layout-grid.ts";
import Plus from "../lib/icons/plus.ts";
import { useShortcuts } from "../lib/shortcuts.ts";
import { type OpenedApplication, useApplicationActs } from "../shell/application.acts.tsx";
import { ApplicationDialog, CreateApplication } from "../shell/application.dialogs.tsx";
import { ApplicationState, RemoteState } from "../shell/application.state.tsx";
import { homeOf } from "../shell/navigation.ts";
import { useRole, useSession } from "../shell/session.ts";
import { Button } from "../ui/button.tsx";
import { type Column, DataTable } from "../ui/data-table.tsx";
import type { Filter, FilterValues } from "../ui/filter-chips.tsx";
import { IdChip } from "../ui/id-chip.tsx";
import { ListBar } from "../ui/list-bar.tsx";
import type { MenuAction } from "../ui/menu.tsx";
import { NothingFound } from "../ui/nothing-found.tsx";
import { Page, Split } from "../ui/page.tsx";
import { Sparkline } from "../ui/sparkline.tsx";
import { EmptyState } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import { ApplicationPanel } from "./application.panel.tsx";
import { activityOf, counted, errorsOf, formatRate } from "./applications.activity.ts";
import styles from "./applications.module.css";
import {
  type ApplicationRow,
  busiestFirst,
  consoleOf,
  elsewhereState,
  importingState,
  useApplicationRows,
} from "./applications.rows.ts";

/** @param region the name of this region, if there are several */
const columnsOf = (region: string | undefined): readonly Column<ApplicationRow>[] => [
  { name: "Name", width: "minmax(170px, 3fr)", narrow: "title", render: (row) => <ApplicationName row={row} /> },
  {
    name: "State",
    width: "152px",
    narrow: "end",
    render: ({ here, elsewhere }) =>
      here !== undefined ? <ApplicationState application={here} /> : <RemoteState application={elsewhere} />,
  },
  ...(region === undefined
    ? []
    : [
        {
          name: "Region",
          width: "80px",
          render: ({ here, elsewhere }: ApplicationRow) =>
            here !== undefined ? region : <span className={styles.muted}>{elsewhere.region}</span>,
        },
      ]),
  {
    name: "Activity",
    width: "0",
    narrow: "line",
    isNarrowOnly: true,
    render: ({ id, here }) =>
      here === undefined
        ? id
        : [
            ...(region === undefined ? [] : [region]),
            ...(here.activity === undefined ? [] : activityOf(here.activity)),
          ].join(" · "),
  },
  {
    name: "Calls a minute",
    width: "130px",
    isNumber: true,
    render: ({ here }) => here?.activity && formatRate(here.activity.callsPerMinute),
  },
  {
    name: "24 hours",
    width: "112px",
    render: ({ here }) =>
      here?.activity && <Sparkline label="Calls in the last 24 hours" values={here.activity.hours} />,
  },
  { name: "Errors", width: "76px", isNumber: true, render: ({ here }) => here?.activity && errorsOf(here.activity) },
  {
    name: "Devices",
    width: "90px",
    isNumber: true,
    render: ({ here }) => here?.activity && counted(here.activity.devices),
  },
  {
    name: "Users",
    width: "80px",
    isNumber: true,
    render: ({ here }) => here?.activity && counted(here.activity.users),
  },
  { name: "Id", width: "146px", render: ({ id }) => <IdChip id={id} /> },
  { name: "Created", width: "110px", render: ({ here }) => here && <Time value={here.created} /> },
];

const filtersOf = (areSeveral: boolean): readonly Filter[] => [
  {
    name: "state",
    label: "State",
    options: [
      { value: "active", label: "Active" },
      { value: "suspended", label: "Suspended" },
      { value: "moving", label: "Moving" },
      { value: importingState, label: "Being imported" },
      ...(areSeveral ? [{ value: elsewhereState, label: "In another region" }] : []),
    ],
  },
];

const orders = [
  { value: "created", label: "Oldest first" },
  { value: "-created", label: "Newest first" },
  { value: "name", label: "By name" },
  { value: busiestFirst, label: "Busiest first" },
];

function ApplicationName({ row: { here, elsewhere } }: { readonly row: ApplicationRow }) {
  if (here !== undefined) return showInvisible(here.name);
  return <span className={styles.muted}>An application in {elsewhere.region}</span>;
}

export function ApplicationsScreen() {
  const { panel, ...search } = useSearch({ from: "/frame/apps" });
  const navigate = useNavigate({ from: "/apps" });
  const [isCreating, setCreating] = useState(false);
  const [opened, setOpened] = useState<OpenedApplication>();
  const isEditor = useRole("editor");
  const actsOf = useApplicationActs(setOpened);
  const { region, otherRegions } = useSession().deployment;
  const areSeveral = otherRegions !== undefined;
  const columns = useMemo(() => columnsOf(areSeveral ? region : undefined), [region, areSeveral]);
  const pages = useApplicationRows(search, areSeveral);
  const { sortOrder, ...narrowing } = search;
  const isFiltered = Object.values(narrowing).some((value) => value !== undefined);
  const open = pages.rows.find(({ id }) => id === panel);
  useShortcuts(isEditor ? [{ keys: "n", label: "New application", run: () => setCreating(true) }] : []);

  function showPanel(id: string | undefined) {
    void navigate({ search: { ...search, panel: id }, replace: panel !== undefined });
  }

  /** The page of an application of this region if it has one, otherwise the panel. */
  function openRow({ id, here }: ApplicationRow) {
    const home = here === undefined || here.isBeingImported ? undefined : homeOf(id);
    if (home === undefined) showPanel(id);
    else void navigate({ to: home });
  }

  function changeFilters(values: FilterValues) {
    void navigate({ search: values, replace: true });
  }

  function actionsOf({ here, elsewhere }: ApplicationRow): MenuAction[] {
    return here !== undefined ? actionsHere(here) : actionsElsewhere(elsewhere);
  }

  function actionsHere(application: Application): MenuAction[] {
    if (application.isBeingImported) return []; // an incomplete import has no actions
    const home = homeOf(application.id);
    return [
      ...(home === undefined ? [] : [{ label: "Open", icon: ArrowRight, run: () => void navigate({ to: home }) }]),
      ...actsOf(application),
    ];
  }

  const chips = {
    filters: filtersOf(areSeveral),
    values: search,
    onChange: changeFilters,
    search: { name: "namePrefix", label: "Name" },
  };
  const create = isEditor && (
    <Button kind="primary" onPress={() => setCreating(true)}>
      <Plus size={16} aria-hidden /> New application
    </Button>
  );
  return (
    <Page title="Applications" isScrolling={false} actions={(pages.rows.length > 0 || isFiltered) && create}>
      <ListBar orders={orders} {...chips} />
      <Split>
        <DataTable
          label="Applications"
          columns={columns}
          pages={pages}
          idOf={({ id }) => id}
          onOpen={openRow}
          onPanel={({ id }) => showPanel(id)}
          openId={panel}
          actionsOf={actionsOf}
          empty={
            sortOrder === busiestFirst && !isFiltered ? (
              <EmptyState
                icon={LayoutGrid}
                title="No application was called in the last 15 minutes"
                action={<Button onPress={() => changeFilters({})}>Show all</Button>}
              />
            ) : isFiltered ? (
              <NothingFound {...chips} />
            ) : (
              <EmptyState icon={LayoutGrid} title="Create the first application" action={create}>
                An application is what apps and devices sign in to: its users, devices and data are apart from those of
                all others.
              </EmptyState>
            )
          }
        />
        {open !== undefined && (
          <ApplicationPanel
            row={open}
            region={areSeveral ? region : undefined}
            actions={actionsOf(open)}
            onClose={() => showPanel(undefined)}
          />
        )}
      </Split>
      {isCreating && <CreateApplication onClose={() => setCreating(false)} />}
      {opened !== undefined && <ApplicationDialog opened={opened} onClose={() => setOpened(undefined)} />}
    </Page>
  );
}

function actionsElsewhere(application: RemoteApplication): MenuAction[] {
  const console = consoleOf(application);
  if (console === undefined) return [];
  const run = () => void window.open(console, "_blank", "noopener,noreferrer");
  return [{ label: `Open in ${application.region}`, icon: ExternalLink, run }];
}

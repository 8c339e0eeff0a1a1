import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useEffect } from "react";
import {
  type AuditCounts,
  type AuditEntry,
  exportAuditAsCsv,
  exportAuditAsNdjson,
  type ListAuditQuery,
  listAudit,
} from "../api/admin.ts";
import { firstApplicationsQuery, usePages } from "../api/queries.ts";
import { saveDownload } from "../api/save-download.ts";
import { queryOf, send } from "../api/send.ts";
import { formatNumber, showInvisible } from "../lib/format.ts";
import Download from "../lib/icons/download.ts";
import ScrollText from "../lib/icons/scroll-text.ts";
import { actorName, refusalOf, wordsOf } from "../shell/audit-words.ts";
import { addressOfId } from "../shell/ids.ts";
import { useRole } from "../shell/session.ts";
import { Button } from "../ui/button.tsx";
import { type Column, DataTable } from "../ui/data-table.tsx";
import { type Filter, FilterChips, type FilterValues } from "../ui/filter-chips.tsx";
import { IdLink } from "../ui/id-chip.tsx";
import { Menu } from "../ui/menu.tsx";
import { NothingFound } from "../ui/nothing-found.tsx";
import { Page, Split } from "../ui/page.tsx";
import { RowLink } from "../ui/row-link.tsx";
import { EmptyState } from "../ui/states.tsx";
import { Status } from "../ui/status.tsx";
import { Time } from "../ui/time.tsx";
import { act } from "../ui/toast.tsx";
import { AuditBars, type AuditFilters, useAuditCounts } from "./audit.bars.tsx";
import styles from "./audit.module.css";
import { AuditPanel } from "./audit.panel.tsx";

/** Where the log is that of one application, each entry is of it. */
const ofDeployment: Column<AuditEntry> = {
  name: "Application",
  width: "minmax(104px, 1fr)",
  render: ({ appid }) => appid !== undefined && <OfApplication appid={appid} />,
};

const columns: readonly Column<AuditEntry>[] = [
  { name: "Time", width: "minmax(232px, 0.6fr)", render: ({ at }) => <Time value={at} isExact /> },
  { name: "Actor", width: "minmax(164px, 1.4fr)", render: (entry) => <Actor entry={entry} /> },
  { name: "What", width: "minmax(180px, 1.8fr)", narrow: "title", render: ({ action }) => wordsOf(action) },
  {
    name: "Actor and time",
    width: "0",
    narrow: "line",
    isNarrowOnly: true,
    render: (entry) => (
      <>
        {showInvisible(actorName(entry))}, <Time value={entry.at} />
      </>
    ),
  },
  { name: "Result", width: "minmax(150px, 1.6fr)", narrow: "end", render: (entry) => <Result entry={entry} /> },
  {
    name: "Target",
    width: "minmax(136px, 0.6fr)",
    render: ({ target, appid }) =>
      target !== undefined && target !== "" && <IdLink id={target} href={addressOfId(target, appid)} />,
  },
  ofDeployment,
  { name: "Address", width: "minmax(110px, 0.5fr)", render: ({ address }) => address },
];

const columnsOfApplication = columns.filter((column) => column !== ofDeployment);

const yesNo = (yes: string, no: string) => [
  { value: "true", label: yes },
  { value: "false", label: no },
];

const filters: readonly Filter[] = [
  {
    name: "actorKind",
    label: "Kind of actor",
    options: [
      { value: "operator", label: "Operators" },
      { value: "user", label: "Users" },
      { value: "device", label: "Devices" },
      { value: "cli", label: "Command line" },
      { value: "nobody", label: "Without a token" },
      { value: "system", label: "The server" },
    ],
  },
  { name: "refused", label: "Result", options: yesNo("Refused", "Done") },
  { name: "actor", label: "Actor", placeholder: "opr_… or cli, nobody, system" },
  { name: "action", label: "Action", placeholder: "createOperatorSession, createOperator" },
  { name: "exceptAction", label: "Without", placeholder: "createOperatorSession" },
  { name: "target", label: "Target", placeholder: "usr_…, dev_…" },
  { name: "appid", label: "Application", placeholder: "app_…" },
  { name: "from", label: "From", type: "date" },
  { name: "to", label: "Before", type: "date" },
];

/** The audit log of the deployment or, below an application, of that one. */
export function AuditScreen() {
  const { appid }: { appid?: string } = useParams({ strict: false });
  const { panel, ...search }: FilterValues = useSearch({ strict: false });
  const navigate = useNavigate();
  const given: AuditFilters = appid === undefined ? search : { ...search, appid };
  const pages = usePages(["audit", given], (page, options) =>
    send(listAudit({ ...queryOf<ListAuditQuery>(given), ...page }), options),
  );
  const counts = useAuditCounts(given);
  const open = pages.rows.find(({ id }) => id === panel);
  const isFiltered = Object.values(search).some((value) => value !== undefined);

  useShownEntry(panel, open !== undefined, pages);

  function show(next: FilterValues, replace: boolean) {
    void navigate({ to: ".", search: next, replace });
  }

  const chips = {
    filters: filtersFor(appid, counts),
    values: search,
    onChange: (values: FilterValues) => show(values, false),
  };
  return (
    <Page
      title={appid === undefined ? "Deployment log" : "Application log"}
      isScrolling={false}
      actions={<AuditActions filters={given} />}
    >
      <FilterChips {...chips} saved={savedViews} />
      <AuditBars filters={given} counts={counts} onZoom={(range) => show({ ...search, ...range }, false)} />
      <Split>
        <DataTable
          label="Audit log"
          columns={appid === undefined ? columns : columnsOfApplication}
          pages={pages}
          idOf={({ id }) => id}
          onPanel={({ id }) => show({ ...search, panel: id }, panel !== undefined)}
          openId={panel}
          empty={
            isFiltered ? (
              <NothingFound {...chips} />
            ) : (
              <EmptyState icon={ScrollText} title="Nothing was done here yet">
                Sign-ins, changes and refusals appear here as they happen.
              </EmptyState>
            )
          }
        />
        {open !== undefined && (
          <AuditPanel
            entry={open}
            onFilter={(values) => show({ ...search, ...values }, false)}
            onClose={() => show(search, true)}
          />
        )}
      </Split>
    </Page>
  );
}

/** The filters of the screen; the actions of the shown time are suggested. */
function filtersFor(appid: string | undefined, counts: AuditCounts | undefined): readonly Filter[] {
  const suggestions = counts?.actions.map(({ action, entries }) => ({
    value: action,
    label: `${wordsOf(action)}: ${formatNumber(entries)}`,
  }));
  return filters
    .filter(({ name }) => appid === undefined || name !== "appid")
    .map((filter) => (filter.name === "action" && suggestions !== undefined ? { ...filter, suggestions } : filter));
}

/** They change nothing, and would be every second entry. */
const signIns = "createOperatorSession,deleteOperatorSession,proveOperatorPassword";

const savedViews = [
  { label: "Sign-ins that failed", values: { action: "createOperatorSession,loginUser", refused: "true" } },
  { label: "Changes by operators", values: { actorKind: "operator", refused: "false", exceptAction: signIns } },
];

const pagesForEntry = 10;

/** Fetches further pages while the address names an entry that is not among the rows. A failed page is left to "Try again". */
function useShownEntry(panel: string | undefined, isShown: boolean, pages: ReturnType<typeof usePages<AuditEntry>>) {
  const { data, error, hasNextPage, isFetching, fetchNextPage } = pages;
  const isMissing = panel !== undefined && !isShown && hasNextPage && !isFetching && error === null;
  const isWorthIt = isMissing && (data?.pages.length ?? 0) < pagesForEntry;
  useEffect(() => {
    if (isWorthIt) void fetchNextPage({ cancelRefetch: false }); // the list may have begun to
  }, [isWorthIt, fetchNextPage]);
}

const exportCalls = { csv: exportAuditAsCsv, ndjson: exportAuditAsNdjson };

function AuditActions({ filters: given }: { readonly filters: AuditFilters }) {
  const isEditor = useRole("editor");
  if (!isEditor) return null;

  function save(format: keyof typeof exportCalls): Promise<void> {
    const call = exportCalls[format](queryOf<ListAuditQuery>(given));
    return act("Exporting the audit log: see the downloads of the browser.", () =>
      saveDownload(call, `audit.${format}`),
    );
  }

  return (
    <Menu
      label="Export all entries that the filters find"
      items={[
        { label: "As CSV", run: () => void save("csv") },
        { label: "As JSON, an entry a line", run: () => void save("ndjson") },
      ]}
    >
      <Button>
        <Download size={16} aria-hidden /> Export
      </Button>
    </Menu>
  );
}

/** The name of the actor as a link, and its kind if it has a name or an id. */
function Actor({ entry }: { readonly entry: AuditEntry }) {
  const { kind, id, name } = entry.actor;
  if (id === undefined) return actorName(entry);
  const href = addressOfId(id, entry.appid);
  return (
    <>
      {name === undefined ? <IdLink id={id} href={href} /> : <RowLink href={href}>{showInvisible(name)}</RowLink>}{" "}
      <span className={styles.kind}>{kind}</span>
    </>
  );
}

/** The name of the application if the menu of the frame knows it, otherwise its id. */
function OfApplication({ appid }: { readonly appid: string }) {
  const { data } = useQuery(firstApplicationsQuery);
  const known = data?.pageResults.find(({ id }) => id === appid);
  const href = addressOfId(appid, appid);
  if (known === undefined) return <IdLink id={appid} href={href} />;
  return <RowLink href={href}>{showInvisible(known.name)}</RowLink>;
}

function Result({ entry }: { readonly entry: AuditEntry }) {
  const refusal = refusalOf(entry);
  const times = entry.count === undefined ? "" : ` × ${entry.count}`;
  return refusal === undefined ? <Status kind="good">Done</Status> : <Status kind="danger">{refusal + times}</Status>;
}

import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { type OperatedDevice, type SearchOperatedDevicesQuery, searchOperatedDevices } from "../api/admin.ts";
import { usePages } from "../api/queries.ts";
import { queryOf, send } from "../api/send.ts";
import { formatNumber, showInvisible, showOptional } from "../lib/format.ts";
import LogOut from "../lib/icons/log-out.ts";
import Smartphone from "../lib/icons/smartphone.ts";
import { useRole } from "../shell/session.ts";
import { testCallersFilter, testTag } from "../shell/test-callers.ts";
import { type Column, DataTable } from "../ui/data-table.tsx";
import { dateFilter, rangeSince } from "../ui/date-filter.ts";
import type { Filter, FilterValues } from "../ui/filter-chips.tsx";
import { IdChip } from "../ui/id-chip.tsx";
import { ListBar } from "../ui/list-bar.tsx";
import type { MenuAction } from "../ui/menu.tsx";
import { NothingFound } from "../ui/nothing-found.tsx";
import { Page, Split } from "../ui/page.tsx";
import { Snippet } from "../ui/snippet.tsx";
import { EmptyState } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import { EndTokensOfDevice } from "./device.end-tokens.tsx";
import { DevicePanel } from "./device.panel.tsx";

const columnsOf = (appid: string): readonly Column<OperatedDevice>[] => [
  {
    name: "Model",
    width: "minmax(120px, 1.6fr)",
    narrow: "title",
    render: ({ model, platform }) => showInvisible(model ?? platform),
  },
  { name: "User now", width: "minmax(110px, 1.6fr)", render: ({ signedIn }) => userNow(appid, signedIn) },
  { name: "Platform", width: "minmax(88px, 0.8fr)", render: ({ platform }) => showInvisible(platform) },
  { name: "System", width: "minmax(88px, 0.8fr)", render: ({ osVersion }) => showOptional(osVersion) },
  { name: "App", width: "minmax(68px, 0.8fr)", render: ({ appVersion }) => showOptional(appVersion) },
  {
    name: "Platform and user",
    width: "0",
    narrow: "line",
    isNarrowOnly: true,
    render: ({ platform, appVersion, signedIn }) =>
      [platform, appVersion, signedIn?.userName]
        .flatMap((part) => (part === undefined ? [] : showInvisible(part)))
        .join(" · "),
  },
  { name: "Unique id", width: "minmax(112px, 1.5fr)", render: ({ uniqueId }) => showOptional(uniqueId) },
  { name: "Tag", width: "minmax(68px, 1fr)", render: ({ tag }) => showOptional(tag) },
  {
    name: "Last seen",
    width: "108px",
    narrow: "end",
    render: ({ lastSeen }) => lastSeen !== undefined && <Time value={lastSeen} />,
  },
  {
    name: "Registered",
    width: "108px",
    render: ({ registered }) => registered !== undefined && <Time value={registered} />,
  },
  { name: "Created", width: "108px", render: ({ created }) => <Time value={created} /> },
  { name: "Key", width: "52px", render: ({ keyID }) => keyID !== undefined && <IdChip id={keyID} isIcon /> },
  { name: "Id", width: "52px", render: ({ id }) => <IdChip id={id} isIcon /> },
];

/** The user whose token was used last, and how many others are signed in. */
function userNow(appid: string, signedIn: OperatedDevice["signedIn"]) {
  if (signedIn === undefined) return undefined;
  const { id, userName, users } = signedIn;
  return (
    <>
      <Link to="/apps/$appid/users/$userId" params={{ appid, userId: id }}>
        {showInvisible(userName)}
      </Link>
      {users > 1 && ` + ${formatNumber(users - 1)}`}
    </>
  );
}

const filters: readonly Filter[] = [
  { name: "platform", label: "Platform", placeholder: "iOS" },
  { name: "appVersion", label: "App version", placeholder: "1.4.2" },
  { name: "tag", label: "Tag" },
  { name: "keyId", label: "Key", placeholder: "apk_…" },
  dateFilter("created", "Created"),
  testCallersFilter,
];

const orders = [
  { value: "-created", label: "Newest first" },
  { value: "created", label: "Oldest first" },
];

export function DevicesScreen() {
  const { appid } = useParams({ from: "/frame/apps/$appid/devices" });
  const { panel, ...search } = useSearch({ from: "/frame/apps/$appid/devices" });
  const navigate = useNavigate({ from: "/apps/$appid/devices" });
  const [ended, setEnded] = useState<OperatedDevice>();
  const isEditor = useRole("editor");
  const { testCallers, ...given } = search;
  const query = queryOf<SearchOperatedDevicesQuery>({
    ...given,
    created: rangeSince(search.created),
    include: "users",
  });
  const found = usePages(["devices", appid, "list", query], (page, options) =>
    send(searchOperatedDevices(appid, { ...query, ...page }), options),
  );
  const isShown = ({ tag }: OperatedDevice) => testCallers === "shown" || search.tag === testTag || tag !== testTag;
  const pages = { ...found, rows: found.rows.filter(isShown), newest: found.newest.filter(isShown) };
  const columns = useMemo(() => columnsOf(appid), [appid]);
  const shown = pages.rows.find(({ id }) => id === panel);
  const { sortOrder, ...narrowing } = search;
  const chips = {
    filters,
    values: search,
    onChange: changeFilters,
    search: { name: "uniqueId", label: "Exact unique id, or id" },
  };
  const isFiltered = Object.values(narrowing).some((value) => value !== undefined);

  function changeFilters(values: FilterValues) {
    const text = values["uniqueId"] ?? "";
    if (deviceIdPattern.test(text)) openDevice(text);
    else void navigate({ search: values, replace: true });
  }

  function openDevice(deviceId: string) {
    void navigate({ to: "/apps/$appid/devices/$deviceId", params: { appid, deviceId } });
  }

  function showPanel(id: string | undefined) {
    void navigate({ search: { ...search, panel: id }, replace: panel !== undefined });
  }

  function actionsOf(device: OperatedDevice): MenuAction[] {
    if (!isEditor) return [];
    return [{ label: "End all tokens …", icon: LogOut, isDanger: true, run: () => setEnded(device) }];
  }

  return (
    <Page title="Devices" isScrolling={false}>
      <ListBar orders={orders} {...chips} />
      <Split>
        <DataTable
          label="Devices"
          columns={columns}
          pages={pages}
          idOf={({ id }) => id}
          onOpen={({ id }) => openDevice(id)}
          onPanel={({ id }) => showPanel(id)}
          openId={panel}
          actionsOf={isEditor ? actionsOf : undefined}
          empty={isFiltered ? <NothingFound {...chips} /> : <NoDevices appid={appid} />}
        />
        {shown !== undefined && (
          <DevicePanel
            appid={appid}
            device={shown}
            actions={actionsOf(shown)}
            onOpen={() => openDevice(shown.id)}
            onClose={() => showPanel(undefined)}
          />
        )}
      </Split>
      {ended !== undefined && <EndTokensOfDevice appid={appid} device={ended} onClose={() => setEnded(undefined)} />}
    </Page>
  );
}

const deviceIdPattern = /^dev_[0-9a-z]{26}$/;

function NoDevices({ appid }: { readonly appid: string }) {
  return (
    <EmptyState
      icon={Smartphone}
      title="No device has registered yet"
      action={
        <Snippet
          text={`curl ${new URL("../..", window.location.href)}devices \\
  -H 'Content-Type: application/json' \\
  -d '{"appid": "${appid}", "appkey": "<a key of the application>", "platform": "curl"}'`}
        />
      }
    >
      Each app registers its device with a key of the application before anything else. This call makes the first one,
      and{" "}
      <Link to="/apps/$appid/start" params={{ appid }}>
        Start
      </Link>{" "}
      shows all of them.
    </EmptyState>
  );
}

import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { getOperatedDevice, listUsersOfDevice, type OperatedDevice, type OperatedUser } from "../api/admin.ts";
import { usePages } from "../api/queries.ts";
import { send } from "../api/send.ts";
import { showInvisible, showOptional } from "../lib/format.ts";
import LogOut from "../lib/icons/log-out.ts";
import Users from "../lib/icons/users.ts";
import { useRole } from "../shell/session.ts";
import { TabLinks } from "../shell/tab.links.tsx";
import { Button } from "../ui/button.tsx";
import { type Column, DataTable } from "../ui/data-table.tsx";
import { DetailList } from "../ui/detail-list.tsx";
import { IdChip } from "../ui/id-chip.tsx";
import { Page, Section, Sections } from "../ui/page.tsx";
import { EmptyState, ErrorState, LoadingRows } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import { DeviceCrashes } from "./device.crashes.tsx";
import { EndTokensOfDevice } from "./device.end-tokens.tsx";
import { type OfDevice, timeOf } from "./device.facts.tsx";
import { DeviceRequests } from "./device.requests.tsx";
import styles from "./devices.module.css";

const tabs = ["facts", "crashes", "requests"] as const;
const labels: Readonly<Record<(typeof tabs)[number], string>> = {
  facts: "Facts",
  crashes: "Crashes",
  requests: "Requests",
};

export function DeviceScreen() {
  const { appid, deviceId } = useParams({ from: "/frame/apps/$appid/devices/$deviceId" });
  const search = useSearch({ from: "/frame/apps/$appid/devices/$deviceId" });
  const current = tabs.find((tab) => tab === search.tab) ?? "facts";
  const [isEnding, setEnding] = useState(false);
  const isEditor = useRole("editor");
  const { data, error, refetch } = useQuery({
    queryKey: ["devices", appid, "one", deviceId],
    queryFn: ({ signal }) => send(getOperatedDevice(appid, deviceId), { signal }),
  });
  return (
    <Page
      title={data === undefined ? "Device" : titleOf(data)}
      beside={<IdChip id={deviceId} />}
      isScrolling={current === "facts"}
      actions={
        isEditor &&
        data !== undefined && (
          <Button onPress={() => setEnding(true)}>
            <LogOut size={16} aria-hidden /> End all tokens …
          </Button>
        )
      }
    >
      {data !== undefined && (
        <>
          <TabLinks
            label="Parts of the device"
            from="/apps/$appid/devices/$deviceId"
            labels={labels}
            current={current}
          />
          {current === "facts" && <DeviceFacts appid={appid} device={data} />}
          {current === "crashes" && <DeviceCrashes appid={appid} deviceId={deviceId} />}
          {current === "requests" && <DeviceRequests appid={appid} deviceId={deviceId} />}
        </>
      )}
      {data === undefined && error === null && <LoadingRows />}
      {data === undefined && error !== null && (
        <ErrorState error={error} onRetry={() => void refetch()} subject={{ appid, id: deviceId }} />
      )}
      {isEnding && data !== undefined && (
        <EndTokensOfDevice appid={appid} device={data} onClose={() => setEnding(false)} />
      )}
    </Page>
  );
}

function titleOf({ platform, model }: OperatedDevice): string {
  return showInvisible(model ?? platform);
}

function DeviceFacts({ appid, device }: { readonly appid: string; readonly device: OperatedDevice }) {
  const { id, platform, osVersion, appVersion, uniqueId, tag, keyID, connectionType, isProduction } = device;
  return (
    <>
      <Sections>
        <Section title="Device">
          <DetailList
            items={[
              ["Platform", showOptional(platform)],
              ["Model", showOptional(device.model)],
              ["System version", showOptional(osVersion)],
              ["App version", showOptional(appVersion)],
              ["Released app", isProduction === undefined ? undefined : isProduction ? "Yes" : "No"],
              ["Connection", connectionType],
              ["Unique id", showOptional(uniqueId)],
              ["Tag", showOptional(tag)],
            ]}
          />
        </Section>
        <Section title="Registration">
          <DetailList
            items={[
              ["Key", keyID === undefined ? undefined : <IdChip key="key" id={keyID} />],
              ["Registered", timeOf(device.registered)],
              ["Last seen", device.lastSeen === undefined ? undefined : <Time key="seen" value={device.lastSeen} />],
              ["Created", timeOf(device.created)],
              ["Changed", timeOf(device.lastModified)],
            ]}
          />
        </Section>
      </Sections>
      <Section title="Users on this device" lead="Users who have a token on it.">
        <UsersOfDevice appid={appid} deviceId={id} />
      </Section>
    </>
  );
}

const columns: readonly Column<OperatedUser>[] = [
  {
    name: "User name",
    width: "minmax(140px, 2fr)",
    narrow: "title",
    render: ({ userName }) => showInvisible(userName),
  },
  { name: "E-mail", width: "minmax(140px, 2fr)", narrow: "line", render: ({ email }) => showOptional(email) },
  { name: "Last sign-in", width: "130px", narrow: "end", render: ({ lastLogin }) => <Time value={lastLogin} /> },
];

function UsersOfDevice({ appid, deviceId }: OfDevice) {
  const navigate = useNavigate();
  const pages = usePages(["devices", appid, "users", deviceId], (page, options) =>
    send(listUsersOfDevice(appid, deviceId, page), options),
  );
  return (
    <div className={styles.users}>
      <DataTable
        label="Users on this device"
        columns={columns}
        pages={pages}
        idOf={({ id }) => id}
        onOpen={({ id }) => void navigate({ to: "/apps/$appid/users/$userId", params: { appid, userId: id } })}
        empty={<EmptyState icon={Users} title="No user is signed in on this device" />}
      />
    </div>
  );
}

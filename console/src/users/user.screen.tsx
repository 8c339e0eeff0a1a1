import { useQuery } from "@tanstack/react-query";
import { useParams, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { listDevicesOfUser, type OperatedDevice, type OperatedUserWithCounts } from "../api/admin.ts";
import { send } from "../api/send.ts";
import { useActs } from "../lib/acts.ts";
import { formatCount, showInvisible } from "../lib/format.ts";
import Ellipsis from "../lib/icons/ellipsis.ts";
import { Avatar } from "../shell/avatar.tsx";
import { TabLinks } from "../shell/tab.links.tsx";
import { Button, IconButton } from "../ui/button.tsx";
import { IdChip } from "../ui/id-chip.tsx";
import { Menu } from "../ui/menu.tsx";
import { Page } from "../ui/page.tsx";
import { ErrorState, LoadingRows } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import { type OpenedDialog, useUserActs } from "./user.acts.ts";
import { userQuery } from "./user.counts.tsx";
import { UserDialog } from "./user.dialogs.tsx";
import { UserState } from "./user.facts.tsx";
import { UserHistory } from "./user.history.tsx";
import { UserCheckins, UserDevices, UserIdentities, UserSignIns } from "./user.lists.tsx";
import { UserProfile } from "./user.profile.tsx";
import { UserRequests } from "./user.requests.tsx";
import styles from "./users.module.css";

const tabs = ["profile", "sign-ins", "devices", "check-ins", "identities", "history", "requests"] as const;
type Tab = (typeof tabs)[number];
const labels: Readonly<Record<Tab, string>> = {
  profile: "Profile",
  "sign-ins": "Sign-ins",
  devices: "Devices",
  "check-ins": "Check-ins",
  identities: "Identities",
  history: "History",
  requests: "Requests",
};

export function UserScreen() {
  const { appid, userId } = useParams({ from: "/frame/apps/$appid/users/$userId" });
  const { data: user, error, refetch } = useQuery(userQuery({ appid, userId }));
  if (user !== undefined) return <LoadedUser key={userId} appid={appid} user={user} />;
  return (
    <Page title="User" beside={<IdChip id={userId} />}>
      {error === null ? (
        <LoadingRows />
      ) : (
        <ErrorState error={error} onRetry={() => void refetch()} subject={{ appid, id: userId }} />
      )}
    </Page>
  );
}

function LoadedUser({ appid, user }: { readonly appid: string; readonly user: OperatedUserWithCounts }) {
  const { id, userName } = user;
  const search = useSearch({ from: "/frame/apps/$appid/users/$userId" });
  const current = tabs.find((tab) => tab === search.tab) ?? "profile";
  const [opened, setOpened] = useState<OpenedDialog>();
  const { actionsOf } = useUserActs(appid, setOpened);
  const acts = actionsOf(user);
  const [first, ...more] = acts;
  useActs(showInvisible(userName), acts);
  return (
    <Page
      title={showInvisible(userName)}
      before={<Avatar appid={appid} user={user} size="large" />}
      isScrolling={current === "profile"}
      beside={
        <>
          <UserState user={user} />
          <IdChip id={id} />
        </>
      }
      actions={
        first !== undefined && (
          <>
            <Button onPress={first.run}>
              {first.icon !== undefined && <first.icon size={16} aria-hidden />} {first.label}
            </Button>
            <Menu label="Actions" items={more}>
              <IconButton label="More actions" kind="plain">
                <Ellipsis size={16} aria-hidden />
              </IconButton>
            </Menu>
          </>
        )
      }
    >
      <LineOfLife appid={appid} user={user} />
      <TabLinks label="Parts of the user" from="/apps/$appid/users/$userId" labels={labels} current={current} />
      <CurrentTab tab={current} appid={appid} user={user} />
      <UserDialog appid={appid} opened={opened} onClose={() => setOpened(undefined)} />
    </Page>
  );
}

/** The user in one sentence. */
function LineOfLife({ appid, user }: { readonly appid: string; readonly user: OperatedUserWithCounts }) {
  const { id, created, lastLogin, counts } = user;
  const { tokens } = counts;
  const { data: devices } = useQuery({
    queryKey: ["users", appid, "devices", id, "first"],
    queryFn: ({ signal }) => send(listDevicesOfUser(appid, id), { signal }),
  });
  const lastSeen = devices && lastSeenOf(devices.pageResults);
  return (
    <p className={styles.life}>
      Signed up <Time value={created} />
      {devices !== undefined &&
        `, ${formatCount(devices.pageResults.length, "device", devices.nextToken !== undefined)}`}
      {lastSeen !== undefined && (
        <>
          , last seen <Time value={lastSeen} />
        </>
      )}
      , last sign-in <Time value={lastLogin} />,{" "}
      {tokens === 0 ? "not signed in" : `signed in ${tokens === 1 ? "once" : `${tokens} times`}`}.{" "}
    </p>
  );
}

function lastSeenOf(devices: readonly OperatedDevice[]): Date | undefined {
  const times = devices.flatMap(({ lastSeen }) => lastSeen ?? []);
  return times.toSorted((one, other) => other.getTime() - one.getTime())[0];
}

interface CurrentTabProps {
  readonly tab: Tab;
  readonly appid: string;
  readonly user: OperatedUserWithCounts;
}

function CurrentTab({ tab, appid, user }: CurrentTabProps) {
  const ofUser = { appid, userId: user.id };
  if (tab === "profile") return <UserProfile user={user} />;
  if (tab === "sign-ins") return <UserSignIns {...ofUser} />;
  if (tab === "devices") return <UserDevices {...ofUser} />;
  if (tab === "check-ins") return <UserCheckins {...ofUser} />;
  if (tab === "identities") return <UserIdentities {...ofUser} />;
  if (tab === "requests") return <UserRequests {...ofUser} />;
  return <UserHistory {...ofUser} />;
}

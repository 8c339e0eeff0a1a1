import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { listUsersOfDevice, type OperatedDevice } from "../api/admin.ts";
import { send } from "../api/send.ts";
import { showInvisible, showOptional } from "../lib/format.ts";
import ArrowRight from "../lib/icons/arrow-right.ts";
import { Avatar } from "../shell/avatar.tsx";
import { Button } from "../ui/button.tsx";
import { DetailList } from "../ui/detail-list.tsx";
import { Problem } from "../ui/fields.tsx";
import { IdChip } from "../ui/id-chip.tsx";
import type { MenuAction } from "../ui/menu.tsx";
import { Panel } from "../ui/page.tsx";
import { PanelActions } from "../ui/panel-actions.tsx";
import { type OfDevice, timeOf } from "./device.facts.tsx";
import styles from "./devices.module.css";

interface DevicePanelProps {
  readonly appid: string;
  readonly device: OperatedDevice;
  readonly actions: readonly MenuAction[];
  readonly onOpen: () => void;
  readonly onClose: () => void;
}

export function DevicePanel({ appid, device, actions, onOpen, onClose }: DevicePanelProps) {
  const { id, platform, model, osVersion, appVersion, uniqueId, tag, keyID } = device;
  return (
    <Panel title={showInvisible(model ?? platform)} onClose={onClose}>
      <DetailList
        items={[
          ["Id", <IdChip key="id" id={id} />],
          ["Platform", showInvisible([platform, osVersion].filter((part) => part !== undefined).join(" "))],
          ["App version", showOptional(appVersion)],
          ["Unique id", showOptional(uniqueId)],
          ["Tag", showOptional(tag)],
          ["Key", keyID === undefined ? undefined : <IdChip key="key" id={keyID} />],
          ["Last seen", timeOf(device.lastSeen)],
          ["Registered", timeOf(device.registered)],
          ["Created", timeOf(device.created)],
        ]}
      />
      <UsersNow key={id} appid={appid} deviceId={id} />
      <div className={styles.actions}>
        <Button kind="primary" onPress={onOpen}>
          <ArrowRight size={16} aria-hidden /> Open
        </Button>
        <PanelActions actions={actions} />
      </div>
    </Panel>
  );
}

const usersShown = 5;

/** The users who have a token on the device; its page lists all of them. */
function UsersNow({ appid, deviceId }: OfDevice) {
  const { data, error } = useQuery({
    queryKey: ["devices", appid, "signed-in", deviceId, "first"],
    queryFn: ({ signal }) => send(listUsersOfDevice(appid, deviceId, { pageSize: usersShown }), { signal }),
  });
  if (error !== null) return <Problem error={error} />;
  if (data === undefined) return null;
  const { pageResults, nextToken } = data;
  return (
    <section className={styles.now}>
      <h3>Signed in now</h3>
      {pageResults.length === 0 && <p>No user.</p>}
      <ul>
        {pageResults.map((user) => (
          <li key={user.id}>
            <Avatar appid={appid} user={user} />
            <Link to="/apps/$appid/users/$userId" params={{ appid, userId: user.id }}>
              {showInvisible(user.userName)}
            </Link>
          </li>
        ))}
      </ul>
      {nextToken !== undefined && <p>and more</p>}
    </section>
  );
}

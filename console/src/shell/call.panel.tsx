import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { AnsweredRequest } from "../api/admin.ts";
import { openapiQuery } from "../api/openapi.ts";
import { idOfCall, type RequestFilters } from "../api/requests.ts";
import { formatMs, showInvisible, showOptional } from "../lib/format.ts";
import { Button, buttonClass } from "../ui/button.tsx";
import { DetailList } from "../ui/detail-list.tsx";
import { IdChip } from "../ui/id-chip.tsx";
import { Panel } from "../ui/page.tsx";
import { Time } from "../ui/time.tsx";
import { CallsBefore } from "./calls.before.tsx";
import styles from "./calls.module.css";
import { nameOfCall, StatusCode } from "./calls.parts.tsx";

interface CallPanelProps {
  readonly appid: string;
  readonly call: AnsweredRequest;
  /** Absent where the list can be filtered no further. */
  readonly onFilter?: (filters: RequestFilters) => void;
  readonly onClose: () => void;
}

export function CallPanel({ appid, call, onFilter, onClose }: CallPanelProps) {
  const { requestId, time, batch, method, path, operation, status, error, message, rehearsed, ms } = call;
  const { device, platform, user, address, worker } = call;
  return (
    <Panel title={nameOfCall(call)} onClose={onClose}>
      {error !== undefined && <Meaning condition={error} message={message} />}
      <DetailList
        items={[
          ["Time", <Time key="time" value={time} isExact />],
          ["Status", <StatusCode key="status" status={status} />],
          ["Took", formatMs(ms)],
          ["Operation", operation && <code key="operation">{operation}</code>],
          ["Call", <code key="call">{showInvisible(`${method ?? ""} ${path ?? ""}`)}</code>],
          ["User", user && <UserOfCall key="user" appid={appid} userId={user} />],
          ["Platform", showOptional(platform)],
          ["Device", device && <DeviceOfCall key="device" appid={appid} deviceId={device} />],
          ["Address", address],
          ["Request", <IdChip key="request" id={requestId} />],
          ...(batch === undefined ? [] : [["In the batch", <IdChip key="batch" id={batch} />] as const]),
          ...(rehearsed === undefined ? [] : [["Rehearsed", rehearsed] as const]),
          ["Process", worker],
        ]}
      />
      <div className={styles.actions}>
        {onFilter !== undefined && error !== undefined && (
          <Button onPress={() => onFilter({ error })}>All with this error</Button>
        )}
        {onFilter !== undefined && operation !== undefined && (
          <Button onPress={() => onFilter({ operation })}>All of this operation</Button>
        )}
        {operation !== undefined && (
          <Link
            to="/apps/$appid/explorer"
            params={{ appid }}
            search={{ operation, path }}
            className={buttonClass("plain", "regular")}
          >
            Try it
          </Link>
        )}
        {onFilter !== undefined && user !== undefined && (
          <Button onPress={() => onFilter({ userID: user })}>All of this user</Button>
        )}
      </div>
      {device !== undefined && <CallsBefore appid={appid} deviceId={device} at={time} callId={idOfCall(call)} />}
    </Panel>
  );
}

/** The meaning of an error, and the reaction of a client. */
function Meaning({ condition, message }: { readonly condition: string; readonly message: string | undefined }) {
  const { data } = useQuery(openapiQuery);
  const found = data?.["x-error-catalogue"].find((row) => row.condition === condition);
  return (
    <div className={styles.meaning}>
      <h3>
        {condition}
        {found !== undefined && ` ${found.number}`}
      </h3>
      {message !== undefined && <p>{showInvisible(message)}</p>}
      {found !== undefined && (
        <p className={styles.muted}>
          {found.when} <b>What a client does:</b> {found.remedy}.
        </p>
      )}
    </div>
  );
}

function UserOfCall({ appid, userId }: { readonly appid: string; readonly userId: string }) {
  return (
    <span className={styles.owner}>
      <IdChip id={userId} />
      <Link to="/apps/$appid/users/$userId" params={{ appid, userId }}>
        Open
      </Link>
    </span>
  );
}

function DeviceOfCall({ appid, deviceId }: { readonly appid: string; readonly deviceId: string }) {
  return (
    <span className={styles.owner}>
      <IdChip id={deviceId} />
      <Link to="/apps/$appid/devices/$deviceId" params={{ appid, deviceId }}>
        Open
      </Link>
    </span>
  );
}

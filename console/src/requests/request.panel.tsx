import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { openapiQuery } from "../api/openapi.ts";
import { type AnsweredCall, callsOfDevice, idOfCall, type RequestFilters } from "../api/requests.ts";
import { formatMs, parseTime, showInvisible } from "../lib/format.ts";
import { Button, buttonClass } from "../ui/button.tsx";
import { DetailList } from "../ui/detail-list.tsx";
import { IdChip } from "../ui/id-chip.tsx";
import { Panel } from "../ui/page.tsx";
import { Time } from "../ui/time.tsx";
import styles from "./requests.module.css";
import { Clock, nameOfCall, StatusCode } from "./requests.parts.tsx";

interface RequestPanelProps {
  readonly appid: string;
  readonly call: AnsweredCall;
  readonly onFilter: (filters: RequestFilters) => void;
  readonly onClose: () => void;
}

export function RequestPanel({ appid, call, onFilter, onClose }: RequestPanelProps) {
  const { requestId, time, batch, method, path, operation, status, error, message, rehearsed, ms } = call;
  const { device, user, address, worker } = call;
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
          ["Device", device && <DeviceOfCall key="device" appid={appid} deviceId={device} />],
          ["Address", address],
          ["Request", <IdChip key="request" id={requestId} />],
          ...(batch === undefined ? [] : [["In the batch", <IdChip key="batch" id={batch} />] as const]),
          ...(rehearsed === undefined ? [] : [["Rehearsed", rehearsed] as const]),
          ["Process", worker],
        ]}
      />
      <div className={styles.actions}>
        {error !== undefined && <Button onPress={() => onFilter({ error })}>All with this error</Button>}
        {operation !== undefined && <Button onPress={() => onFilter({ operation })}>All of this operation</Button>}
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
        {user !== undefined && <Button onPress={() => onFilter({ userID: user })}>All of this user</Button>}
      </div>
      {device !== undefined && <CallsBefore appid={appid} call={call} deviceId={device} />}
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

const beforeMs = 5 * 60_000;

interface CallsBeforeProps {
  readonly appid: string;
  readonly call: AnsweredCall;
  readonly deviceId: string;
}

/** The calls of the same device in the minutes before. */
function CallsBefore({ appid, call, deviceId }: CallsBeforeProps) {
  const { data } = useQuery(callsOfDevice(appid, deviceId, idOfCall(call)));
  if (data === undefined) return null;
  const until = parseTime(call.time);
  const before = data.calls.filter((other) => {
    const at = parseTime(other.time);
    return at <= until && at >= until - beforeMs && idOfCall(other) !== idOfCall(call);
  });
  return (
    <section className={styles.before}>
      <h3>The same device, five minutes before</h3>
      {before.length === 0 && <p className={styles.muted}>No other call.</p>}
      <ol>
        {before.map((other) => (
          <li key={idOfCall(other)}>
            <Clock value={other.time} />
            <StatusCode status={other.status} />
            <span className={styles.name}>{nameOfCall(other)}</span>
            {other.error !== undefined && <span className={styles.muted}>{other.error}</span>}
          </li>
        ))}
      </ol>
    </section>
  );
}

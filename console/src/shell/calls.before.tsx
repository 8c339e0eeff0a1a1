import { useQuery } from "@tanstack/react-query";
import { callsOfDevice, idOfCall } from "../api/requests.ts";
import { Problem } from "../ui/fields.tsx";
import { Time } from "../ui/time.tsx";
import styles from "./calls.module.css";
import { Clock, nameOfCall, StatusCode } from "./calls.parts.tsx";

const beforeMs = 5 * 60_000;

interface CallsBeforeProps {
  readonly appid: string;
  readonly deviceId: string;
  /** The end of the five minutes. */
  readonly at: Date;
  /** The last call, which is not listed. */
  readonly callId?: string;
}

/** The calls of a device in the five minutes before a moment, as far as the server remembers them. */
export function CallsBefore({ appid, deviceId, at, callId }: CallsBeforeProps) {
  const { data, error } = useQuery(callsOfDevice(appid, deviceId, callId ?? at.toISOString()));
  if (error !== null) return <Problem error={error} />;
  if (data === undefined) return null;
  const until = at.getTime();
  const before = data.calls.filter((other) => {
    const time = other.time.getTime();
    return time <= until && time >= until - beforeMs && idOfCall(other) !== callId;
  });
  const isForgotten = data.since !== undefined && data.since.getTime() > until - beforeMs;
  return (
    <section className={styles.before}>
      <h3>The same device, five minutes before</h3>
      {before.length === 0 && !isForgotten && <p className={styles.muted}>No other call.</p>}
      {isForgotten && data.since !== undefined && (
        <p className={styles.muted}>
          {before.length === 0 ? "No call is" : "Not all calls are"} remembered: the list is complete since{" "}
          <Time value={data.since} />.
        </p>
      )}
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

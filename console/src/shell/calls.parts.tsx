import type { AnsweredCall } from "../api/requests.ts";
import { formatClock, formatExact, parseTime, showInvisible } from "../lib/format.ts";
import { usePreferences } from "../lib/preferences.ts";
import styles from "./calls.module.css";

/** A status as a number whose class shows by a mark and a colour. */
export function StatusCode({ status }: { readonly status: number }) {
  return (
    <span className={styles.status} data-class={Math.floor(status / 100)}>
      {status}
    </span>
  );
}

/** The time of a call's answer, to the second. */
export function Clock({ value }: { readonly value: string }) {
  usePreferences(); // the time zone
  return (
    <time className={styles.clock} dateTime={new Date(parseTime(value)).toISOString()} title={formatExact(value)}>
      {formatClock(parseTime(value))}
    </time>
  );
}

/** The operation of a call, or its method and path if the operation is unknown. */
export function nameOfCall({ operation, method = "", path = "" }: AnsweredCall): string {
  return operation ?? showInvisible(`${method} ${path}`.trim());
}

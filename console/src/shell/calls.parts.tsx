import type { AnsweredRequest } from "../api/admin.ts";
import { formatClock, formatExact, showInvisible } from "../lib/format.ts";
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
export function Clock({ value }: { readonly value: Date }) {
  usePreferences(); // the time zone
  return (
    <time className={styles.clock} dateTime={value.toISOString()} title={formatExact(value)}>
      {formatClock(value.getTime())}
    </time>
  );
}

/** The operation of a call, or its method and path if the operation is unknown. */
export function nameOfCall({ operation, method = "", path = "" }: AnsweredRequest): string {
  return operation ?? showInvisible(`${method} ${path}`.trim());
}

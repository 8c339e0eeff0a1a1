import { Suspense, useContext, useRef, useState } from "react";
import { formatExact, formatRelative } from "../lib/format.ts";
import { usePreferences } from "../lib/preferences.ts";
import { ActiveRow } from "./active-row.ts";
import { Tip } from "./button.tsx";
import styles from "./parts.module.css";

interface TimeProps {
  readonly value: Date;
  /** To the second, for logs. */
  readonly isExact?: boolean;
}

/** A moment. One that is relative to the present shows the exact time while it has the pointer or the focus, or is touched. */
export function Time({ value, isExact = false }: TimeProps) {
  usePreferences(); // the time zone
  const isInActiveRow = useContext(ActiveRow);
  const element = useRef<HTMLTimeElement>(null);
  const [isNear, setNear] = useState(false);
  const dateTime = value.toISOString();
  const exact = formatExact(value);
  if (isExact) return <time dateTime={dateTime}>{exact}</time>;
  return (
    <>
      <time
        ref={element}
        dateTime={dateTime}
        className={styles.time}
        // Keyboards and touch have no other way to the exact time.
        tabIndex={isInActiveRow === false ? -1 : 0}
        // A touch on a row opens its details, which have the exact time.
        onFocus={({ target }) => setNear(isInActiveRow === undefined || target.matches(":focus-visible"))}
        onBlur={() => setNear(false)}
        onPointerEnter={({ pointerType }) => setNear(pointerType === "mouse")}
        onPointerLeave={() => setNear(false)}
      >
        {formatRelative(value)}
        <span className={styles.unseen}>, {exact}</span>
      </time>
      {isNear && (
        <Suspense>
          <Tip trigger={element}>{exact}</Tip>
        </Suspense>
      )}
    </>
  );
}

import { useEffect, useState } from "react";
import styles from "./parts.module.css";

const lengths = [38, 24, 46, 30, 52, 28, 40, 34];
/** After this time, an operator wonders whether something still happens. */
const longMs = 4_000;

/** The shape of a list while it is loaded. */
export function LoadingRows() {
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    const timer = window.setTimeout(() => setLong(true), longMs);
    return () => window.clearTimeout(timer);
  }, []);
  return (
    <div className={styles.skeleton} role="status" aria-label="Loading">
      {isLong && <p>Still waiting for the server …</p>}
      {lengths.map((length) => (
        <div key={length} style={{ "--length": length } as Record<string, unknown>} />
      ))}
    </div>
  );
}

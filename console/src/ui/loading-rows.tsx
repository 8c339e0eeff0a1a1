import styles from "./parts.module.css";

const lengths = [38, 24, 46, 30, 52, 28, 40, 34];

/** The shape of a list while it is loaded. */
export function LoadingRows() {
  return (
    <div className={styles.skeleton} role="status" aria-label="Loading">
      {lengths.map((length) => (
        <div key={length} style={{ "--length": length } as Record<string, unknown>} />
      ))}
    </div>
  );
}

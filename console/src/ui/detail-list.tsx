import type { ReactNode } from "react";
import styles from "./parts.module.css";

/** Names and values of one object. A value that is absent shows as a dash. */
export function DetailList({ items }: { readonly items: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className={styles.details}>
      {items.map(([name, value]) => (
        <div key={name} style={{ display: "contents" }}>
          <dt>{name}</dt>
          <dd>{value ?? <span className={styles.absent}>–</span>}</dd>
        </div>
      ))}
    </dl>
  );
}

import { type ReactNode, useContext } from "react";
import { ActiveRow } from "./active-row.ts";
import styles from "./parts.module.css";

interface RowLinkProps {
  /** An address in the console; rendered as plain text if absent. */
  readonly href: string | undefined;
  readonly children: ReactNode;
}

/** A link in a row of a list. */
export function RowLink({ href, children }: RowLinkProps) {
  const isInActiveRow = useContext(ActiveRow);
  if (href === undefined) return children;
  return (
    <a href={`#${href}`} className={styles["row-link"]} tabIndex={isInActiveRow === false ? -1 : undefined}>
      {children}
    </a>
  );
}

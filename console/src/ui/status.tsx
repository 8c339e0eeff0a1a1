import type { ReactNode } from "react";
import Ban from "../lib/icons/ban.ts";
import CircleAlert from "../lib/icons/circle-alert.ts";
import CircleCheck from "../lib/icons/circle-check.ts";
import Info from "../lib/icons/info.ts";
import Minus from "../lib/icons/minus.ts";
import styles from "./parts.module.css";

const icons = { good: CircleCheck, notice: Info, warning: CircleAlert, danger: Ban, neutral: Minus };

interface StatusProps {
  readonly kind: keyof typeof icons;
  readonly children: ReactNode;
}

/** A state as an icon and a word, because colour alone is not accessible. */
export function Status({ kind, children }: StatusProps) {
  const Icon = icons[kind];
  return (
    <span className={`${styles.status} ${styles[kind]}`}>
      <Icon size={14} aria-hidden />
      <span>{children}</span>
    </span>
  );
}

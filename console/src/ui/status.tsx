import Ban from "lucide-react/icons/ban";
import CircleAlert from "lucide-react/icons/circle-alert";
import CircleCheck from "lucide-react/icons/circle-check";
import Info from "lucide-react/icons/info";
import Minus from "lucide-react/icons/minus";
import type { ReactNode } from "react";
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

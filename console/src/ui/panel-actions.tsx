import { Button } from "./button.tsx";
import type { MenuAction } from "./menu.tsx";
import styles from "./page.module.css";

/** The actions of a row as buttons, in its panel: in the order and the colours of its menu. */
export function PanelActions({ actions }: { readonly actions: readonly MenuAction[] }) {
  if (actions.length === 0) return null;
  return (
    <div className={styles["panel-actions"]}>
      {actions.map(({ label, icon: Icon, isDanger, run }) => (
        <Button key={label} data-danger={isDanger || undefined} onPress={run}>
          {Icon !== undefined && <Icon size={16} aria-hidden />} {label}
        </Button>
      ))}
    </div>
  );
}

import type { ReactElement, ReactNode } from "react";
import { Menu as AriaMenu, MenuItem, MenuTrigger } from "react-aria-components/Menu";
import { Popover } from "react-aria-components/Popover";
import type { Act } from "../lib/acts.ts";
import styles from "./menu.module.css";

export interface MenuAction extends Act {
  readonly isDanger?: boolean;
  readonly isCurrent?: boolean;
}

interface MenuProps {
  readonly label: string;
  readonly items: readonly MenuAction[];
  readonly head?: ReactNode;
  /** The button that opens the menu. */
  readonly children: ReactElement;
  readonly placement?: "bottom start" | "bottom end" | "top start";
}

export function Menu({ label, items, head, children, placement = "bottom end" }: MenuProps) {
  return (
    <MenuTrigger>
      {children}
      <Popover className={styles.popover} placement={placement} offset={4}>
        {head !== undefined && <div className={styles.head}>{head}</div>}
        <AriaMenu className={styles.menu} aria-label={label}>
          {items.map(({ label, icon: Icon, isDanger, isCurrent, run }, index) => (
            <MenuItem
              // biome-ignore lint/suspicious/noArrayIndexKey: two applications may have the same name
              key={index}
              className={styles.item}
              textValue={label}
              data-danger={isDanger || undefined}
              data-current={isCurrent || undefined}
              onAction={run}
            >
              {Icon !== undefined && <Icon size={16} aria-hidden />}
              {label}
            </MenuItem>
          ))}
        </AriaMenu>
      </Popover>
    </MenuTrigger>
  );
}

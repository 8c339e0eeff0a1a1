import ArrowDownUp from "lucide-react/icons/arrow-down-up";
import type { ReactNode } from "react";
import { Button } from "./button.tsx";
import { Menu } from "./menu.tsx";
import styles from "./sort-menu.module.css";

interface SortMenuProps {
  /** The orders that the API has. The first is the one of an address that names none. */
  readonly orders: readonly { readonly value: string; readonly label: string }[];
  readonly value: string | undefined;
  readonly onChange: (value: string | undefined) => void;
}

/** Chooses the order of a list. */
export function SortMenu({ orders, value, onChange }: SortMenuProps) {
  const current = orders.find((order) => order.value === value) ?? orders[0];
  return (
    <Menu
      label="Order"
      items={orders.map((order) => ({
        label: order.label,
        isCurrent: order === current,
        run: () => onChange(order === orders[0] ? undefined : order.value),
      }))}
    >
      <Button kind="quiet" aria-label={`Order: ${current?.label}`}>
        <ArrowDownUp size={16} aria-hidden /> {current?.label}
      </Button>
    </Menu>
  );
}

/** The filters of a list, and its order at the end of the line. */
export function ListBar({ children, order }: { readonly children: ReactNode; readonly order: ReactNode }) {
  return (
    <div className={styles.bar}>
      {children}
      {order}
    </div>
  );
}

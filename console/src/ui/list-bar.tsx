import ArrowDownUp from "../lib/icons/arrow-down-up.ts";
import { Button } from "./button.tsx";
import { FilterChips, type FilterChipsProps } from "./filter-chips.tsx";
import styles from "./list-bar.module.css";
import { Menu } from "./menu.tsx";

interface Order {
  readonly value: string;
  readonly label: string;
}

interface ListBarProps extends FilterChipsProps {
  /** The orders that the API has. The first is the one of an address that names none. */
  readonly orders: readonly Order[];
}

/** The bar above a list: search, filters and order, which is `sortOrder` in the address. */
export function ListBar({ orders, values, onChange, ...chips }: ListBarProps) {
  return (
    <div className={styles.bar}>
      <FilterChips {...chips} values={values} onChange={onChange} />
      <SortMenu
        orders={orders}
        value={values["sortOrder"]}
        onChange={(sortOrder) => onChange({ ...values, sortOrder })}
      />
    </div>
  );
}

interface SortMenuProps {
  readonly orders: readonly Order[];
  readonly value: string | undefined;
  readonly onChange: (value: string | undefined) => void;
}

function SortMenu({ orders, value, onChange }: SortMenuProps) {
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

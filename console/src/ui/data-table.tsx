import { defaultRangeExtractor, useVirtualizer } from "@tanstack/react-virtual";
import {
  type KeyboardEvent,
  type MouseEvent,
  type ReactNode,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { useActs } from "../lib/acts.ts";
import { formatBounded, formatNumber } from "../lib/format.ts";
import ArrowUp from "../lib/icons/arrow-up.ts";
import Ellipsis from "../lib/icons/ellipsis.ts";
import { leaveRow, takeLeftRow } from "../lib/left-rows.ts";
import { usePreferences } from "../lib/preferences.ts";
import { useShortcuts } from "../lib/shortcuts.ts";
import { useNarrow } from "../lib/use-narrow.ts";
import { ActiveRow } from "./active-row.ts";
import { Button, IconButton } from "./button.tsx";
import { copyText } from "./copy-button.tsx";
import styles from "./data-table.module.css";
import { Menu, type MenuAction } from "./menu.tsx";
import { ErrorState, LoadingRows } from "./states.tsx";
import { showNote } from "./toast.tsx";

export interface Column<Row> {
  readonly name: string;
  /** A track of a CSS grid: "160px", "minmax(160px, 2fr)". */
  readonly width: string;
  readonly render: (row: Row) => ReactNode;
  readonly isNumber?: boolean;
  /** The position of the value on a phone; without it, only the details have it. At most one column each. */
  readonly narrow?: "lead" | "title" | "end" | "line";
  /** Of a column that sums up others on a phone. */
  readonly isNarrowOnly?: boolean;
  /** Of a column whose values need no heading for the eye, such as pictures. */
  readonly isNameHidden?: boolean;
}

/** The result of `usePages`. */
interface Pages<Row> {
  readonly rows: readonly Row[];
  /** The current first rows. */
  readonly newest?: readonly Row[];
  readonly isPending: boolean;
  readonly isPlaceholderData: boolean;
  /** The rows are older than the last attempt to fetch them. */
  readonly isRefetchError?: boolean;
  readonly error: Error | null;
  readonly hasNextPage: boolean;
  /** Whether there are more rows than a list holds. */
  readonly isCut?: boolean;
  /** Shown after the last row of a complete list. */
  readonly end?: string;
  readonly isFetchingNextPage: boolean;
  readonly fetchNextPage: () => unknown;
  readonly refetch: () => unknown;
}

interface DataTableProps<Row> {
  /** The name of the list for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly pages: Pages<Row>;
  readonly idOf: (row: Row) => string;
  /** Enter and a press open the page of the row, or its panel if it has no page. */
  readonly onOpen?: (row: Row) => void;
  /** Space opens the panel of the row. */
  readonly onPanel?: (row: Row) => void;
  /** The row whose panel is open. */
  readonly openId?: string;
  readonly actionsOf?: (row: Row) => readonly MenuAction[];
  /** Shown in place of a list without rows. */
  readonly empty: ReactNode;
}

const headHeight = 33;
const narrowRowHeight = 64;
/** How many rows before the last one the next page is fetched. */
const prefetchRows = 30;

/** A list of any length: only visible rows are in the document, and pages are fetched as the operator scrolls. */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { pages, empty } = props;
  const hasFilled = !pages.isPending && pages.rows.length === 0 && (pages.newest?.length ?? 0) > 0;
  // An empty list has no row that could move under the pointer, so its first rows need no button.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once each time that the list is filled
  useEffect(() => {
    if (hasFilled) pages.refetch();
  }, [hasFilled]);
  if (pages.isPending) return <LoadingRows />;
  if (pages.rows.length > 0) return <Grid {...props} />;
  return pages.error !== null ? <ErrorState error={pages.error} onRetry={() => pages.refetch()} /> : empty;
}

function Grid<Row>(props: DataTableProps<Row>) {
  const { label, pages, idOf, onOpen, onPanel, openId, actionsOf } = props;
  const { rows, error, hasNextPage, isFetchingNextPage, fetchNextPage } = pages;
  const grid = useRef<HTMLDivElement>(null);
  const [left] = useState(onOpen === undefined ? undefined : takeLeftRow);
  const [hasHadFocus, setHadFocus] = useState(left !== undefined);
  const [active, setActive] = useState(() => Math.max(0, left === undefined ? 0 : rows.findIndex(isRow(left.id))));
  const wanted = useRef<number>(undefined);
  const lastOpenId = useRef(openId);
  const isNarrow = useNarrow();
  const rowHeight = useRowHeight(isNarrow);
  const fitting = useFittingColumns(grid, props.columns, actionsOf !== undefined);
  const columns = isNarrow ? props.columns.filter(({ narrow }) => narrow !== undefined) : fitting;
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => grid.current,
    estimateSize: () => rowHeight,
    scrollMargin: isNarrow ? 0 : headHeight,
    overscan: 8,
    // When a focused row is removed from the document, the focus is lost.
    rangeExtractor: (range) => withIndex(defaultRangeExtractor(range), Math.min(active, rows.length - 1)),
    initialOffset: left?.offset ?? 0,
  });
  const openIndex = openId === undefined ? -1 : rows.findIndex(isRow(openId));
  const selected = openIndex >= 0 ? openIndex : active;
  const selectedRow = openIndex >= 0 || hasHadFocus ? rows[selected] : undefined;
  useActs(
    () => rowElement(selected)?.querySelector(`.${styles.main}`)?.textContent ?? openId ?? "",
    selectedRow === undefined ? [] : (actionsOf?.(selectedRow) ?? []),
  );
  const items = virtual.getVirtualItems();
  const lastShown = virtual.range?.endIndex ?? 0;

  // biome-ignore lint/correctness/useExhaustiveDependencies: another height moves all rows
  useEffect(() => virtual.measure(), [rowHeight]);
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage && error === null && lastShown >= rows.length - prefetchRows)
      fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, error, lastShown, rows.length, fetchNextPage]);

  useEffect(focusWanted);
  // The button or field of a closed panel took the focus with it: without a row, keys would do nothing.
  // biome-ignore lint/correctness/useExhaustiveDependencies: when another panel is open, or none
  useEffect(() => {
    const closedId = openId === undefined ? lastOpenId.current : undefined;
    lastOpenId.current = openId;
    if (closedId === undefined || document.activeElement !== document.body) return;
    const index = rows.findIndex(isRow(closedId));
    if (index >= 0) focusRow(index);
  }, [openId]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, after the heading of the page has got the focus
  useEffect(() => {
    if (left !== undefined && rows.some(isRow(left.id))) queueMicrotask(() => focusRow(active));
  }, []);

  /** While the focus is outside, on the heading, the keys of the list lead into it. */
  function enter() {
    const { activeElement } = document;
    if (activeElement === document.body || activeElement?.matches("h1") === true) focusRow(active);
  }
  const entering = ["j", "k", "arrowdown", "arrowup"];
  useShortcuts(entering.map((keys) => ({ keys, label: "Enter the list", run: enter, isFallback: true })));

  function isRow(id: string) {
    return (row: Row) => idOf(row) === id;
  }

  function open(row: Row) {
    if (onOpen === undefined) return onPanel?.(row);
    leaveRow({ id: idOf(row), offset: grid.current?.scrollTop ?? 0 });
    onOpen(row);
  }

  function focusRow(index: number) {
    const next = Math.max(0, Math.min(rows.length - 1, index));
    setActive(next);
    virtual.scrollToIndex(next);
    wanted.current = next;
    focusWanted();
  }

  /** The row may only be in the document after a later rendering. */
  function focusWanted() {
    const row = wanted.current === undefined ? null : rowElement(wanted.current);
    if (row === null) return;
    wanted.current = undefined;
    row.focus({ preventScroll: true });
  }

  function rowElement(index: number): HTMLElement | null {
    return grid.current?.querySelector<HTMLElement>(`[data-index="${index}"]`) ?? null;
  }

  function onKeyDown(event: KeyboardEvent) {
    const row = rows[active];
    if (row === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof HTMLElement && event.target.closest("button, a") !== null) return;
    const steps: Record<string, () => void> = {
      ArrowDown: () => focusRow(active + 1),
      j: () => focusRow(active + 1),
      ArrowUp: () => focusRow(active - 1),
      k: () => focusRow(active - 1),
      PageDown: () => focusRow(active + 10),
      PageUp: () => focusRow(active - 10),
      Home: () => focusRow(0),
      End: () => focusRow(rows.length - 1),
      Enter: () => open(row),
      " ": () => (onPanel ?? open)(row),
      y: () => void copyText(idOf(row)).then(() => showNote("Copied the id.")),
      ".": () => rowElement(active)?.querySelector<HTMLElement>("[aria-haspopup]")?.click(),
    };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    step();
  }

  function onClick(event: MouseEvent, row: Row, index: number) {
    setActive(index);
    const isInControl = event.target instanceof Element && event.target.closest("button, a, [role=menu]") !== null;
    if (!isInControl) open(row);
  }

  const more = actionsOf === undefined ? "" : " 44px";
  const template = isNarrow ? undefined : `${columns.map(({ width }) => width).join(" ")}${more}`;
  const isActiveShown = items.some(({ index }) => index === active);
  return (
    <div className={styles.list}>
      <div
        ref={grid}
        role="grid"
        aria-label={label}
        aria-rowcount={hasNextPage ? -1 : rows.length + 1}
        aria-colcount={columns.length + (actionsOf === undefined ? 0 : 1)}
        className={`${styles.grid} ${isNarrow ? styles.narrow : ""} ${pages.isPlaceholderData || pages.isRefetchError ? styles.stale : ""}`}
        tabIndex={isActiveShown ? -1 : 0}
        onKeyDown={onKeyDown}
      >
        <div
          className={styles.head}
          role="row"
          aria-rowindex={1}
          style={{ gridTemplateColumns: template }}
          tabIndex={-1}
        >
          {columns.map(({ name, isNumber, isNameHidden }) => (
            <div
              key={name}
              role="columnheader"
              tabIndex={-1}
              className={`${styles.cell} ${isNumber ? styles.number : ""}`}
              aria-label={isNameHidden ? name : undefined}
            >
              {!isNameHidden && name}
            </div>
          ))}
          {actionsOf !== undefined && (
            <div role="columnheader" tabIndex={-1} className={styles.more} aria-label="Actions" />
          )}
        </div>
        <div className={styles.body} role="rowgroup" style={{ blockSize: virtual.getTotalSize() }}>
          {items.map(({ index, start, size }) => {
            const row = rows[index];
            if (row === undefined) return null;
            const id = idOf(row);
            const shownActions = actionsOf?.(row) ?? [];
            return (
              <div
                key={id}
                role="row"
                data-index={index}
                data-openable={(onOpen ?? onPanel) !== undefined || undefined}
                aria-rowindex={index + 2}
                aria-selected={openId === undefined ? undefined : id === openId}
                tabIndex={index === active ? 0 : -1}
                className={styles.row}
                style={{
                  gridTemplateColumns: template,
                  blockSize: size,
                  transform: `translateY(${start - virtual.options.scrollMargin}px)`,
                }}
                onClick={(event) => onClick(event, row, index)}
                onFocus={() => {
                  setActive(index);
                  setHadFocus(true);
                }}
              >
                <ActiveRow value={index === active}>
                  {columns.map((column) => (
                    <Cell key={column.name} column={column} row={row} isNarrow={isNarrow} />
                  ))}
                </ActiveRow>
                {actionsOf !== undefined && (
                  <div role="gridcell" tabIndex={-1} className={styles.more}>
                    {shownActions.length > 0 && (
                      <Menu label="Actions" items={shownActions}>
                        <IconButton label="Actions" size="small" excludeFromTabOrder>
                          <Ellipsis size={16} aria-hidden />
                        </IconButton>
                      </Menu>
                    )}
                  </div>
                )}
              </div>
            );
          })}
        </div>
      </div>
      <NewRows pages={pages} idOf={idOf} />
      <Foot pages={pages} />
    </div>
  );
}

/** Ascending indexes with one more of them. */
function withIndex(indexes: readonly number[], index: number): number[] {
  return indexes.includes(index) ? [...indexes] : [...indexes, index].sort((one, other) => one - other);
}

/** Offers the rows that were added since the list was loaded. */
function NewRows<Row>({ pages: { rows, newest = [], refetch }, idOf }: Pick<DataTableProps<Row>, "pages" | "idOf">) {
  const known = new Set(rows.map(idOf));
  const firstKnown = newest.findIndex((row) => known.has(idOf(row)));
  const count = firstKnown < 0 ? newest.length : firstKnown;
  return (
    <div className={styles.new} role="status">
      {count > 0 && (
        <Button size="small" onPress={() => refetch()}>
          <ArrowUp size={14} aria-hidden />
          {formatBounded(count, firstKnown < 0)} new
        </Button>
      )}
    </div>
  );
}

/** The extent of a list, and a retry of the next page if it failed. */
function Foot<Row>({ pages }: { readonly pages: Pages<Row> }) {
  const { rows, error, hasNextPage, isFetchingNextPage, fetchNextPage } = pages;
  return (
    <div className={styles.foot} role="status">
      {isFetchingNextPage
        ? "Loading more …"
        : error !== null
          ? error.message
          : !hasNextPage && (pages.end ?? reachOf(rows.length, pages.isCut))}
      {!isFetchingNextPage && error !== null && hasNextPage && (
        <Button kind="quiet" size="small" onPress={() => fetchNextPage()}>
          Try again
        </Button>
      )}
    </div>
  );
}

function reachOf(count: number, isCut = false): string | undefined {
  if (isCut) return `The first ${formatNumber(count)}: narrow the list down with a filter to see others.`;
  return count > 20 ? `${formatNumber(count)} in all` : undefined;
}

interface CellProps<Row> {
  readonly column: Column<Row>;
  readonly row: Row;
  readonly isNarrow: boolean;
}

function Cell<Row>({ column, row, isNarrow }: CellProps<Row>) {
  const { narrow, isNumber, render } = column;
  if (isNarrow && narrow === undefined) return null;
  const widePlace = isNumber ? styles.number : narrow === "lead" ? styles.picture : "";
  const place = isNarrow && narrow !== undefined ? styles[narrow] : widePlace;
  return (
    <div role="gridcell" tabIndex={-1} className={`${styles.cell} ${place} ${narrow === "title" ? styles.main : ""}`}>
      {render(row)}
    </div>
  );
}

/** The width outside the columns: the padding of a row, and its actions. */
const [paddingWidth, actionsWidth] = [24, 44];

/**
 * The columns that have room. Beside a panel or in a small window, columns are left out instead of scrolling sideways: those
 * that a phone does not show either at first, the last one before the others.
 */
function useFittingColumns<Row>(
  grid: { readonly current: HTMLElement | null },
  all: readonly Column<Row>[],
  hasActions: boolean,
): readonly Column<Row>[] {
  const columns = all.filter(({ isNarrowOnly }) => isNarrowOnly !== true);
  const [width, setWidth] = useState<number>();
  useLayoutEffect(() => {
    if (grid.current === null) return;
    const { current } = grid;
    const measure = () => setWidth(current.clientWidth);
    measure();
    const sizes = new ResizeObserver(measure);
    sizes.observe(current);
    return () => sizes.disconnect();
  }, [grid]);
  if (width === undefined) return columns;
  const room = width - paddingWidth - (hasActions ? actionsWidth : 0);
  const fitting = [...columns];
  const sum = () => fitting.reduce((total, column) => total + leastWidthOf(column), 0);
  const isSpare = [
    ({ narrow }: Column<Row>) => narrow === undefined,
    ({ narrow }: Column<Row>) => narrow !== "title", // with less room than on a phone
  ];
  for (const canGo of isSpare) {
    for (let index = fitting.length - 1; index >= 0 && sum() > room; index -= 1) {
      const column = fitting[index];
      if (column !== undefined && canGo(column)) fitting.splice(index, 1);
    }
  }
  return fitting;
}

/** The first length of the track, in pixels. */
function leastWidthOf<Row>({ width }: Column<Row>): number {
  return Number(/\d+/.exec(width)?.[0] ?? 0);
}

const touch = window.matchMedia("(pointer: coarse)");

function useRowHeight(isNarrow: boolean): number {
  const { density } = usePreferences();
  if (isNarrow) return narrowRowHeight;
  if (touch.matches) return 44;
  return density === "compact" ? 30 : 36;
}

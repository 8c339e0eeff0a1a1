import { type ReactNode, useEffect, useRef } from "react";
import X from "../lib/icons/x.ts";
import { showPageTitle } from "../lib/page-title.ts";
import { useShortcuts } from "../lib/shortcuts.ts";
import { IconButton } from "./button.tsx";
import styles from "./page.module.css";

interface PageProps {
  readonly title: string;
  /** Before the title: a picture. */
  readonly before?: ReactNode;
  /** After the title: state, id. */
  readonly beside?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
  /** False for pages whose list has its own scroll area. */
  readonly isScrolling?: boolean;
}

/** A screen with its heading, which gets the focus when the page opens. */
export function Page({ title, before, beside, actions, children, isScrolling = true }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    showPageTitle(title);
  }, [title]);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <div className={`${styles.page} ${isScrolling ? styles.scrolling : ""}`}>
      <div className={styles.header}>
        <div className={styles.title}>
          {before}
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {beside}
        </div>
        {actions !== undefined && <div className={styles.actions}>{actions}</div>}
      </div>
      {children}
    </div>
  );
}

interface SectionProps {
  readonly title: string;
  readonly lead?: ReactNode;
  readonly children: ReactNode;
}

/** A part of a scrolling page. */
export function Section({ title, lead, children }: SectionProps) {
  return (
    <section className={styles.section}>
      <h2>{title}</h2>
      {lead !== undefined && <p className={styles.lead}>{lead}</p>}
      {children}
    </section>
  );
}

/** Short sections, side by side where there is room. */
export function Sections({ children }: { readonly children: ReactNode }) {
  return <div className={styles.sections}>{children}</div>;
}

/** A list, with a side panel for the open row. */
export function Split({ children }: { readonly children: ReactNode }) {
  return <div className={styles.split}>{children}</div>;
}

interface PanelProps {
  readonly title: string;
  /** Before the title: a picture. */
  readonly before?: ReactNode;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** A side panel with details; full page on a phone. */
export function Panel({ title, before, onClose, children }: PanelProps) {
  useShortcuts([{ keys: "escape", label: "Close the panel", run: onClose }]);
  return (
    <aside className={styles.panel} aria-label={title}>
      <header>
        {before}
        <h2>{title}</h2>
        <IconButton label="Close" onPress={onClose}>
          <X size={18} aria-hidden />
        </IconButton>
      </header>
      <div className={styles.body}>{children}</div>
    </aside>
  );
}

interface TabsProps {
  readonly label: string;
  /** Many parts: a wide window shows them as a sidebar. */
  readonly isBeside?: boolean;
  /** Links of the class `tabClass`. */
  readonly children: ReactNode;
}

/** A row of links that switch between the parts of a page. On a phone it scrolls, and shows the current one. */
export function Tabs({ label, isBeside = false, children }: TabsProps) {
  const row = useRef<HTMLElement>(null);
  useEffect(() => {
    const current = row.current?.querySelector<HTMLElement>("[aria-current=page]");
    if (row.current !== null && current !== undefined && current !== null)
      row.current.scrollLeft = current.offsetLeft - (row.current.clientWidth - current.clientWidth) / 2;
  });
  return (
    <nav ref={row} className={`${styles.tabs} ${isBeside ? styles.beside : ""}`} aria-label={label}>
      {children}
    </nav>
  );
}

export const tabClass = styles.tab;

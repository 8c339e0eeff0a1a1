import { useContext, useState } from "react";
import { Button } from "react-aria-components/Button";
import Check from "../lib/icons/check.ts";
import Copy from "../lib/icons/copy.ts";
import { ActiveRow } from "./active-row.ts";
import { copyText } from "./copy-button.tsx";
import styles from "./parts.module.css";

const startCharacters = 8;
const endCharacters = 4;
const copiedMs = 1500;

interface IdChipProps {
  readonly id: string;
  /** In a list whose other columns say more: an icon in place of the characters. */
  readonly isIcon?: boolean;
}

/** An id by its first and last characters, in full while it has the focus. A press copies it. */
export function IdChip({ id, isIcon = false }: IdChipProps) {
  const isInActiveRow = useContext(ActiveRow);
  const [isCopied, setCopied] = useState(false);
  const [isFull, setFull] = useState(false);

  async function copy() {
    await copyText(id);
    setCopied(true);
    window.setTimeout(() => setCopied(false), copiedMs);
  }

  return (
    <Button
      className={styles.chip}
      excludeFromTabOrder={isInActiveRow === false}
      onPress={() => void copy()}
      onFocusChange={(hasFocus) => setFull(hasFocus && document.activeElement?.matches(":focus-visible") === true)}
    >
      <span className={styles.unseen}>
        {isCopied ? "Copied" : "Copy"} {isIcon && id}
      </span>
      {!isIcon && (isFull ? id : shorten(id))}
      {isIcon && !isCopied && <Copy size={12} aria-hidden />}
      {isCopied && <Check size={12} aria-hidden />}
    </Button>
  );
}

/** An id that leads to its page, or a chip if it has none. */
export function IdLink({ id, href }: { readonly id: string; readonly href: string | undefined }) {
  const isInActiveRow = useContext(ActiveRow);
  const [isFull, setFull] = useState(false);
  if (href === undefined) return <IdChip id={id} />;
  return (
    <a
      href={`#${href}`}
      title={id}
      className={`${styles.chip} ${styles["id-link"]}`}
      tabIndex={isInActiveRow === false ? -1 : undefined}
      onFocus={({ target }) => setFull(target.matches(":focus-visible"))}
      onBlur={() => setFull(false)}
    >
      {isFull ? id : shorten(id)}
    </a>
  );
}

function shorten(id: string): string {
  if (id.length <= startCharacters + endCharacters + 1) return id;
  return `${id.slice(0, startCharacters)}…${id.slice(-endCharacters)}`;
}

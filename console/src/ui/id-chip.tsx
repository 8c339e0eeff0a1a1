import Check from "lucide-react/icons/check";
import { useState } from "react";
import { Button } from "react-aria-components/Button";
import { copyText } from "./copy-button.tsx";
import styles from "./parts.module.css";

const startCharacters = 8;
const endCharacters = 4;
const copiedMs = 1500;

/** An id by its first and last characters, in full while it has the focus. A press copies it. */
export function IdChip({ id }: { readonly id: string }) {
  const [isCopied, setCopied] = useState(false);
  const [isFull, setFull] = useState(false);
  const isShort = id.length <= startCharacters + endCharacters + 1;
  const shown = isFull || isShort ? id : `${id.slice(0, startCharacters)}…${id.slice(-endCharacters)}`;

  async function copy() {
    await copyText(id);
    setCopied(true);
    window.setTimeout(() => setCopied(false), copiedMs);
  }

  return (
    <Button
      className={styles.chip}
      onPress={() => void copy()}
      onFocusChange={(hasFocus) => setFull(hasFocus && document.activeElement?.matches(":focus-visible") === true)}
    >
      <span className={styles.unseen}>{isCopied ? "Copied" : "Copy"} </span>
      {shown}
      {isCopied && <Check size={12} aria-hidden />}
    </Button>
  );
}

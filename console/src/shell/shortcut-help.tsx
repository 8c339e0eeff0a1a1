import { useState } from "react";
import { listShortcuts } from "../lib/shortcuts.ts";
import { Button } from "../ui/button.tsx";
import { Dialog, DialogActions } from "../ui/dialog.tsx";
import styles from "./frame.module.css";

const inLists: readonly (readonly [keys: string, label: string])[] = [
  ["j", "In a list: next row; enters the list"],
  ["k", "In a list: row before"],
  ["Enter", "In a list: open the row"],
  ["Space", "In a list: show its details"],
  [".", "In a list: actions of the row"],
  ["y", "In a list: copy the id"],
];

/** Told as keys of lists. */
const entering = ["j", "k", "arrowdown", "arrowup"];

export function ShortcutHelp({ onClose }: { readonly onClose: () => void }) {
  const [own] = useState(() => listShortcuts().filter(({ keys }) => !entering.includes(keys)));
  const all = [...own.map(({ keys, label }) => [keys, label] as const), ...inLists];
  return (
    <Dialog title="Shortcuts of this page" isWide onClose={onClose}>
      <dl className={styles.keys}>
        {all.map(([keys, label]) => (
          <div key={keys}>
            <dt>{label}</dt>
            <dd>
              {keys.split(/[ +]/).map((key) => (
                <kbd key={key}>{key === "mod" ? "Ctrl/⌘" : key}</kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
      <DialogActions>
        <Button onPress={onClose}>Close</Button>
      </DialogActions>
    </Dialog>
  );
}

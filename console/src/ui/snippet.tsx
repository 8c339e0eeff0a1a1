import { CopyButton } from "./copy-button.tsx";
import styles from "./snippet.module.css";

/** A command to paste into a shell. */
export function Snippet({ text }: { readonly text: string }) {
  return (
    <div className={styles.snippet}>
      <pre>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} label="Copy the command" />
    </div>
  );
}

import { showInvisible } from "../lib/format.ts";
import styles from "./webhooks.module.css";

/** The beginning of a receiver's answer. */
export function Response({ text = "" }: { readonly text: string | undefined }) {
  if (text === "") return null;
  return (
    <>
      <h3>What the receiver answered</h3>
      <pre className={styles.response}>{text.split("\n").map(showInvisible).join("\n")}</pre>
    </>
  );
}

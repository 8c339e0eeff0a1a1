import { useState } from "react";
import { showInvisible } from "../lib/format.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { Checkbox } from "../ui/fields.tsx";
import { foldLibraries, linesOf } from "./crash.frames.ts";
import styles from "./crashes.module.css";

/** A stack trace that highlights the frames of the app. */
export function StackTrace({ text }: { readonly text: string }) {
  const [isFolded, setFolded] = useState(false);
  const lines = linesOf(text);
  const hasBoth = ["app", "library"].every((kind) => lines.some((line) => line.kind === kind));
  return (
    <figure className={styles.trace}>
      <figcaption>
        <span>Stack trace</span>
        {hasBoth && (
          <Checkbox isSelected={isFolded} onChange={setFolded}>
            Only frames of the app
          </Checkbox>
        )}
        <CopyButton text={text} label="Copy the stack trace" />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, by keyboard too */}
      <pre role="region" tabIndex={0} aria-label="Stack trace">
        {(isFolded ? foldLibraries(lines) : lines).map((line, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines may be equal, and stay in their order
          <span key={index} data-kind={hasBoth ? line.kind : undefined}>
            {showInvisible(line.text)}
            {"\n"}
          </span>
        ))}
      </pre>
    </figure>
  );
}

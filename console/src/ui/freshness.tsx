import { formatClock } from "../lib/format.ts";
import Pause from "../lib/icons/pause.ts";
import Play from "../lib/icons/play.ts";
import { usePreferences } from "../lib/preferences.ts";
import { useShortcuts } from "../lib/shortcuts.ts";
import { Button } from "./button.tsx";
import styles from "./freshness.module.css";
import parts from "./parts.module.css";

interface FreshnessProps {
  /** The time of the last update, in milliseconds; 0 for never. */
  readonly at: number;
  readonly isPaused: boolean;
  /** The last attempt failed, so that the page shows older data. */
  readonly isFailing: boolean;
  readonly onPause: (isPaused: boolean) => void;
}

/** The age of the page's data, and the button that stops its updates; `p` does the same. */
export function Freshness({ at, isPaused, isFailing, onPause }: FreshnessProps) {
  usePreferences(); // the time zone
  const label = isPaused ? "Continue the updates" : "Pause the updates";
  useShortcuts([{ keys: "p", label, run: () => onPause(!isPaused) }]);
  const word = isPaused ? "Paused" : isFailing ? "No answer" : "Live";
  const state = isPaused ? "paused" : isFailing ? "failing" : "live";
  return (
    <Button kind="quiet" onPress={() => onPause(!isPaused)}>
      <span className={styles.dot} data-state={state} />
      {word}
      {at > 0 && <span className={styles.time}>{formatClock(at)}</span>}
      <span className={parts.unseen}>. {label}</span>
      {isPaused ? <Play size={14} aria-hidden /> : <Pause size={14} aria-hidden />}
    </Button>
  );
}

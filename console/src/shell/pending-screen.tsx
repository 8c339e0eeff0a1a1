import { useMatches } from "@tanstack/react-router";
import { LoadingRows } from "../ui/loading-rows.tsx";
import styles from "../ui/parts.module.css";

/** Stands for a screen whose code is on its way. Screen readers get the heading with the screen, which focuses it. */
export function PendingScreen() {
  const title = useMatches({
    select(matches) {
      const { title, heading = title } = matches.findLast(({ staticData }) => staticData.title)?.staticData ?? {};
      return heading;
    },
  });
  return (
    <div className={styles.pending}>
      <p aria-hidden>{title}</p>
      <LoadingRows />
    </div>
  );
}

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { getApplicationSettings } from "../api/admin.ts";
import type { CataloguedError } from "../api/openapi.ts";
import { sendVersioned } from "../api/send.ts";
import { Button } from "../ui/button.tsx";
import styles from "./explorer.module.css";
import type { ExplorerOperation } from "./explorer.operations.ts";

interface RehearseProps {
  readonly appid: string;
  readonly operation: ExplorerOperation;
  readonly catalogue: readonly CataloguedError[];
  readonly isPending: boolean;
  readonly onRehearse: (condition: string) => void;
}

/** The failures that an operation declares; each can be rehearsed if the application allows it. */
export function Rehearse({ appid, operation, catalogue, isPending, onRehearse }: RehearseProps) {
  const { data } = useQuery({
    queryKey: ["settings", appid],
    queryFn: ({ signal }) => sendVersioned(getApplicationSettings(appid), { signal }),
  });
  const isOn = data?.value.rehearsal === "on";
  return (
    <details className={styles.more}>
      <summary>{operation.errors.length} failures that it declares</summary>
      {data !== undefined && !isOn && (
        <p className={styles.muted}>
          Apps can have each of them on purpose once{" "}
          <Link to="/apps/$appid/rehearsals" params={{ appid }}>
            rehearsal is on
          </Link>
          .
        </p>
      )}
      <ul className={styles.errors}>
        {operation.errors.map((condition) => {
          const found = catalogue.find((row) => row.condition === condition);
          return (
            <li key={condition}>
              <div>
                <b>{condition}</b> {found?.status}
                <p className={styles.muted}>{found?.when}</p>
              </div>
              {isOn && (
                <Button size="small" isDisabled={isPending} onPress={() => onRehearse(condition)}>
                  Rehearse
                </Button>
              )}
            </li>
          );
        })}
      </ul>
    </details>
  );
}

import { type ReactNode, useState } from "react";
import { eventTypes } from "../../../server/src/event-log/event-types.ts";
import { Checkbox, FieldGroup } from "../ui/fields.tsx";
import styles from "./event-types.module.css";

/** The types of each kind of events, in alphabetical order. */
const eventKinds: ReadonlyMap<string, readonly string[]> = Map.groupBy(eventTypes.toSorted(), kindOf);

function kindOf(type: string): string {
  return type.split(".", 1)[0] ?? "";
}

interface EventTypesProps {
  readonly label: string;
  /** The parameter. */
  readonly name: string;
  readonly hint?: ReactNode;
  /** Types, `<kind>.*` or `*`, in any case. */
  readonly patterns: readonly string[];
  /** Whether an empty list selects all events; otherwise at least one pattern is required. */
  readonly isEmptyAll?: boolean;
  readonly isReadOnly?: boolean;
  readonly onChange: (patterns: readonly string[]) => void;
}

/** A choice of types of events: all, kinds or single ones. */
export function EventTypes(props: EventTypesProps) {
  const { label, name, hint, patterns, isEmptyAll = false, isReadOnly = false, onChange } = props;
  const [isNarrow, setNarrow] = useState(false);
  const chosen = patterns.map((pattern) => pattern.trim().toLowerCase()).filter((pattern) => pattern !== "");
  const isAll = chosen.includes("*") || (isEmptyAll && chosen.length === 0 && !isNarrow);

  function chooseAll(is: boolean) {
    setNarrow(!is);
    onChange(is ? ["*"] : []);
  }

  /** Selecting a kind replaces its single types. */
  function choose(pattern: string, is: boolean) {
    const isReplaced = (each: string) => (pattern.endsWith(".*") ? kindOf(each) === kindOf(pattern) : each === pattern);
    const others = chosen.filter((each) => !isReplaced(each));
    setNarrow(true); // also when the last one is unchosen
    onChange(is ? [...others, pattern] : others);
  }

  return (
    <FieldGroup label={label} name={name}>
      <div className={styles.types}>
        <Checkbox isSelected={isAll} onChange={chooseAll} isDisabled={isReadOnly}>
          All events, also of types that later versions add
        </Checkbox>
        {!isAll && (
          <ul className={styles.kinds} aria-label="Types of events">
            {[...eventKinds].map(([kind, types]) => {
              const isWhole = chosen.includes(`${kind}.*`);
              return (
                <li key={kind}>
                  <Checkbox isSelected={isWhole} onChange={(is) => choose(`${kind}.*`, is)} isDisabled={isReadOnly}>
                    <code>{kind}.*</code>
                  </Checkbox>
                  <div className={styles.ofKind}>
                    {types.map((type) => (
                      <Checkbox
                        key={type}
                        isSelected={isWhole || chosen.includes(type)}
                        onChange={(is) => choose(type, is)}
                        isDisabled={isReadOnly || isWhole}
                      >
                        <code>
                          <span className={styles.repeated}>{kind}.</span>
                          {type.slice(kind.length + 1)}
                        </code>
                      </Checkbox>
                    ))}
                  </div>
                </li>
              );
            })}
          </ul>
        )}
        {!isAll && chosen.length === 0 && (
          <p className={styles.hint}>
            {isEmptyAll ? "Nothing is chosen, which means all events." : "Choose at least one."}
          </p>
        )}
        {hint !== undefined && <p className={styles.hint}>{hint}</p>}
      </div>
    </FieldGroup>
  );
}

import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { FilterChips } from "../ui/filter-chips.tsx";
import styles from "./explorer.module.css";
import type { ExplorerOperation } from "./explorer.operations.ts";

interface OperationListProps {
  readonly operations: readonly ExplorerOperation[];
  readonly openId: string | undefined;
}

/** All operations by their tags; the search covers names, paths and summaries. */
export function OperationList({ operations, openId }: OperationListProps) {
  const [text, setText] = useState("");
  const found = operations.filter(({ id, path, method, summary }) =>
    `${id} ${method} ${path} ${summary}`.toLowerCase().includes(text.toLowerCase()),
  );
  const tags = [...Map.groupBy(found, ({ tag }) => tag)];
  return (
    <nav className={styles.list} aria-label="Operations">
      <FilterChips
        filters={[]}
        values={{ text: text === "" ? undefined : text }}
        onChange={(values) => setText(values["text"] ?? "")}
        search={{ name: "text", label: "Search operations" }}
      />
      {tags.map(([tag, group]) => (
        <section key={tag}>
          <h2>{tag}</h2>
          <ul>
            {group.map(({ id, method, path, summary }) => (
              <li key={id}>
                <Link
                  to="."
                  search={{ operation: id }}
                  title={`${summary} (${path})`}
                  aria-current={id === openId ? "page" : undefined}
                >
                  <Method name={method} />
                  <span>{path}</span>
                </Link>
              </li>
            ))}
          </ul>
        </section>
      ))}
      {found.length === 0 && <p className={styles.muted}>No operation has this in its name.</p>}
      {text === "" && <p className={styles.muted}>Without those of resumable uploads, which send a file in parts.</p>}
    </nav>
  );
}

export function Method({ name }: { readonly name: string }) {
  return (
    <span className={styles.method} data-method={name}>
      {name}
    </span>
  );
}

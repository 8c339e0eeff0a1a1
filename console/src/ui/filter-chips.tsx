import { type FormEvent, type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { showInvisible } from "../lib/format.ts";
import Bookmark from "../lib/icons/bookmark.ts";
import ListFilter from "../lib/icons/list-filter.ts";
import Search from "../lib/icons/search.ts";
import X from "../lib/icons/x.ts";
import { useShortcuts } from "../lib/shortcuts.ts";
import { Button, IconButton } from "./button.tsx";
import styles from "./filter-chips.module.css";
import { Menu } from "./menu.tsx";

export interface Filter {
  readonly name: string;
  readonly label: string;
  /** The values to choose from; without them, any string. */
  readonly options?: readonly { readonly value: string; readonly label: string }[];
  /** Values that are offered while the operator types. */
  readonly suggestions?: readonly { readonly value: string; readonly label: string }[];
  readonly type?: "text" | "date";
  readonly placeholder?: string;
}

/** The set filters, by their names. They belong to the address of the page. */
export type FilterValues = Readonly<Record<string, string | undefined>>;

export interface FilterChipsProps {
  readonly filters: readonly Filter[];
  readonly values: FilterValues;
  readonly onChange: (values: FilterValues) => void;
  /** The filter for plain words in the search box; without it, the box accepts only `name:value`. */
  readonly search?: { readonly name: string; readonly label: string };
  /** Filters that operators often need together. */
  readonly saved?: readonly { readonly label: string; readonly values: FilterValues }[];
}

const searchDelayMs = 250;

/** One line of filters above a list; `/` leads into it. */
export function FilterChips({ filters, values, onChange, search, saved = [] }: FilterChipsProps) {
  const [edited, setEdited] = useState<Filter>();
  const bar = useRef<HTMLDivElement>(null);
  useShortcuts([
    {
      keys: "/",
      label: "Filter the list",
      run: () => bar.current?.querySelector<HTMLElement>("input, [aria-haspopup]")?.focus(),
    },
  ]);
  const set = filters.filter(({ name }) => values[name] !== undefined);
  const names = [...set.map(({ name }) => name), ...(search === undefined ? [] : [search.name])];
  const isFiltered = names.some((name) => values[name] !== undefined);
  useShortcuts(isFiltered ? [{ keys: "escape", label: "Remove all filters", run: clear, isFallback: true }] : []);
  const open = filters.filter(({ name }) => values[name] === undefined);

  function change(name: string, value: string | undefined) {
    onChange({ ...values, [name]: value === "" ? undefined : value });
  }

  function clear() {
    onChange({ ...values, ...Object.fromEntries(names.map((name) => [name, undefined])) });
  }

  return (
    <div ref={bar} className={styles.bar} role="search">
      {search === undefined ? (
        <SearchBox
          label={`Filters, such as ${filters[0]?.name}:…`}
          value=""
          filters={filters}
          onFilters={(_, given) => onChange({ ...values, ...given })}
        />
      ) : (
        <SearchBox
          label={search.label}
          value={values[search.name] ?? ""}
          filters={filters}
          onSearch={(text) => change(search.name, text)}
          onFilters={(text, given) => onChange({ ...values, ...given, [search.name]: text === "" ? undefined : text })}
        />
      )}
      {set.map((filter) => (
        <span key={filter.name} className={styles.chip}>
          {filter.label}: <b>{showInvisible(labelOf(filter, values[filter.name] ?? ""))}</b>
          <IconButton label={`Remove ${filter.label}`} size="small" onPress={() => change(filter.name, undefined)}>
            <X size={14} aria-hidden />
          </IconButton>
        </span>
      ))}
      {edited !== undefined && (
        <Editor
          key={edited.name}
          filter={edited}
          onDone={(value) => {
            setEdited(undefined);
            if (value !== undefined) change(edited.name, value);
          }}
        />
      )}
      {open.length > 0 && edited === undefined && (
        <Menu
          label="Filters"
          placement="bottom start"
          items={[
            ...open.map((filter) => ({ label: filter.label, run: () => setEdited(filter) })),
            ...saved.map((view) => ({ label: view.label, icon: Bookmark, run: () => onChange(view.values) })),
          ]}
        >
          <Button kind="quiet">
            <ListFilter size={16} aria-hidden /> Filter
          </Button>
        </Menu>
      )}
    </div>
  );
}

interface SearchBoxProps {
  readonly label: string;
  readonly value: string;
  readonly filters: readonly Filter[];
  /** Absent where words without a filter find nothing. */
  readonly onSearch?: (text: string) => void;
  /** Receives the remaining words and the parsed filters. */
  readonly onFilters: (text: string, given: FilterValues) => void;
}

function SearchBox({ label, value, filters, onSearch, onFilters }: SearchBoxProps) {
  const listId = useId();
  const [text, setText] = useState(value);
  const completions = completionsOf(text, filters);
  const timer = useRef(0);
  // Not if the two differ only by spaces: the operator is about to type the next word.
  useEffect(() => setText((now) => (now.trim() === value ? now : value)), [value]);
  useEffect(() => () => window.clearTimeout(timer.current), []);

  function type(typed: string) {
    setText(typed);
    window.clearTimeout(timer.current);
    const isSearch = onSearch !== undefined && !typed.includes(":");
    timer.current = isSearch ? window.setTimeout(() => search(typed), searchDelayMs) : 0;
  }

  function search(typed: string) {
    window.clearTimeout(timer.current);
    timer.current = 0;
    onSearch?.(typed.trim());
  }

  /**
   * Immediate, because a delayed search would navigate away from the page of a row that the operator has since opened.
   */
  function onBlur() {
    if (timer.current !== 0) search(text);
  }

  function onKeyDown(event: KeyboardEvent) {
    if (event.key !== "Enter") return;
    const { words, given } = readFilters(text, filters);
    if (Object.keys(given).length === 0) search(text);
    else {
      setText(onSearch === undefined ? "" : words);
      onFilters(words, given);
    }
  }

  return (
    <div className={`${styles.search} ${onSearch === undefined ? styles.typed : ""}`}>
      <Search size={16} aria-hidden />
      <input
        type="search"
        aria-label={label}
        placeholder={label}
        value={text}
        onChange={(event) => type(event.target.value)}
        onKeyDown={onKeyDown}
        onBlur={onBlur}
        list={completions.length > 0 ? listId : undefined}
      />
      <datalist id={listId}>
        {completions.map((completion) => (
          <option key={completion} value={completion} />
        ))}
      </datalist>
    </div>
  );
}

/** Parses the filters in an input, such as `platform:iOS tag:my beta`, and the words before them. */
function readFilters(text: string, filters: readonly Filter[]): { words: string; given: FilterValues } {
  const names = filters.map(({ name }) => name).join("|");
  const [words = "", ...parts] = names === "" ? [text] : text.split(new RegExp(`(?:^|\\s)(${names}):`));
  const given: Record<string, string> = {};
  for (let index = 0; index + 1 < parts.length; index += 2) {
    const value = parts[index + 1]?.trim() ?? "";
    if (value !== "") given[parts[index] ?? ""] = value;
  }
  return { words: words.trim(), given };
}

/** How the filter that is being typed can go on; nothing while the operator types something else. */
function completionsOf(text: string, filters: readonly Filter[]): string[] {
  const [, before = "", last = ""] = /^(.*?)(\S*)$/s.exec(text) ?? [];
  if (last === "") return [];
  return filters
    .flatMap(({ name, options = [], suggestions = [] }) => [
      `${name}:`,
      ...[...options, ...suggestions].map(({ value }) => `${name}:${value}`),
    ])
    .filter((completion) => completion.startsWith(last) && completion !== last)
    .filter((completion) => last.includes(":") || completion.endsWith(":"))
    .map((completion) => before + completion);
}

interface EditorProps {
  readonly filter: Filter;
  readonly onDone: (value: string | undefined) => void;
}

function Editor({ filter, onDone }: EditorProps) {
  const { label, options, suggestions = [], type = "text", placeholder } = filter;
  const [value, setValue] = useState("");
  const listId = useId();
  const field = useRef<HTMLElement>(null);
  useEffect(() => field.current?.focus(), []);

  function submit(event: FormEvent) {
    event.preventDefault();
    onDone(value.trim());
  }

  return (
    <form className={styles.edit} onSubmit={submit} onKeyDown={(event) => event.key === "Escape" && onDone(undefined)}>
      {label}
      {options === undefined ? (
        <>
          <input
            ref={(element) => {
              field.current = element;
            }}
            type={type}
            aria-label={label}
            placeholder={placeholder}
            list={suggestions.length > 0 ? listId : undefined}
            value={value}
            onChange={(event) => setValue(event.target.value)}
          />
          <datalist id={listId}>
            {suggestions.map((suggestion) => (
              <option key={suggestion.value} value={suggestion.value} label={suggestion.label} />
            ))}
          </datalist>
        </>
      ) : (
        <select
          ref={(element) => {
            field.current = element;
          }}
          aria-label={label}
          value={value}
          onChange={(event) => onDone(event.target.value)}
        >
          <option value="">Choose …</option>
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      )}
      <IconButton label="Cancel" size="small" onPress={() => onDone(undefined)}>
        <X size={14} aria-hidden />
      </IconButton>
    </form>
  );
}

/** A value as the operator chose it. */
export function labelOf({ options }: Pick<Filter, "options">, value: string): string {
  return options?.find((option) => option.value === value)?.label ?? value;
}

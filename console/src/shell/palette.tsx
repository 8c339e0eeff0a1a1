import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { searchApplication, searchDeployment } from "../api/admin.ts";
import { send } from "../api/send.ts";
import { listActs } from "../lib/acts.ts";
import { listShortcuts } from "../lib/shortcuts.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Problem } from "../ui/fields.tsx";
import styles from "./frame.module.css";
import { addressOfId } from "./ids.ts";
import {
  type Destination,
  findById,
  findCommands,
  findPages,
  listRecent,
  rememberDestination,
} from "./palette.hits.ts";

interface PaletteProps {
  readonly appid: string | undefined;
  readonly onClose: () => void;
}

const typingMs = 150;
const textMax = 320;

/**
 * Goes to any screen, and to any object by its id, its name, an address or the id of a call. Does what the page, the selected
 * object and single keys offer.
 */
export function Palette({ appid, onClose }: PaletteProps) {
  const [typed, setTyped] = useState("");
  const [selected, setSelected] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const navigate = useNavigate();
  const text = typed.trim();
  const { pages, isSearching, isGone, error } = useSearch(text, appid);
  const [shortcuts] = useState(listShortcuts); // of the page below
  const [acts] = useState(listActs);
  const hits = uniqueOf([
    ...(text === "" ? listRecent() : []),
    ...(isGone ? [] : findById(text, appid)),
    ...findCommands(text, appid, acts, shortcuts),
    ...pages,
  ]);
  const current = hits[Math.min(selected, hits.length - 1)];

  // biome-ignore lint/correctness/useExhaustiveDependencies: another line is the current one
  useEffect(() => {
    void list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [current?.href]);

  function follow(hit: Destination) {
    onClose();
    rememberDestination(hit);
    if (hit.run === undefined) void navigate({ href: hit.href });
    else hit.run();
  }

  function onKeyDown(event: KeyboardEvent) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setSelected((index) => (index + step + hits.length) % Math.max(hits.length, 1));
    } else if (event.key === "Enter" && current !== undefined) {
      event.preventDefault();
      follow(current);
    }
  }

  return (
    <Dialog title="Find anything" onClose={onClose}>
      <div className={styles.palette}>
        <input
          autoFocus
          role="combobox"
          aria-label="A screen, a name, an e-mail address or an id"
          aria-expanded={hits.length > 0}
          aria-controls="palette-hits"
          aria-activedescendant={current === undefined ? undefined : `hit-${hits.indexOf(current)}`}
          placeholder="A screen, a name, an address or an id"
          maxLength={textMax}
          autoComplete="off"
          spellCheck="false"
          value={typed}
          onChange={(event) => {
            setTyped(event.target.value);
            setSelected(0);
          }}
          onKeyDown={onKeyDown}
        />
        <div ref={list} id="palette-hits" role="listbox" aria-label="Found" className={styles.found}>
          {hits.map((hit, index) => (
            <div
              key={hit.href}
              id={`hit-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={hit === current}
              className={styles.link}
              onClick={() => follow(hit)}
            >
              <hit.icon size={16} strokeWidth={1.75} aria-hidden />
              <span>
                {hit.label}
                {hit.detail !== undefined && <small>{hit.detail}</small>}
              </span>
              <small>{hit.note}</small>
              {hit.keys !== undefined && <kbd>{hit.keys}</kbd>}
            </div>
          ))}
        </div>
        {error !== null && <Problem error={error} />}
        <p role="status" className={styles.searching}>
          {isSearching ? "Searching …" : hits.length === 0 && error === null && "Nothing has this name or id."}
        </p>
      </div>
    </Dialog>
  );
}

/** Removes later hits that lead to the same page. */
function uniqueOf(hits: readonly Destination[]): readonly Destination[] {
  return hits.filter(({ href }, index) => hits.findIndex((other) => other.href === href) === index);
}

/** The server's search results, in the open application and in the deployment. */
function useSearch(text: string, appid: string | undefined) {
  const q = useSettled(text);
  const { data, error, isFetching } = useQuery({
    queryKey: ["search", appid, q],
    queryFn: async ({ signal }) => {
      const [inApplication, inDeployment] = await Promise.all([
        appid === undefined ? undefined : send(searchApplication(appid, { q }), { signal }),
        send(searchDeployment({ q }), { signal }),
      ]);
      const pages = findPages(q, appid, inApplication, inDeployment);
      const address = addressOfId(q, appid);
      return { pages, isGone: address !== undefined && !pages.some(({ href }) => href === address) };
    },
    enabled: q !== "",
    gcTime: 0,
  });
  const isSearching = isFetching || q !== text;
  return {
    /** Empty during a search: otherwise Enter would open a hit of the previous query. */
    pages: (q === text ? data?.pages : undefined) ?? [],
    isSearching,
    /** Whether the query is an id without a page here: it was deleted, or is in another application. */
    isGone: !isSearching && data?.isGone === true,
    error,
  };
}

/** Debounces the query, so that not every letter starts a search. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = window.setTimeout(() => setSettled(text), typingMs);
    return () => window.clearTimeout(timer);
  }, [text]);
  return settled;
}

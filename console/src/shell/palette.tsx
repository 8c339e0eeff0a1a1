import { useNavigate } from "@tanstack/react-router";
import ArrowRight from "lucide-react/icons/arrow-right";
import { type KeyboardEvent, useState } from "react";
import { Dialog } from "../ui/dialog.tsx";
import styles from "./frame.module.css";
import { addressOfId } from "./ids.ts";
import { applicationNavigation, deploymentNavigation } from "./navigation.ts";

interface PaletteProps {
  readonly appid: string | undefined;
  readonly onClose: () => void;
}

interface Hit {
  readonly label: string;
  readonly note?: string;
  readonly href: string;
}

/** Goes to any screen, and to any object by its id. */
export function Palette({ appid, onClose }: PaletteProps) {
  const [text, setText] = useState("");
  const [selected, setSelected] = useState(0);
  const navigate = useNavigate();
  const hits = findHits(text.trim(), appid);
  const current = hits[Math.min(selected, hits.length - 1)];

  function follow(hit: Hit) {
    onClose();
    void navigate({ href: hit.href });
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
          aria-label="A screen, or an id"
          aria-expanded={hits.length > 0}
          aria-controls="palette-hits"
          aria-activedescendant={current === undefined ? undefined : `hit-${hits.indexOf(current)}`}
          placeholder="A screen, or an id: app_…, usr_…"
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setSelected(0);
          }}
          onKeyDown={onKeyDown}
        />
        <div id="palette-hits" role="listbox" aria-label="Found" className={styles.found}>
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
              <ArrowRight size={16} aria-hidden />
              {hit.label}
              {hit.note !== undefined && <small>{hit.note}</small>}
            </div>
          ))}
        </div>
        {hits.length === 0 && <p role="status">No screen has this name, and it is no id that has a page.</p>}
      </div>
    </Dialog>
  );
}

function findHits(text: string, appid: string | undefined): Hit[] {
  const address = addressOfId(text, appid);
  if (address !== undefined) return [{ label: text, note: "by its id", href: address }];
  const places = [...(appid === undefined ? [] : applicationNavigation.flat()), ...deploymentNavigation];
  return places
    .filter(({ label }) => label.toLowerCase().includes(text.toLowerCase()))
    .map(({ label, to, key }) => ({ label, note: `g ${key}`, href: to.replace("$appid", appid ?? "") }));
}

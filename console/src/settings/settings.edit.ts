import { useBlocker } from "@tanstack/react-router";
import { useState } from "react";
import type { Versioned } from "../api/call.ts";
import { changedMeanwhile, type Settings } from "../api/settings.ts";
import { showToast } from "../ui/toast.tsx";
import type { Draft } from "./settings.values.ts";

/** The input of the operator, and the settings that it changes. */
interface Edit {
  readonly base: Versioned<Settings>;
  readonly texts: Draft;
}

/** Stores settings if their version is still this one. */
type Send = (options: Pick<Versioned<Settings>, "version">) => Promise<Versioned<Settings>>;

/**
 * An edit of the texts that show settings. A text that was not changed shows what the server has now. The edit keeps the
 * version that it is based on, so that the server refuses it after a change by another operator, which is then shown.
 *
 * @param standing the stored settings as strings
 */
export function useEdit(stored: Versioned<Settings>, standing: Draft, onStored: (stored: Versioned<Settings>) => void) {
  const [edit, setEdit] = useState<Edit>();
  const [before, setBefore] = useState<Settings>();
  const texts: Draft = { ...standing, ...edit?.texts };
  const isChanged = Object.entries(standing).some(([path, text]) => texts[path] !== text);
  useBlocker({
    shouldBlockFn: () => isChanged && !window.confirm("Leave without saving?"),
    enableBeforeUnload: isChanged,
  });

  function type(path: string, text: string) {
    setEdit((now) => {
      const { [path]: _, ...others } = now?.texts ?? {};
      return editOf(now?.base ?? stored, text === standing[path] ? others : { ...others, [path]: text });
    });
  }

  /** @param undo of the settings before */
  async function save(message: string, send: Send, undo: (before: Settings) => Send) {
    const { base, texts: sent } = edit ?? { base: stored, texts: {} };
    try {
      const saved = await send(base);
      take(saved, sent);
      showToast(message, async () => take(await undo(base.value)(saved), {}));
    } catch (error) {
      const others = changedMeanwhile(error);
      if (others === undefined) throw error;
      setEdit((now) => now && { ...now, base: others });
      setBefore(base.value);
      onStored(others);
    }
  }

  /** Input that was typed during the save is not lost. */
  function take(saved: Versioned<Settings>, sent: Draft) {
    setEdit((now) => {
      const typed = Object.entries(now?.texts ?? {}).filter(([path, text]) => text !== sent[path]);
      return editOf(saved, Object.fromEntries(typed));
    });
    setBefore(undefined);
    onStored(saved);
  }

  function discard() {
    setEdit(undefined);
    setBefore(undefined);
  }

  /** `before`: the settings that another operator has changed since the page loaded them. */
  return { texts, isChanged, before, type, save, discard };
}

function editOf(base: Versioned<Settings>, texts: Draft): Edit | undefined {
  return Object.keys(texts).length === 0 ? undefined : { base, texts };
}

import { useBlocker } from "@tanstack/react-router";
import { useState } from "react";
import type { ApplicationSettings } from "../api/admin.ts";
import type { Versioned } from "../api/send.ts";
import { CallError } from "../lib/call-error.ts";
import { showToast } from "../ui/toast.tsx";
import { type Draft, isObject } from "./settings.values.ts";

/** The input of the operator, and the settings that it changes. */
interface Edit {
  readonly base: Versioned<ApplicationSettings>;
  readonly texts: Draft;
}

/** Stores settings if their version is still this one. */
type Send = (options: Pick<Versioned<ApplicationSettings>, "version">) => Promise<Versioned<ApplicationSettings>>;

/**
 * An edit of the texts that show settings. A text that was not changed shows what the server has now. The edit keeps the
 * version that it is based on, so that the server refuses it after a change by another operator, which is then shown.
 *
 * @param standing the stored settings as strings
 */
export function useEdit(
  stored: Versioned<ApplicationSettings>,
  standing: Draft,
  onStored: (stored: Versioned<ApplicationSettings>) => void,
) {
  const [edit, setEdit] = useState<Edit>();
  const [before, setBefore] = useState<ApplicationSettings>();
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
  async function save(message: string, send: Send, undo: (before: ApplicationSettings) => Send) {
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
  function take(saved: Versioned<ApplicationSettings>, sent: Draft) {
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

/** The stored settings, if the change was refused because another operator has changed them since. */
function changedMeanwhile(error: unknown): Versioned<ApplicationSettings> | undefined {
  if (!(error instanceof CallError) || error.condition !== "ObjectChanged") return undefined;
  const { current, version } = error.details;
  return isObject(current) && typeof version === "string" ? { value: current, version } : undefined;
}

function editOf(base: Versioned<ApplicationSettings>, texts: Draft): Edit | undefined {
  return Object.keys(texts).length === 0 ? undefined : { base, texts };
}

import { useBlocker } from "@tanstack/react-router";
import Users from "lucide-react/icons/users";
import { useState } from "react";
import type { Versioned } from "../api/call.ts";
import { changedMeanwhile, replaceSettings, type Settings } from "../api/settings.ts";
import { CallError, problemsOf } from "../lib/call-error.ts";
import { Button } from "../ui/button.tsx";
import { Form, TextField } from "../ui/fields.tsx";
import { Section } from "../ui/page.tsx";
import { Notice } from "../ui/states.tsx";
import { showToast } from "../ui/toast.tsx";
import styles from "./settings.module.css";
import { useSeenOrigins } from "./settings.origins.tsx";
import { shutOutBy } from "./settings.parts.ts";
import { ShutOutDialog } from "./settings.shut-out.tsx";
import { isObject } from "./settings.values.ts";

interface SettingsJsonProps {
  readonly appid: string;
  readonly stored: Versioned<Settings>;
  readonly isEditor: boolean;
  readonly onStored: (stored: Versioned<Settings>) => void;
}

const field = "json";

/** All settings as one document, to compare, to store and to copy to another application. */
export function SettingsJson({ appid, stored, isEditor, onStored }: SettingsJsonProps) {
  const { value: settings } = stored;
  /** What is typed, and the settings that it changes. */
  const [edit, setEdit] = useState<{ readonly base: Versioned<Settings>; readonly text: string }>();
  const standing = write(settings);
  const text = edit?.text ?? standing;
  const [asked, setAsked] = useState<Settings>();
  const [isTheirs, setTheirs] = useState(false);
  const seen = useSeenOrigins(appid, true);
  const isChanged = text !== standing;
  useBlocker({
    shouldBlockFn: () => isChanged && !window.confirm("Leave without saving?"),
    enableBeforeUnload: isChanged,
  });

  async function submit() {
    const next = read(text);
    if (shutOutBy(settings, next, seen).length > 0) setAsked(next);
    else await save(next);
  }

  async function save(next: Settings) {
    const base = edit?.base ?? stored;
    try {
      const saved = await replaceSettings({ ...next, appid }, { version: base.version });
      take(saved, text);
      showToast("Saved all settings.", async () => {
        take(await replaceSettings({ ...base.value, appid }, { version: saved.version }));
      });
    } catch (error) {
      const others = changedMeanwhile(error);
      if (others === undefined) throw atText(error);
      setEdit((now) => now && { ...now, base: others });
      setTheirs(true);
      onStored(others);
    }
  }

  /** What was typed while the settings were on their way stays. */
  function take(saved: Versioned<Settings>, sent?: string) {
    setEdit((now) => (now === undefined || now.text === sent ? undefined : { ...now, base: saved }));
    setTheirs(false);
    onStored(saved);
  }

  function changeText(typed: string) {
    setEdit((now) => (typed === standing ? undefined : { base: now?.base ?? stored, text: typed }));
  }

  function discard() {
    setEdit(undefined);
    setTheirs(false);
  }

  return (
    <Section
      title="All as JSON"
      lead="What is set, as the API has it; what is absent has its default. Secrets are left out, and stay if the rest of their setting is unchanged."
    >
      <Form fields={[field]} onSubmit={submit}>
        {({ isPending, problem }) => (
          <>
            <TextField
              label="Settings"
              name={field}
              value={text}
              onChange={changeText}
              isReadOnly={!isEditor}
              isLong
              isCode
              rows={Math.min(Math.max(text.split("\n").length + 1, 8), 30)}
              autoComplete="off"
              spellCheck="false"
            />
            {isTheirs && (
              <Notice icon={Users}>
                Another operator has changed the settings meanwhile. What you typed is still here; saving it replaces
                what they have saved:
                <code className={styles.theirs}>{standing}</code>
              </Notice>
            )}
            {problem}
            {isEditor && (
              <div className={styles.buttons}>
                <Button kind="primary" type="submit" isDisabled={!isChanged} isPending={isPending}>
                  Save
                </Button>
                {isChanged && <Button onPress={discard}>Discard</Button>}
              </div>
            )}
          </>
        )}
      </Form>
      {asked !== undefined && (
        <ShutOutDialog
          appid={appid}
          sentences={shutOutBy(settings, asked, seen)}
          onConfirm={() => save(asked)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </Section>
  );
}

function write(settings: Settings): string {
  return JSON.stringify(settings, undefined, 2);
}

/** @throws CallError that names the field */
function read(text: string): Settings {
  try {
    const settings: unknown = JSON.parse(text);
    if (isObject(settings)) return settings;
  } catch (error) {
    throw unreadable(`This is no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  throw unreadable("An object with the settings, such as {}.");
}

function unreadable(message: string): CallError {
  return new CallError(0, { error: "ParameterIncorrectFormat", parameter: field, message });
}

/** Every problem is shown at the text, with its setting. */
function atText(error: unknown): unknown {
  if (!(error instanceof CallError)) return error;
  const sentences = problemsOf(error).map(({ path = "", message }) => `${path} ${message}.`.trim());
  if (sentences.length === 0) return error;
  return new CallError(error.status, { ...error.details, problems: [{ path: field, message: sentences.join(" ") }] });
}

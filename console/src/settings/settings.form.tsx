import { useBlocker } from "@tanstack/react-router";
import Users from "lucide-react/icons/users";
import { useState } from "react";
import type { Versioned } from "../api/call.ts";
import {
  type ChangedSettings,
  changedMeanwhile,
  changeSettings,
  type EffectiveSettings,
  type Settings,
} from "../api/settings.ts";
import { CallError, problemsOf } from "../lib/call-error.ts";
import { formatBytes, formatDuration, showInvisible } from "../lib/format.ts";
import { Button } from "../ui/button.tsx";
import { Form } from "../ui/fields.tsx";
import { Section } from "../ui/page.tsx";
import { Notice } from "../ui/states.tsx";
import { showToast } from "../ui/toast.tsx";
import { Fact } from "./settings.facts.tsx";
import { SettingField } from "./settings.field.tsx";
import styles from "./settings.module.css";
import { SeenOrigins, useSeenOrigins } from "./settings.origins.tsx";
import { type Field, type Part, shutOutBy } from "./settings.parts.ts";
import { RetentionLoss } from "./settings.retention.tsx";
import { ShutOutDialog } from "./settings.shut-out.tsx";
import { changeOf, type Draft, draftOf, settingsAfter, UnreadableField, undoOf } from "./settings.values.ts";

interface SettingsFormProps {
  readonly appid: string;
  readonly part: Part;
  readonly stored: Versioned<Settings>;
  readonly effective: EffectiveSettings | undefined;
  readonly isEditor: boolean;
  /** The current settings of the server, after a change here or by another operator. */
  readonly onStored: (stored: Versioned<Settings>) => void;
}

/** What is typed, and the settings that it changes. */
interface Edit {
  readonly base: Versioned<Settings>;
  readonly texts: Draft;
}

/** One part of the settings, which is saved separately. Fields without an edit show what the server has now. */
export function SettingsForm({ appid, part, stored, effective, isEditor, onStored }: SettingsFormProps) {
  const { fields } = part;
  const { value: settings } = stored;
  const [edit, setEdit] = useState<Edit>();
  const standing = draftOf(fields, settings);
  const draft = { ...standing, ...edit?.texts };
  const [asked, setAsked] = useState<ChangedSettings>();
  const [before, setBefore] = useState<Settings>();
  const seen = useSeenOrigins(
    appid,
    fields.some(({ path }) => path === "origins"),
  );
  const isChanged = JSON.stringify(draft) !== JSON.stringify(standing);
  useBlocker({
    shouldBlockFn: () => isChanged && !window.confirm("Leave without saving?"),
    enableBeforeUnload: isChanged,
  });

  function changeText(path: string, text: string) {
    setEdit((now) => {
      const { [path]: _, ...others } = now?.texts ?? {};
      const texts = text === standing[path] ? others : { ...others, [path]: text };
      return editOf(now?.base ?? stored, texts);
    });
  }

  async function submit() {
    const change = readDraft(fields, draft, settings);
    if (shutOutBy(settings, settingsAfter(change, settings), seen).length > 0) setAsked(change);
    else await save(change);
  }

  async function save(change: ChangedSettings) {
    const { base, texts: sent } = edit ?? { base: stored, texts: {} };
    try {
      const saved = await changeSettings({ appid, ...change }, { version: base.version });
      take(saved, sent);
      const undo = undoOf(change, base.value);
      showToast(`Saved: ${part.title}.`, async () => {
        take(await changeSettings({ appid, ...undo }, { version: saved.version }), {});
      });
    } catch (error) {
      const others = changedMeanwhile(error);
      if (others === undefined) throw atField(fields, error);
      setEdit((now) => now && { ...now, base: others });
      setBefore(base.value);
      onStored(others);
    }
  }

  /** What was typed while the settings were on their way stays. */
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

  return (
    <Section title={part.title} lead={part.lead}>
      {part.id === "access" && <SeenOrigins origins={seen} />}
      <Form fields={fields.map(({ path }) => path)} onSubmit={submit}>
        {({ isPending, problem }) => (
          <>
            {fields.map((field) => (
              <SettingField
                key={field.path}
                field={field}
                text={draft[field.path] ?? ""}
                settings={settings}
                effective={effective}
                isReadOnly={!isEditor}
                onText={(text) => changeText(field.path, text)}
                fact={<Fact appid={appid} path={field.path} />}
              />
            ))}
            {part.id === "storage" && effective !== undefined && (
              <RetentionLoss appid={appid} draft={draft} effective={effective} />
            )}
            {before !== undefined && <ChangedMeanwhile fields={fields} before={before} settings={settings} />}
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
          sentences={shutOutBy(settings, settingsAfter(asked, settings), seen)}
          onConfirm={() => save(asked)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </Section>
  );
}

function editOf(base: Versioned<Settings>, texts: Draft): Edit | undefined {
  return Object.keys(texts).length === 0 ? undefined : { base, texts };
}

interface ChangedMeanwhileProps {
  readonly fields: readonly Field[];
  readonly before: Settings;
  readonly settings: Settings;
}

/** The changes that another operator has saved while this one was typing. */
function ChangedMeanwhile({ fields, before, settings }: ChangedMeanwhileProps) {
  const [was, is] = [draftOf(fields, before), draftOf(fields, settings)];
  const changed = fields.filter(({ path }) => was[path] !== is[path]);
  return (
    <Notice icon={Users}>
      Another operator has changed the settings meanwhile. What you typed is still here: look at it again, and save.
      {changed.map(({ path, label, kind }) => (
        <span key={path} className={styles.theirs}>
          {label}, theirs: <code>{is[path] === "" ? "not set" : inWords(kind, is[path] ?? "")}</code>
        </span>
      ))}
    </Notice>
  );
}

function inWords(kind: Field["kind"], text: string): string {
  if (kind === "ms") return formatDuration(Number(text));
  return kind === "bytes" ? formatBytes(Number(text)) : showInvisible(text);
}

/** @throws CallError that names the field, so that the form shows it there */
function readDraft(fields: readonly Field[], draft: Draft, settings: Settings): ChangedSettings {
  try {
    return changeOf(fields, draft, settings);
  } catch (error) {
    if (!(error instanceof UnreadableField)) throw error;
    throw new CallError(0, { error: "ParameterIncorrectFormat", parameter: error.path, message: error.message });
  }
}

/** A refusal that names a member inside a field, such as `limits.caller.perSecond`, is shown at the field. */
function atField(fields: readonly Field[], error: unknown): unknown {
  if (!(error instanceof CallError)) return error;
  const fieldOf = (path = "") => fields.find((field) => `${path}.`.startsWith(`${field.path}.`))?.path;
  const problems = problemsOf(error).map(({ path, message }) => {
    const field = fieldOf(path);
    const inner = field === undefined ? "" : (path ?? "").slice(field.length + 1);
    return { path: field, message: inner === "" ? sentence(message) : `${inner} ${message}.` };
  });
  const parameter = fieldOf(error.parameter) ?? error.parameter;
  return new CallError(error.status, { ...error.details, parameter, problems });
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

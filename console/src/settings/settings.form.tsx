import { useState } from "react";
import { type ApplicationSettings, changeApplicationSettings, type EffectiveSettings } from "../api/admin.ts";
import { type CallOptions, sendVersioned, type Versioned } from "../api/send.ts";
import { CallError, problemsOf } from "../lib/call-error.ts";
import { formatBytes, formatDuration, showInvisible } from "../lib/format.ts";
import Users from "../lib/icons/users.ts";
import { useSession } from "../shell/session.ts";
import { Button } from "../ui/button.tsx";
import { Form } from "../ui/fields.tsx";
import { Section } from "../ui/page.tsx";
import { Notice } from "../ui/states.tsx";
import { useEdit } from "./settings.edit.ts";
import { Fact } from "./settings.facts.tsx";
import { SettingField } from "./settings.field.tsx";
import styles from "./settings.module.css";
import { SeenOrigins, useSeenOrigins } from "./settings.origins.tsx";
import { type Field, type Part, shutOutBy } from "./settings.parts.ts";
import { RetentionLoss } from "./settings.retention.tsx";
import { ShutOutDialog } from "./settings.shut-out.tsx";
import {
  type ChangedSettings,
  changeOf,
  type Draft,
  draftOf,
  type LimitRow,
  settingsAfter,
  splitRate,
  UnreadableField,
  undoOf,
} from "./settings.values.ts";

interface SettingsFormProps {
  readonly appid: string;
  readonly part: Part;
  readonly stored: Versioned<ApplicationSettings>;
  readonly effective: EffectiveSettings | undefined;
  readonly isEditor: boolean;
  /** The current settings of the server, after a change here or by another operator. */
  readonly onStored: (stored: Versioned<ApplicationSettings>) => void;
}

/** One part of the settings, which is saved separately. */
export function SettingsForm({ appid, part, stored, effective, isEditor, onStored }: SettingsFormProps) {
  const { fields } = part;
  const { value: settings } = stored;
  const edit = useEdit(stored, draftOf(fields, settings), onStored);
  const { texts: draft, isChanged, before } = edit;
  const [asked, setAsked] = useState<ChangedSettings>();
  const seen = useSeenOrigins(
    appid,
    fields.some(({ path }) => path === "origins"),
  );

  async function submit() {
    const change = readDraft(fields, draft, settings);
    if (shutOutBy(settings, settingsAfter(change, settings), seen).length > 0) setAsked(change);
    else await save(change);
  }

  async function save(change: ChangedSettings) {
    const send = (values: ChangedSettings) => (options: CallOptions) =>
      // A null unsets a member, which the generated type does not say.
      sendVersioned(changeApplicationSettings(appid, values as ApplicationSettings), options);
    try {
      await edit.save(`Saved: ${part.title}.`, send(change), (base) => send(undoOf(change, base)));
    } catch (error) {
      throw atField(fields, error);
    }
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
                onText={(text) => edit.type(field.path, text)}
                fact={<Fact appid={appid} path={field.path} />}
              />
            ))}
            {part.id === "storage" && effective !== undefined && (
              <RetentionLoss appid={appid} draft={draft} effective={effective} />
            )}
            {before !== undefined && (
              <ChangedMeanwhile fields={fields} before={before} settings={settings} effective={effective} />
            )}
            {problem}
            {isEditor && (
              <div className={styles.buttons}>
                <Button kind="primary" type="submit" isDisabled={!isChanged} isPending={isPending}>
                  Save
                </Button>
                {isChanged && <Button onPress={edit.discard}>Discard</Button>}
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

interface ChangedMeanwhileProps {
  readonly fields: readonly Field[];
  readonly before: ApplicationSettings;
  readonly settings: ApplicationSettings;
  readonly effective: EffectiveSettings | undefined;
}

/** The changes that were saved while this operator was typing: by another one, or by the same in another tab. */
function ChangedMeanwhile({ fields, before, settings, effective }: ChangedMeanwhileProps) {
  const { operator } = useSession();
  const [was, is] = [draftOf(fields, before), draftOf(fields, settings)];
  const changed = fields.filter(({ path }) => was[path] !== is[path]);
  const authors = changed.map(({ path }) => effective?.changed[path.split(".")[0] ?? ""]?.by);
  const isOwn = authors.length > 0 && authors.every((by) => by === operator.id);
  return (
    <Notice icon={Users}>
      {isOwn ? "You have changed the settings elsewhere" : "Another operator has changed the settings meanwhile"}. What
      you typed is still here: look at it again, and save.
      {changed.map(({ path, label, kind }) => (
        <span key={path} className={styles.theirs}>
          {label}, {isOwn ? "there" : "theirs"}:{" "}
          <code>{is[path] === "" ? "not set" : inWords(kind, is[path] ?? "")}</code>
        </span>
      ))}
    </Notice>
  );
}

function inWords(kind: Field["kind"], text: string): string {
  if (kind === "rate") return wordsOfRate(text);
  if (kind === "list" || kind === "operations" || kind === "eventTypes")
    return text.split("\n").map(showInvisible).join(", ");
  if (kind === "operationLimits") return wordsOfLimits(text);
  if (kind === "ms") return formatDuration(Number(text));
  return kind === "bytes" ? formatBytes(Number(text)) : showInvisible(text);
}

function wordsOfRate(rate: string): string {
  const [perSecond, burst] = splitRate(rate);
  return [perSecond && `${perSecond} a second`, burst && `bursts of ${burst}`].filter((part) => part !== "").join(", ");
}

function wordsOfLimits(text: string): string {
  const rows: readonly LimitRow[] = JSON.parse(text);
  const words = rows.map(({ operation, rate }) => `${showInvisible(operation)}: ${wordsOfRate(rate)}`);
  return words.length === 0 ? "none" : words.join("; ");
}

/** @throws CallError that names the field, so that the form shows it there */
function readDraft(fields: readonly Field[], draft: Draft, settings: ApplicationSettings): ChangedSettings {
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

import { useState } from "react";
import { type ApplicationSettings, putApplicationSettings } from "../api/admin.ts";
import { type CallOptions, sendVersioned, type Versioned } from "../api/send.ts";
import { CallError, problemsOf } from "../lib/call-error.ts";
import Users from "../lib/icons/users.ts";
import { Button } from "../ui/button.tsx";
import { Form, TextField } from "../ui/fields.tsx";
import { Section } from "../ui/page.tsx";
import { Notice } from "../ui/states.tsx";
import { useEdit } from "./settings.edit.ts";
import styles from "./settings.module.css";
import { useSeenOrigins } from "./settings.origins.tsx";
import { shutOutBy } from "./settings.parts.ts";
import { ShutOutDialog } from "./settings.shut-out.tsx";
import { isObject } from "./settings.values.ts";

interface SettingsJsonProps {
  readonly appid: string;
  readonly stored: Versioned<ApplicationSettings>;
  readonly isEditor: boolean;
  readonly onStored: (stored: Versioned<ApplicationSettings>) => void;
}

const field = "json";

/** All settings as one document, to compare, to store and to copy to another application. */
export function SettingsJson({ appid, stored, isEditor, onStored }: SettingsJsonProps) {
  const { value: settings } = stored;
  const standing = write(settings);
  const { texts, isChanged, before, type, save: store, discard } = useEdit(stored, { [field]: standing }, onStored);
  const { [field]: text = "" } = texts;
  const [asked, setAsked] = useState<ApplicationSettings>();
  const seen = useSeenOrigins(appid, true);

  async function submit() {
    const next = read(text);
    if (shutOutBy(settings, next, seen).length > 0) setAsked(next);
    else await save(next);
  }

  async function save(next: ApplicationSettings) {
    const send = (values: ApplicationSettings) => (options: CallOptions) =>
      sendVersioned(putApplicationSettings(appid, values), options);
    try {
      await store("Saved all settings.", send(next), send);
    } catch (error) {
      throw atText(error);
    }
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
              onChange={(typed) => type(field, typed)}
              isReadOnly={!isEditor}
              isLong
              isCode
              rows={Math.min(Math.max(text.split("\n").length + 1, 8), 30)}
              autoComplete="off"
              spellCheck="false"
            />
            {before !== undefined && (
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

function write(settings: ApplicationSettings): string {
  return JSON.stringify(settings, undefined, 2);
}

/** @throws CallError that names the field */
function read(text: string): ApplicationSettings {
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

/** Every problem is shown at the field, with the name of its setting. */
function atText(error: unknown): unknown {
  if (!(error instanceof CallError)) return error;
  const sentences = problemsOf(error).map(({ path = "", message }) => `${path} ${message}.`.trim());
  if (sentences.length === 0) return error;
  return new CallError(error.status, { ...error.details, problems: [{ path: field, message: sentences.join(" ") }] });
}

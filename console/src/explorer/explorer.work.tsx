import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { CataloguedError } from "../api/openapi.ts";
import ChevronLeft from "../lib/icons/chevron-left.ts";
import Send from "../lib/icons/send-horizontal.ts";
import { useShortcuts } from "../lib/shortcuts.ts";
import { useRole } from "../shell/session.ts";
import { Button } from "../ui/button.tsx";
import { Problem, SelectField, TextField } from "../ui/fields.tsx";
import { Answer, History, SameCall } from "./explorer.answer.tsx";
import { type AppCall, forgetTestCaller, getTestCaller, sendAppCall, type TestCallerKind } from "./explorer.calls.ts";
import { Fields } from "./explorer.fields.tsx";
import { remember, type Sent, useHistory } from "./explorer.history.ts";
import { Method } from "./explorer.list.tsx";
import styles from "./explorer.module.css";
import { callOf, type ExplorerOperation, type FieldValues, valuesOfPath } from "./explorer.operations.ts";
import { Rehearse } from "./explorer.rehearse.tsx";
import { sdkOf } from "./explorer.sdk.ts";

type CallerKind = TestCallerKind | "anyone" | "pasted";

const callers: readonly { readonly value: CallerKind; readonly label: string }[] = [
  { value: "anyone", label: "Nobody" },
  { value: "device", label: "A test device" },
  { value: "user", label: "A test user" },
  { value: "pasted", label: "The owner of a token" },
];

interface OperationWorkProps {
  readonly appid: string;
  readonly operation: ExplorerOperation;
  /** The path of a call that was answered, to try it again. */
  readonly path: string | undefined;
  /** A body to begin with, as JSON. */
  readonly body: string | undefined;
  readonly catalogue: readonly CataloguedError[];
}

/** One operation: its parameters, its caller, the answer, and the failures that it declares. */
export function OperationWork({ appid, operation, path, body, catalogue }: OperationWorkProps) {
  const [values, setValues] = useState<FieldValues>(() => ({
    ...(operation.id === "registerDevice" && { appid, platform: "console" }),
    ...(path !== undefined && valuesOfPath(operation.path, path)),
  }));
  const [json, setJson] = useState(body);
  const [file, setFile] = useState<File>();
  const isEditor = useRole("editor"); // viewers make no test callers
  const [caller, setCaller] = useState<CallerKind>(
    isEditor || operation.caller === "anyone" ? operation.caller : "pasted",
  );
  const [pasted, setPasted] = useState("");
  const [isPending, setPending] = useState(false);
  const [problem, setProblem] = useState<unknown>();
  const [shown, setShown] = useState<Sent>();
  const history = useHistory(appid);
  const call = callOf(operation, { values, json, file });
  useShortcuts([{ keys: "mod+enter", label: "Send the call", run: () => void send() }]);

  async function send(more: Readonly<Record<string, string>> = {}) {
    if (isPending) return;
    setPending(true);
    setProblem(undefined);
    try {
      const token = await tokenOf(caller);
      const asked: AppCall = { ...call, headers: { ...call.headers, ...more } };
      const sent = token === undefined ? asked : withToken(asked, token);
      const answer = await sendAppCall(sent);
      if (answer.status === 401 && isTest(caller)) forgetTestCaller(appid, caller);
      setShown(
        remember({ appid, operationId: operation.id, call: token === undefined ? asked : withToken(asked), answer }),
      );
    } catch (error) {
      setProblem(error);
    }
    setPending(false);
  }

  async function tokenOf(kind: CallerKind): Promise<string | undefined> {
    if (isTest(kind)) return (await getTestCaller(appid, kind)).accessToken;
    return kind === "pasted" ? pasted.trim() : undefined;
  }

  return (
    <div className={styles.work}>
      <div className={styles.columns}>
        <div className={styles.ask}>
          <Link to="." search={{}} className={styles.back}>
            <ChevronLeft size={16} aria-hidden /> All operations
          </Link>
          <header>
            <h2>
              <Method name={operation.method} /> <code>{operation.path}</code>
            </h2>
            <p>{operation.summary}.</p>
            {operation.description !== undefined && <p className={styles.muted}>{operation.description}</p>}
          </header>
          <div className={styles.caller}>
            <SelectField
              label="Caller"
              value={caller}
              options={callers.filter(({ value }) => isEditor || !isTest(value))}
              onChange={setCaller}
            />
            {caller === "pasted" && (
              <TextField
                label="Token"
                type="password"
                autoComplete="off"
                hint="Kept in this page alone."
                value={pasted}
                onChange={setPasted}
              />
            )}
          </div>
          <Fields
            operation={operation}
            values={values}
            onValues={setValues}
            json={json}
            onJson={setJson}
            onFile={setFile}
          />
          {problem !== undefined && <Problem error={problem} />}
          <div className={styles.send}>
            <Button kind="primary" isDisabled={isPending} onPress={() => void send()}>
              <Send size={16} aria-hidden /> {isPending ? "Sending …" : "Send"}
            </Button>
          </div>
        </div>
        <div className={styles.got}>
          {shown !== undefined && <Answer key={shown.id} appid={appid} sent={shown} />}
          <SameCall call={caller === "anyone" ? call : withToken(call)} sdk={sdkOf(operation, { values, json })} />
          <Rehearse
            appid={appid}
            operation={operation}
            catalogue={catalogue}
            isPending={isPending}
            onRehearse={(condition) => void send({ "Rollcall-Rehearse": condition })}
          />
          {history.length > 0 && <History history={history} shownId={shown?.id} onShow={setShown} />}
        </div>
      </div>
    </div>
  );
}

function isTest(caller: CallerKind): caller is TestCallerKind {
  return caller === "device" || caller === "user";
}

/** Only the test callers of `api/explorer.ts` and the field hold tokens: history and snippets name a variable. */
function withToken(call: AppCall, token = "$TOKEN"): AppCall {
  return { ...call, headers: { Authorization: `Service ${token}`, ...call.headers } };
}

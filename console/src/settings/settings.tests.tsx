import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import {
  type ApplicationSettings,
  type MailTestProblem,
  type MailTestResult,
  type ProviderTestResult,
  testMailSettings,
  testOidcProvider,
} from "../api/admin.ts";
import { known, send } from "../api/send.ts";
import { formatNumber, showInvisible } from "../lib/format.ts";
import { Button } from "../ui/button.tsx";
import { Form, Problem, TextField } from "../ui/fields.tsx";
import { Section } from "../ui/page.tsx";
import { Status } from "../ui/status.tsx";
import styles from "./settings.module.css";

interface TestProps {
  readonly appid: string;
}

const mailProblems: Readonly<Record<MailTestProblem, string>> = {
  unreachable: "The mail server does not answer, or its address is not allowed.",
  encryption: "The mail server does not offer TLS, or its certificate is wrong.",
  signIn: "The mail server refuses the name or the password.",
  refused: "The mail server refuses the sender or the recipient.",
  sealed: "The mail server is sealed under another secret of the deployment: set it again.",
  noServer: "There is no mail server: the mail is a file in the folder mail of DATA_DIR.",
};

/** Sends a mail with the stored settings. */
export function TestMail({ appid }: TestProps) {
  const [to, setTo] = useState("");
  const [outcome, setOutcome] = useState<MailTestResult & { readonly to: string }>();

  async function submit() {
    setOutcome(undefined);
    setOutcome({ ...(await send(testMailSettings(appid, { to }))), to });
  }

  return (
    <Section title="Send me one" lead="A test mail by the saved settings, at most five an hour.">
      <Form fields={["to"]} onSubmit={submit}>
        {({ isPending, problem }) => (
          <>
            <div className={styles.test}>
              <TextField label="To" name="to" type="email" isRequired value={to} onChange={setTo} />
              <Button type="submit" isPending={isPending}>
                Send
              </Button>
            </div>
            {problem}
            <p role="status" className={styles.outcome}>
              {outcome !== undefined && outcome.problem === undefined && (
                <Status kind="good">The mail server has accepted the mail to {showInvisible(outcome.to)}.</Status>
              )}
              {outcome?.problem !== undefined && (
                <Status kind="warning">
                  {mailProblems[known(outcome.problem)]}
                  {outcome.smtpCode !== undefined && ` (${outcome.smtpCode})`}
                </Status>
              )}
            </p>
          </>
        )}
      </Form>
    </Section>
  );
}

/** Fetches the keys of each stored provider. */
export function TestProviders({ appid, oidc }: TestProps & { readonly oidc: ApplicationSettings["oidc"] }) {
  const names = Object.keys(oidc ?? {});
  if (names.length === 0) return null;
  return (
    <Section title="Check" lead="Fetches the keys of a saved provider from its jwksUrl.">
      <ul className={styles.providers}>
        {names.map((name) => (
          <TestedProvider key={name} appid={appid} name={name} />
        ))}
      </ul>
    </Section>
  );
}

function TestedProvider({ appid, name }: TestProps & { readonly name: string }) {
  const { data, error, isFetching, refetch } = useQuery({
    queryKey: ["provider-test", appid, name],
    queryFn: () => send(testOidcProvider(appid, name)),
    enabled: false,
    gcTime: 0,
  });
  return (
    <li>
      <b>{showInvisible(name)}</b>
      <Button
        size="small"
        aria-label={`Check ${showInvisible(name)}`}
        isPending={isFetching}
        onPress={() => void refetch()}
      >
        Check
      </Button>
      <span role="status" className={styles.outcome}>
        {error !== null && <Problem error={error} />}
        {error === null && data !== undefined && <ProviderOutcome test={data} />}
      </span>
    </li>
  );
}

function ProviderOutcome({ test: { keys, problem } }: { readonly test: ProviderTestResult }) {
  if (problem === "unreachable") {
    return <Status kind="warning">No answer of status 200, or the address is not allowed.</Status>;
  }
  if (problem !== undefined) return <Status kind="warning">The answer holds no public keys.</Status>;
  return <Status kind="good">{keys === 1 ? "One public key." : `${formatNumber(keys)} public keys.`}</Status>;
}

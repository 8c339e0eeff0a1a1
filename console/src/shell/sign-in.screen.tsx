import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect } from "react";
import { handOverPassword } from "./handed-password.ts";
import { Mark } from "./mark.tsx";
import { sessionQuery } from "./session.ts";
import { SignInForm } from "./sign-in.form.tsx";
import styles from "./sign-in.module.css";

export function SignInScreen() {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { next = "/apps" } = useSearch({ from: "/sign-in" });
  useEffect(() => {
    document.title = "Sign in · Rollcall";
  }, []);

  async function enter(password: string) {
    const { operator } = await queries.fetchQuery({ ...sessionQuery, staleTime: 0 });
    if (operator.mustChangePassword === true) handOverPassword(password);
    await navigate({ href: next, replace: true });
  }

  return (
    <main className={styles.page}>
      <div className={styles.card}>
        <div className={styles.head}>
          <Mark size={40} />
          <h1>Sign in to Rollcall</h1>
        </div>
        <SignInForm onSignedIn={enter} />
      </div>
      <details className={styles.help}>
        <summary>No password, or forgot it?</summary>
        <p>
          On the machine of the server, this sets a new one:
          <code>npx rollcall operators list</code>
          <code>npx rollcall operators password ID</code>
          The first start of a server printed the password of its owner.
        </p>
      </details>
    </main>
  );
}

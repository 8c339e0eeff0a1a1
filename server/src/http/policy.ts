/** What an application has set for those who call it, as far as every request is concerned. */
export interface ApplicationPolicy {
  /** The origins whose web pages may read answers, as browsers send them (`https://app.example`); undefined for any. */
  readonly origins?: ReadonlySet<string> | undefined;
}

/** An OpenID Connect provider as configured for an application. */
export interface OidcProvider {
  readonly issuer: string;
  /** The client id under which the provider knows the application. */
  readonly audience: string;
  readonly jwksUrl: string;
}

/** A provider with the rule for its key URL: one that an editor has set may only lead to public addresses. */
export interface GuardedProvider extends OidcProvider {
  readonly isPublicOnly: boolean;
}

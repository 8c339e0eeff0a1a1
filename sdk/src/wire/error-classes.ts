import { ServiceError, type ServiceErrorDetails } from "./errors.ts";

/** An error of the service with a certain name. */
export type NamedServiceError<Name extends string> = ServiceError & { readonly name: Name };

/** The class of the errors of the service with a certain name; `instanceof` compares the name. */
export interface ServiceErrorClass<Name extends string> {
  new (message: string, details: ServiceErrorDetails): NamedServiceError<Name>;
  readonly kind: string;
}

/** Creates the class of a name. */
export function nameClass<Name extends string>(name: Name): ServiceErrorClass<Name> {
  class Named extends ServiceError {
    static override readonly kind: string = name;
    declare readonly name: Name;
  }
  return Named;
}

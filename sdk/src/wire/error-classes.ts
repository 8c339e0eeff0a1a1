import { ServiceError, type ServiceErrorDetails } from "./errors.ts";

/** An error of the service with a certain name. */
export type NamedServiceError<Name extends string> = ServiceError & { readonly name: Name };

/** The class of the errors of the service with a certain name; `instanceof` compares the name. */
export interface ServiceErrorClass<Name extends string> {
  new (message: string, details: ServiceErrorDetails): NamedServiceError<Name>;
  readonly name: Name;
}

const classes = /* @__PURE__ */ new Map<string, ServiceErrorClass<string>>();

/** The class of a name, also of one that only a newer service knows. */
export function nameClass<Name extends string>(name: Name): ServiceErrorClass<Name> {
  const known = classes.get(name);
  if (known) return known as ServiceErrorClass<Name>; // the key is the name
  class Named extends ServiceError {
    static override get name(): Name {
      return name;
    }
    declare readonly name: Name;
  }
  classes.set(name, Named);
  return Named;
}

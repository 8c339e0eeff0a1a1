/** Runs work once for all callers that ask for it at the same time. */
export interface Flights<T> {
  /** Joins the work under way of that key, or begins it. */
  join(key: string, work: () => Promise<T>): Promise<T>;
}

export function createFlights<T>(): Flights<T> {
  const underWay = new Map<string, Promise<T>>();
  return {
    join(key, work) {
      let flight = underWay.get(key);
      if (flight === undefined) {
        flight = work().finally(() => underWay.delete(key));
        underWay.set(key, flight);
      }
      return flight;
    },
  };
}

/** Runs work once for all callers that ask for it at the same time, by a key. */
export type Flights<T> = (key: string, work: () => Promise<T>) => Promise<T>;

export function createFlights<T>(): Flights<T> {
  const underWay = new Map<string, Promise<T>>();
  return (key, work) => {
    const flight = underWay.get(key) ?? work().finally(() => underWay.delete(key));
    underWay.set(key, flight);
    return flight;
  };
}

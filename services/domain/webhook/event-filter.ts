/** Tell whether a filter takes an event type. `customer.*` takes `customer.create` and `customer.create.failed`. */
const matchesFilter = (filter: string, type: string): boolean =>
  filter === '*' || filter === type || (filter.endsWith('.*') && type.startsWith(filter.slice(0, -1)))

/** Tell whether one of the filters takes events of a type. */
export const matchesAnyFilter = (filters: readonly string[], type: string): boolean =>
  filters.some(filter => matchesFilter(filter, type))

/** List the types that a filter takes: `*`, a group such as `customer.*`, or one type. */
export const expandFilter = (filter: string, types: readonly string[]): readonly string[] =>
  types.filter(type => matchesFilter(filter, type))

/** List the groups of event types, such as `customer.*` and `customer.create.*`, each once. */
export const eventGroups = (types: readonly string[]): readonly string[] => {
  const groups = types.flatMap(type => {
    const parts = type.split('.')
    return parts.slice(1).map((_, index) => `${parts.slice(0, index + 1).join('.')}.*`)
  })
  return [...new Set(groups)]
}

/** The type of the event that tries an endpoint; it goes to that endpoint alone, whatever it takes. */
export const testEventType = 'webhook_endpoint.test'

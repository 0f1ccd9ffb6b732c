const group = '[a-zA-Z0-9_]+'
const pattern = new RegExp(`^(?:\\*|${group}(?:\\.${group})*(?:\\.\\*)?)$`)

/** Tell whether a text can choose events: `*`, a group such as `customer.*`, or one type such as `customer.create`. */
export const isEventFilter = (text: string): boolean => pattern.test(text)

/** Tell whether one of the filters takes events of a type. `customer.*` takes `customer.create` and `customer.create.failed`. */
export const takesEvent = (filters: readonly string[], type: string): boolean =>
  filters.some(filter => filter === '*' || filter === type || (filter.endsWith('.*') && type.startsWith(filter.slice(0, -1))))

/** The type of the event that tries an endpoint; it goes to that endpoint alone, whatever it takes. */
export const testEventType = 'webhook_endpoint.test'
